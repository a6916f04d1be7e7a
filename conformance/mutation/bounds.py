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

__all__ = ["CPU_SECONDS", "HangError", "bounded", "limit_memory"]

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


def limit_memory() -> None:
    """Let this process, a worker, allocate `MEMORY` bytes beyond what it has; more is a `MemoryError`."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = psutil.Process().memory_info().vms + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
