"""Whether processes have ended: a signal to end is sent at once, and the system takes its time to act."""

from __future__ import annotations

import time

import psutil

PATIENCE = 30.0
"""Seconds in which the system ends what was killed, on a busy machine, too."""


def have_ended(*pids: int) -> bool:
    """Say whether all these processes end in time; one that nobody has waited for has ended."""
    until = time.monotonic() + PATIENCE
    while any(map(_runs, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(_runs, pids))


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
