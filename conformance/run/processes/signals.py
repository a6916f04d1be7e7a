"""What this process does at a signal, for as long as something is under way.

A run is ended by SIGINT, SIGTERM or SIGHUP, and then still writes what it has. Signals seldom come alone: `timeout` and
some CI systems signal a process and its group, and people press Ctrl-C twice. A second one that met the run while it
ends would leave no report, or a loop that is half closed. So those within `TOGETHER` seconds are one, wherever the
first was met: in a loop, where it cancels the task as asyncio does, or beside it, where it is a KeyboardInterrupt.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

__all__ = ["ended_by_signals", "run_until_ended", "signals_handled", "signals_ignored"]

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TOGETHER = 1.0
T = TypeVar("T")


@contextmanager
def signals_handled(
    signals: Collection[signal.Signals], handler: Callable[..., Any] | signal.Handlers
) -> Iterator[None]:
    """Handle signals by `handler` meanwhile; only the main thread can, and elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, handler) for one in signals}
    try:
        yield
    finally:
        for one, earlier in before.items():
            signal.signal(one, earlier)


def signals_ignored() -> AbstractContextManager[None]:
    """Let no signal end what takes a second or two: people press Ctrl-C again, and half a page is worth nothing."""
    return signals_handled(ENDING, signal.SIG_IGN)


class _Interrupter:
    """Handler of the signals that end a run: `end` is called at the first of those that come together."""

    def __init__(self) -> None:
        self.end: Callable[[], None] = _interrupt
        self._next = 0.0

    def __call__(self, *_: object) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + TOGETHER
            self.end()


def _interrupt() -> None:
    raise KeyboardInterrupt


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Make SIGINT, SIGTERM and SIGHUP one KeyboardInterrupt: the server is ended, too, and run.json written.

    A signal that is ignored when wireproof starts stays so (`nohup`).
    """
    handled = [one for one in ENDING if signal.getsignal(one) is not signal.SIG_IGN]
    with signals_handled(handled, _Interrupter()):
        yield


def run_until_ended(main: Coroutine[Any, Any, T], loop_factory: Callable[[], Any] | None = None) -> T:
    """Run a coroutine in a loop of its own; inside `ended_by_signals`, a signal cancels it and ends the loop.

    Raises KeyboardInterrupt after such a signal, and what `main` raises.
    """
    handlers = [signal.getsignal(one) for one in ENDING]
    interrupter = next((one for one in handlers if isinstance(one, _Interrupter)), _Interrupter())
    ended = False

    async def cancelled_at_a_signal() -> T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def end() -> None:
            nonlocal ended
            if ended:
                raise KeyboardInterrupt
            ended = True
            loop.call_soon_threadsafe(task.cancel)

        interrupter.end = end
        return await main

    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(cancelled_at_a_signal())
    except asyncio.CancelledError:
        if ended:
            raise KeyboardInterrupt from None
        raise
    finally:
        interrupter.end = _interrupt
