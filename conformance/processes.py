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

READY = re.compile(r"^listening (\S+)$")
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
    """Start a server that prints `listening ADDRESS` on its first line; yield the address; stop its process group.

    Raises `StartError` when it ends or says nothing in `timeout` seconds.
    """
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=module_environment(),
    )
    try:
        yield _address(process, timeout)
    finally:
        _stop(process)


def _address(process: subprocess.Popen[str], timeout: float) -> str:
    assert process.stdout is not None
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            if not selector.select(deadline - time.monotonic()):
                break
            line = process.stdout.readline()
            ready = READY.match(line.strip())
            if ready:
                return ready.group(1)
            if not line:
                break
    raise StartError(f"the server did not become ready: {_told(process)}")


def _told(process: subprocess.Popen[str]) -> str:
    """Return what the server printed on stderr, once it is stopped."""
    process.kill()
    _, errors = process.communicate(timeout=5)
    return errors.strip()[-500:] or f"it printed nothing and ended with {process.returncode}"


def _stop(process: subprocess.Popen[str]) -> None:
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
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait(timeout=5)
