"""A reference server that dies, in a way that is named, of what begins with byte 12: `python dying.py HOW OPTIONS`."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from wireproof.mutants.cli import main
from wireproof.mutants.throttr.server import MUTANTS
from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.reference_server.throttr.session import ThrottrSession


def segfault() -> None:
    faulthandler.enable()
    os.kill(os.getpid(), signal.SIGSEGV)


def leave() -> None:
    print("fatal: nobody unsubscribes here", file=sys.stderr, flush=True)
    os._exit(70)


def close_all() -> None:
    """Close every socket."""
    for number in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):  # the folder was one of them
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                socket.close(number)


def close_first() -> None:
    """Close every socket, and end only then, as a process does that has much to give back."""
    close_all()
    time.sleep(1.0)
    leave()


def spin() -> None:
    while True:
        pass


WAYS: Mapping[str, Callable[[], None]] = {
    "segfault": segfault,
    "exit": leave,
    "slowly": close_first,
    "closed": close_all,
    "late": lambda: asyncio.get_running_loop().call_later(0.1, leave) and None,
    "deaf": lambda: time.sleep(3600),
    "busy": spin,
}


class Dying(ThrottrSession):
    def data_received(self, data: bytes) -> None:
        if data[:1] == b"\x12":
            WAYS[HOW]()
        super().data_received(data)


if __name__ == "__main__":
    HOW = sys.argv.pop(1)
    MUTANTS["dies"] = mutant("dies", "It dies of what begins with byte 12.", "ROBUSTNESS-1", session=Dying)  # type: ignore[index]
    sys.argv[1:] = ["throttr", *sys.argv[1:], "--mutant", "dies"]
    main()
