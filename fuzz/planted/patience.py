"""Waits for a command as long as it works: a busy machine makes no hang of one that gets no processor time."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress

import psutil

__all__ = ["GRACE_S", "STILL_S", "ended"]

GRACE_S = 180.0
"""Seconds of processor time beyond its time that a command may take to load seeds and to reduce what it found."""
STILL_S = 60.0
"""Seconds beyond its time for which a command and what it started may take no processor time at all."""
POLL_S = 0.5
RUNNING = frozenset({psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP})
"""States of a process that waits for the machine, and not for something else."""


def ended(process: subprocess.Popen[bytes], seconds: float, *, grace: float = GRACE_S, still: float = STILL_S) -> bool:
    """Wait until a command ends; return False for one that hangs.

    It has `seconds`. Beyond these it hangs once it has taken `grace` seconds of processor time, or none, and waited for
    none, for `still` seconds.
    """
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
        return True
    allowed, moved = _worked(process)[0] + grace, time.monotonic()
    last = 0.0
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)
            return True
        worked, is_ready = _worked(process)
        if worked > last or is_ready:
            last, moved = max(worked, last), time.monotonic()
        if worked > allowed or time.monotonic() - moved > still:
            return False


def _worked(process: subprocess.Popen[bytes]) -> tuple[float, bool]:
    """Return the processor time of a process and all below it, seconds, and whether one of them could go on now."""
    worked, is_ready = 0.0, False
    with suppress(psutil.Error):
        root = psutil.Process(process.pid)
        for one in (root, *root.children(recursive=True)):
            with suppress(psutil.Error):
                times = one.cpu_times()
                worked += times.user + times.system + times.children_user + times.children_system
                is_ready |= one.status() in RUNNING
    return worked, is_ready
