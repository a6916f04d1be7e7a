"""A started process is ended with everything it started, and measured with it."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.processes import have_ended
from wireproof.conformance.run.processes.process_tree import Family, Usage

CHILD = "import os, time; open(os.environ['PIDS'], 'a').write('%d\\n' % os.getpid()); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {CHILD}"
LEAVES = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", os.environ["CHILD"]], start_new_session=True)
"""
STAYS = LEAVES + "time.sleep(60)"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Family]]:
    started: list[Family] = []
    with (tmp_path / "out").open("wb") as output:

        def make(source: str, child: str = CHILD) -> Family:
            environment = {**os.environ, "PIDS": str(tmp_path / "pids"), "CHILD": child}
            command = [sys.executable, "-c", source]
            started.append(Family(command, output=output.fileno(), environment=environment))
            return started[-1]

        yield make
        for one in started:
            one.end(0.0)


def pids(folder: Path, count: int = 1) -> list[int]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if (folder / "pids").exists() and len(found := (folder / "pids").read_text().splitlines()) >= count:
            return [int(one) for one in found]
        time.sleep(0.01)
    raise AssertionError("the child did not start")


def test_one_that_ignores_being_asked_is_killed(start: Callable[..., Family], tmp_path: Path) -> None:
    family = start(STUBBORN)
    (pid,) = pids(tmp_path)
    family.end(0.1)

    assert have_ended(pid)
    assert family.ended() == -9


def test_one_that_listens_ends_by_itself(start: Callable[..., Family], tmp_path: Path) -> None:
    family = start(CHILD)
    pids(tmp_path)
    family.end()

    assert family.ended() == -15


@pytest.mark.parametrize("child", [CHILD, STUBBORN])
def test_a_worker_that_left_the_group_is_ended_too(start: Callable[..., Family], tmp_path: Path, child: str) -> None:
    family = start(STAYS, child)
    (pid,) = pids(tmp_path)
    family.end(0.1)

    assert have_ended(pid)


def test_a_worker_that_outlived_the_first_process_is_ended_too(start: Callable[..., Family], tmp_path: Path) -> None:
    family = start(LEAVES)
    (pid,) = pids(tmp_path)
    while family.ended() is None:
        time.sleep(0.01)
    assert psutil.pid_exists(pid)
    family.end()

    assert have_ended(pid)


def test_others_are_left_alone(start: Callable[..., Family], tmp_path: Path) -> None:
    one, other = start(CHILD), start(CHILD)
    pids(tmp_path, 2)
    one.end()

    assert other.ended() is None


def test_usage_is_that_of_the_whole_family(start: Callable[..., Family], tmp_path: Path) -> None:
    holds = "held = bytearray(b'x') * 30_000_000; files = [open('/dev/null') for _ in range(50)]; "
    family = start(STAYS, holds + "sum(range(3_000_000)); " + CHILD)
    pids(tmp_path)
    usage = family.usage()

    assert usage.memory > 30_000_000
    assert usage.descriptors > 50
    assert usage.cpu > 0.01


def test_memory_is_that_of_the_members_that_were_found_last(start: Callable[..., Family], tmp_path: Path) -> None:
    family = start(STAYS, "held = bytearray(b'x') * 60_000_000; " + CHILD)
    pids(tmp_path)
    leader = family.memory()
    all_of_them = family.usage().memory

    assert 0 < leader < all_of_them
    assert family.memory() > leader + 50_000_000


def test_a_limit_of_descriptors_is_for_what_is_opened_later_and_ends(
    start: Callable[..., Family], tmp_path: Path
) -> None:
    tries = (
        "import os\n"
        "place = os.environ['PIDS']\n"
        "def most():\n"
        "    held = []\n"
        "    try:\n"
        "        while len(held) < 60: held.append(os.dup(0))\n"
        "    except OSError: pass\n"
        "    for one in held: os.close(one)\n"
        "    return len(held)\n"
        "while True:\n"
        "    now = most()\n"
        "    with open(place + '.new', 'w') as file: file.write(str(now))\n"
        "    os.replace(place + '.new', place)\n"
    )
    family = start(tries)

    def waits_for(wanted: Callable[[int], bool]) -> bool:
        most, deadline = tmp_path / "pids", time.monotonic() + 10
        while time.monotonic() < deadline:
            if most.exists() and wanted(int(most.read_text())):
                return True
            time.sleep(0.01)
        return False

    assert waits_for(lambda most: most == 60)
    family.limit_descriptors(8)
    assert waits_for(lambda most: most < 60)
    family.limit_descriptors(None)
    assert waits_for(lambda most: most == 60)


def test_what_is_reserved_and_not_touched_is_no_memory(start: Callable[..., Family], tmp_path: Path) -> None:
    family = start("import mmap; held = mmap.mmap(-1, 1 << 30); " + CHILD)
    pids(tmp_path)

    assert family.usage().memory < 1 << 28


def test_a_family_that_is_gone_takes_nothing(start: Callable[..., Family]) -> None:
    family = start("pass")
    while family.ended() is None:
        time.sleep(0.01)

    assert family.usage() == Usage(0, 0, 0.0)
