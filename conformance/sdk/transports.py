"""What a driver is reached by: the pipes of a process that wireproof starts, or two FIFOs for one its author starts."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from wireproof.conformance.run.processes.log import Log
from wireproof.conformance.run.processes.process_tree import POLL, Family
from wireproof.conformance.run.processes.servers import exit_text

__all__ = ["DriverStartError", "DriverTransport", "FifoTransport", "ProcessTransport", "parse_driver"]

PATIENCE = 600.0
"""Seconds an author has to start the driver."""
QUICK = 0.2
"""Seconds between being asked to end and being killed, for a driver that did not end when its stdin did."""


class DriverStartError(RuntimeError):
    """Raised when a driver cannot be started or does not come."""


def parse_driver(text: str) -> tuple[str, ...]:
    """Return the words of a command, read as a POSIX shell reads them; `StartError` when it has none.

    Raises `DriverStartError` if it is empty or cannot be parsed.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise DriverStartError(f"the driver's command: {error} in {text!r}") from None
    if not words:
        raise DriverStartError("the driver's command: expected a program and its arguments, got nothing")
    return words


class DriverTransport(Protocol):
    """Both directions to one driver."""

    settle: float
    """Seconds the process has to end once it closed its stdout, and its stdout once the process ended."""

    async def start(self, why: str) -> tuple[IO[bytes], IO[bytes]]:
        """Return what is read from it and what is written to it; the caller closes both. Raises `StartError`."""

    def ended(self) -> str | None:
        """Return how the process ended, as in "it ..."; None while it runs or is not ours."""

    def last_words(self, count: int = 20) -> list[str]:
        """Return the last lines of its stderr."""

    def cpu(self) -> float | None:
        """Return the seconds of CPU that it used so far; None where that cannot be known."""

    def rests(self) -> bool:
        """Say whether every thread of it waits; False where that cannot be known."""

    async def end(self) -> None:
        """End it with everything it started."""

    def close(self) -> None:
        """Let go of what belongs to no single start."""


class ProcessTransport:
    """A process of our own; its stderr goes to a log."""

    settle = 2.0

    def __init__(
        self, words: Sequence[str], *, log: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """Starts nothing yet. Raises `OSError` when the log cannot be written."""
        self._words = words
        self._log = Log(log)
        self._environment = os.environ if environment is None else environment
        self._family: Family | None = None
        self.starts = 0

    async def start(self, why: str) -> tuple[IO[bytes], IO[bytes]]:
        """Start the process. Raises `DriverStartError` if the program cannot be started."""
        self.starts += 1
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._log.begin(f"start {self.starts} at {when}{why and f', {why}'}: {shlex.join(self._words)}")
        try:
            self._family = Family(self._words, output=self._log.fileno(), environment=self._environment, piped=True)
        except OSError as error:
            raise DriverStartError(f"cannot start {self._words[0]!r}: {error.strerror or error}") from None
        return self._family.pipes

    def ended(self) -> str | None:
        """Return how the process ended, as in "it ..."; None while it runs."""
        code = self._family.ended() if self._family else None
        return None if code is None else exit_text(code)

    @property
    def exit_code(self) -> int | None:
        """The exit code of the process, below 0 the signal it died of; None while it runs."""
        return self._family.ended() if self._family else None

    def last_words(self, count: int = 20) -> list[str]:
        """Return the last lines of its stderr since it was started."""
        return self._log.last_lines(count)

    def cpu(self) -> float | None:
        """Return the seconds of CPU that it and its children used so far."""
        return self._family.usage().cpu if self._family else None

    def rests(self) -> bool:
        """Say whether every thread of it and of its children waits; False where that cannot be known."""
        return self._family is not None and self._family.rests()

    async def end(self) -> None:
        """End the process and everything it started."""
        if self._family is not None:
            await asyncio.to_thread(self._family.end, QUICK)
            self._family = None

    def close(self) -> None:
        """Close the log."""
        self._log.close()


class FifoTransport:
    """A driver that its author starts, under a debugger say, with stdin and stdout at two FIFOs."""

    settle = 0.0

    def __init__(self, announce: Callable[[str], object], *, patience: float = PATIENCE) -> None:
        """`announce` gets what to start; it is waited for `patience` seconds, each time."""
        self._announce = announce
        self._patience = patience
        self._folder = Path(tempfile.mkdtemp(prefix="wireproof-"))
        self.commands, self.answers = self._folder / "commands", self._folder / "answers"

    async def start(self, why: str) -> tuple[IO[bytes], IO[bytes]]:
        """Tell what to start and wait until somebody did; the FIFOs are new, for one started earlier may linger.

        Raises `DriverStartError` if the program cannot be started.
        """
        for one in (self.commands, self.answers):
            one.unlink(missing_ok=True)
            os.mkfifo(one, 0o600)
        again = f"again ({why}) " if why else ""
        self._announce(
            f"waiting {self._patience:g} s for your driver: start it {again}with\n"
            f"  < {shlex.quote(str(self.commands))} > {shlex.quote(str(self.answers))}"
        )
        reading = os.open(self.answers, os.O_RDONLY | os.O_NONBLOCK)
        try:
            writing = await self._opened()
        except BaseException:
            os.close(reading)
            raise
        return os.fdopen(reading, "rb", buffering=0), os.fdopen(writing, "wb", buffering=0)

    async def _opened(self) -> int:
        """Return the commands' FIFO once somebody reads from it."""
        deadline = time.monotonic() + self._patience
        while time.monotonic() < deadline:
            try:
                return os.open(self.commands, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            await asyncio.sleep(POLL)
        raise DriverStartError(f"nobody opened {self.commands} in {self._patience:g} s")

    def ended(self) -> None:
        """Nobody reported how it ended."""

    def last_words(self, count: int = 20) -> list[str]:
        """Its stderr is the author's."""
        return []

    def cpu(self) -> None:
        """It is not ours to be measured."""

    def rests(self) -> bool:
        """It may stand at a breakpoint."""
        return False

    async def end(self) -> None:
        """It is the author's to end; it sees the end of its stdin."""

    def close(self) -> None:
        """Remove the FIFOs."""
        with suppress(OSError):
            shutil.rmtree(self._folder)
