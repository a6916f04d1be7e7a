"""Bounds of a play against a wrong server, which may loop without end or ask for memory without end.

A play in simulation runs in this process and awaits nothing, so no deadline of a driver ends it: a signal does, once
the play has used its processor time. Only the main thread of a process can be bounded so.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

__all__ = ["CPU_SECONDS", "HangError", "begin_worker", "bounded", "end_on_sigterm"]

CPU_SECONDS = 10.0
"""Seconds of processor time after which a play on a wrong server counts as one that hangs."""
MEMORY = 1 << 30
"""Bytes that a wrong server may allocate beyond what the harness has."""


class HangError(BaseException):
    """Raised in a server that does not come to an end; no `except Exception` of a server stops it."""


def _expire(number: int, frame: object) -> None:
    raise HangError


@contextmanager
def bounded(seconds: float = CPU_SECONDS) -> Iterator[None]:
    """Raise `HangError` in the body once it has used `seconds` of processor time."""
    before = signal.signal(signal.SIGVTALRM, _expire)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def end_on_sigterm() -> None:
    """Let SIGTERM end this process, a worker, whatever its parent does at that signal: a pool ends its workers so."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def begin_worker() -> None:
    """Bound this process, a worker: SIGTERM ends it, and beyond `MEMORY` bytes more than it has is a `MemoryError`."""
    end_on_sigterm()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = psutil.Process().memory_info().vms + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
