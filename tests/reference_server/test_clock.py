"""Both clocks keep the same promises: never early, never re-entrant, cancellable, any int as an instant."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
import uvloop

from wireproof.reference_server.clock import LoopClock, VirtualClock

MS = 1_000_000


def test_virtual_callbacks_run_by_instant_then_by_order_of_asking() -> None:
    clock, ran = VirtualClock(), []
    for name, when in [("late", 9), ("first", 5), ("second", 5)]:
        clock.call_at(when, lambda name=name: ran.append((name, clock.monotonic_ns())))

    clock.advance(9)

    assert ran == [("first", 5), ("second", 5), ("late", 9)]


def test_virtual_callback_one_nanosecond_away_does_not_run() -> None:
    clock, ran = VirtualClock(), []
    clock.call_at(10, lambda: ran.append(1))

    clock.advance_to(9)

    assert ran == []
    assert clock.next_ns == 10


def test_virtual_callback_may_ask_for_another_in_the_same_advance() -> None:
    clock, ran = VirtualClock(), []
    clock.call_at(3, lambda: clock.call_at(0, lambda: ran.append(clock.monotonic_ns())))

    clock.advance(3)

    assert ran == [3]


def test_virtual_past_instant_waits_for_the_next_advance() -> None:
    clock, ran = VirtualClock(start_monotonic_ns=100), []
    clock.call_at(5, lambda: ran.append(clock.monotonic_ns()))
    before = list(ran)

    clock.advance(0)

    assert (before, ran) == ([], [100])


def test_virtual_cancelled_callback_never_runs() -> None:
    clock, ran = VirtualClock(), []
    clock.call_at(1, lambda: ran.append(1)).cancel()

    clock.advance(2)

    assert ran == []
    assert clock.next_ns is None


def test_virtual_time_does_not_go_back() -> None:
    clock = VirtualClock()
    clock.advance(5)

    with pytest.raises(ValueError, match="does not go back"):
        clock.advance_to(4)


def test_virtual_wall_clock_keeps_step_and_starts_where_asked() -> None:
    clock = VirtualClock(start_wall_ns=1_000, start_monotonic_ns=7)
    clock.advance(2**70)

    assert (clock.wall_ns(), clock.monotonic_ns()) == (1_000 + 2**70, 7 + 2**70)


def test_virtual_clock_stands_at_the_callback_that_raised() -> None:
    clock = VirtualClock()
    clock.call_at(4, lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        clock.advance(9)
    assert clock.monotonic_ns() == 4


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[..., object]:
    def run_on_loop(main: object) -> object:
        with asyncio.Runner(loop_factory=request.param) as runner:
            return runner.run(asyncio.wait_for(main, 20))

    return run_on_loop


def test_loop_callback_is_never_early(run: Callable[..., object]) -> None:
    async def main() -> list[int]:
        clock, early, left = LoopClock(asyncio.get_running_loop()), [], 60
        done = asyncio.Event()
        start = clock.monotonic_ns()

        def woken(when: int) -> None:
            early.append(clock.monotonic_ns() - when)
            if len(early) == left:
                done.set()

        for n in range(left):
            when = start + n * 333_333
            clock.call_at(when, lambda when=when: woken(when))
        await done.wait()
        return early

    assert min(run(main())) >= 0


def test_loop_timer_woken_early_is_armed_again() -> None:
    class Loop:
        """Runs its timers when told to, whatever the delay was."""

        def __init__(self) -> None:
            self.armed: list[tuple[float, Callable[[], None]]] = []

        def call_later(self, delay: float, callback: Callable[[], None]) -> None:
            self.armed.append((delay, callback))

    loop, ran = Loop(), []
    LoopClock(loop).call_at(time.monotonic_ns() + 3_600_000 * MS, lambda: ran.append(1))  # type: ignore[arg-type]
    loop.armed[0][1]()

    assert ran == []
    assert len(loop.armed) == 2


def test_loop_past_instant_runs_in_the_next_iteration(run: Callable[..., object]) -> None:
    async def main() -> tuple[list[int], list[int]]:
        clock, ran, done = LoopClock(asyncio.get_running_loop()), [], asyncio.Event()
        clock.call_at(-(2**80), lambda: (ran.append(1), done.set()))
        at_once = list(ran)
        await done.wait()
        return at_once, ran

    assert run(main()) == ([], [1])


def test_loop_takes_any_instant_and_forgets_what_is_cancelled(run: Callable[..., object]) -> None:
    async def main() -> list[int]:
        clock, ran, done = LoopClock(asyncio.get_running_loop()), [], asyncio.Event()
        clock.call_at(2**64 * 3_600_000 * MS, lambda: ran.append(1))
        clock.call_at(0, lambda: ran.append(2)).cancel()
        clock.call_at(clock.monotonic_ns() + MS, done.set)
        await done.wait()
        return ran

    assert run(main()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no niceness of their own")
def test_slow_work_runs_behind_the_loop(run: Callable[..., object]) -> None:
    async def main() -> None:
        clock, done = LoopClock(asyncio.get_running_loop()), asyncio.Event()
        clock.call_after(lambda: found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id())), done.set)
        await done.wait()
        clock.close()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    found: list[int] = []
    run(main())

    assert found[0] > found[1]


def test_importing_creates_no_loop() -> None:
    code = (
        "import asyncio\n"
        "def refuse(*_): raise SystemExit('a loop was made at import')\n"
        "asyncio.new_event_loop = asyncio.BaseEventLoop.__init__ = refuse\n"
        "import wireproof.reference_server.clock, wireproof.reference_server.scheduler"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
