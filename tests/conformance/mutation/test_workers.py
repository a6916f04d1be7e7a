"""Workers end by SIGTERM, whatever the process that forks them does at it; what they share out comes to an end."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable

import pytest

from wireproof.conformance.mutation import workers
from wireproof.conformance.mutation.play_bounds import begin_worker, end_on_sigterm
from wireproof.conformance.mutation.workers import side_by_side


@pytest.mark.parametrize("begin", [begin_worker, end_on_sigterm])
def test_sigterm_ends_a_worker_of_a_process_that_catches_it(begin: Callable[[], None]) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with multiprocessing.get_context("fork").Pool(1, begin) as pool:
            assert pool.apply(signal.getsignal, (signal.SIGTERM,)) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def _halved(number: int) -> int:
    if number == 13:
        os._exit(1)
    return number // 2


def test_each_task_has_its_result() -> None:
    many = range(14, 3000)

    assert dict(side_by_side(_halved, many, 2)) == {number: number // 2 for number in many}


def test_a_worker_that_dies_loses_its_task_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LONGEST", 1.0)

    assert dict(side_by_side(_halved, [12, 13, 14, 16], 2)) == {12: 6, 13: None, 14: 7, 16: 8}
