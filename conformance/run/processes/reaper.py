"""Ends what wireproof started when wireproof itself is killed: a process of its own that outlives it for a moment.

Nothing that is killed can clean up after itself. So with the first server a second process starts, the *reaper*, which
waits for the end of a pipe that only wireproof holds. When the pipe ends, however that came about, it kills every
process that carries wireproof's mark in its environment, which children inherit, and ends. Where wireproof ended what
it started, there is none left.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress

import psutil

OWNER = "WIREPROOF_OWNER"
ROUNDS = 5
"""How often what is left is looked for: a process may start another meanwhile."""


class _Reaper:
    """The reaper of one process."""

    def __init__(self) -> None:
        self.mark = secrets.token_hex(8)
        self.of = os.getpid()
        reading, self._writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, self.mark],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                close_fds=True,
            )
        finally:
            os.close(reading)
        self._process.returncode = 0  # nobody waits for it: it ends after us


_reapers: list[_Reaper] = []


def owned() -> str:
    """Return the mark for the environment of what this process starts, so that it does not outlive this process."""
    if not _reapers or _reapers[-1].of != os.getpid():
        try:
            _reapers.append(_Reaper())
        except OSError:  # no process or descriptor left: what is started is ended as ever, unless we are killed
            return ""
    return _reapers[-1].mark


def reap(mark: str) -> None:
    """Kill every process with this mark."""
    for _ in range(ROUNDS):
        found = [one for one in psutil.process_iter() if _is_marked(one, mark)]
        for one in found:
            with suppress(psutil.Error):
                one.send_signal(signal.SIGKILL)
        psutil.wait_procs(found, timeout=1.0)
        if not found:
            return


def _is_marked(one: psutil.Process, mark: str) -> bool:
    with suppress(psutil.Error, OSError):
        return one.environ().get(OWNER) == mark and one.status() != psutil.STATUS_ZOMBIE
    return False


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    sys.stdin.buffer.read()
    reap(sys.argv[1])
