"""The lock that workers share is gone once nobody needs it, and never two files at a time."""

from __future__ import annotations

import fcntl
import tempfile
from pathlib import Path

import pytest

from wireproof.conformance.plugin.worker_lock import WorkerLock


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_nothing_is_left_of_a_lock_that_was_taken() -> None:
    lock = WorkerLock("tcp://127.0.0.1:9000")
    for exclusive in (True, False):
        with lock.taken(exclusive=exclusive):
            assert lock.path.exists()
    lock.give_up()
    lock.give_up()

    assert list(lock.path.parent.iterdir()) == []


def test_who_is_not_the_last_removes_nothing() -> None:
    one, other = WorkerLock("t"), WorkerLock("t")
    with one.taken(exclusive=False):
        other.give_up()
        assert one.path.exists()
    other.give_up()
    assert not one.path.exists()


def test_a_file_that_was_removed_while_it_was_waited_for_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, locked, flock = WorkerLock("t"), list[int](), fcntl.flock

    def removed_at_first(file: object, how: int) -> None:
        if not locked:
            lock.path.unlink()
        locked.append(how)
        flock(file, how)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", removed_at_first)
    with lock.taken(exclusive=True):
        assert lock.path.exists()
    assert locked == [fcntl.LOCK_EX] * 2
