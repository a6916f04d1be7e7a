"""Servers and jobs that wireproof starts itself: of this installation, ready when they say so, gone afterwards."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

READY = re.compile(r"^listening (\S+)$\n", re.MULTILINE)
HERE = Path(__file__).resolve().parent.parent


class StartError(RuntimeError):
    """Raised when a server does not become ready; the message holds what it printed."""


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this installation, whatever the current folder holds."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment() -> dict[str, str]:
    """Return an environment in which `module_command` finds the modules beside this one."""
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{path}" if path else str(HERE)}


@contextmanager
def running_server(command: Sequence[str], *, timeout: float = 15.0) -> Iterator[str]:
    """Start a server that prints a line `listening ADDRESS`; yield the address; stop its process group.

    Raises `StartError` when it ends or does not say so in `timeout` seconds. What it prints on stderr blocks nobody.
    """
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True, env=module_environment()
        )
        try:
            address = _address(process, timeout)
            if address is None:
                process.kill()
                process.wait()
                errors.seek(0)
                told = errors.read()[-500:].decode(errors="replace").strip()
                told = told or f"it printed nothing on stderr and ended with {process.returncode}"
                raise StartError(f"the server did not become ready: {told}")
            yield address
        finally:
            _stop(process)


def _address(process: subprocess.Popen[bytes], timeout: float) -> str | None:
    """Return what it says it listens on; None when it ends or is late."""
    assert process.stdout is not None
    deadline, printed = time.monotonic() + timeout, b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            more = os.read(process.stdout.fileno(), 65536)
            printed += more
            ready = READY.search(printed.decode(errors="replace"))
            if ready or not more:
                return ready.group(1) if ready else None
    return None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the whole process group: SIGTERM, then SIGKILL after 5 seconds."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=5)
            break
        except subprocess.TimeoutExpired:
            continue
    assert process.stdout is not None
    process.stdout.close()
    process.wait(timeout=5)
