"""Servers that wireproof starts itself: ready when they take connections, started again after a death, gone at last."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory
from types import TracebackType

from wireproof.conformance.model.targets import Address, TargetError, parse_address
from wireproof.conformance.run.processes.log import Log
from wireproof.conformance.run.processes.modules import module_environment
from wireproof.conformance.run.processes.process_tree import POLL, Family, Usage

LOOPBACK = "127.0.0.1"
PORTS = range(10_000, 32_768)
"""Where servers are started: most systems give unasked what lies above; a signed number of 16 bits holds them."""
LOCAL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
TRIES = 3
"""Starts on another port while the one chosen is in use after all."""
PRINTING = 0.5
"""Seconds for what a server prints after it takes connections."""
LAST_WORDS = 20
SHELL_SIGNAL = 128
"""A shell ends with this and the signal's number when its command died of it."""


class StartError(RuntimeError):
    """Raised when a server does not become ready; the message holds what it printed."""


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How to start a server: words, in which `{port}` and `{host}` stand for a free port of the loopback.

    `{data}` stands for a folder that is the same at every start.
    """

    words: tuple[str, ...]
    filled: bool = True
    """False: braces mean nothing."""

    @property
    def wants_port(self) -> bool:
        """Whether its command names the port; otherwise the server prints where it listens."""
        return self.filled and any("{port}" in word for word in self.words)

    @property
    def wants_data(self) -> bool:
        """Whether its command names a folder for what it keeps."""
        return self.filled and any("{data}" in word for word in self.words)

    def at(self, port: int, data: str = "") -> list[str]:
        """Return the words to start."""
        if not self.filled:
            return list(self.words)
        known = {"{port}": str(port), "{host}": LOOPBACK, "{data}": data}
        return [_filled(word, known) for word in self.words]


def _filled(word: str, known: Mapping[str, str]) -> str:
    for name, value in known.items():
        word = word.replace(name, value)
    return word


def parse_command(text: str) -> ServerCommand:
    """Return the command that a line describes, read as a POSIX shell reads words; `TargetError` when it has none."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TargetError(f"--target-command: {error} in {text!r}") from None
    if not words:
        raise TargetError("--target-command: expected a program and its arguments, got nothing")
    return ServerCommand(tuple(words))


class ServerProcess:
    """One server under test: started, watched, started again, and ended with everything it started."""

    address: Address

    def __init__(
        self,
        command: ServerCommand,
        *,
        log: Path | None = None,
        ready_timeout: float = 15.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Raises `OSError` when the log cannot be written; nothing is started yet."""
        self._command = command
        self._log = Log(log)
        self._ready_timeout = ready_timeout
        self._environment = os.environ if environment is None else environment
        self._family: Family | None = None
        self._data = TemporaryDirectory(prefix="wireproof-data-") if command.wants_data else None
        self._why: str | None = None
        self.starts = 0

    def __enter__(self) -> ServerProcess:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self, why: str = "") -> None:
        """Start it, again where it runs already, and return once it is ready; `why` stands in the log.

        Raises `StartError` when it ends or takes no connection in `ready_timeout` seconds.
        """
        for _ in self._starting(why):
            time.sleep(POLL)

    async def restart(self, why: str) -> None:
        """Do as `start`, without holding up the loop while it gets ready."""
        for _ in self._starting(why):
            await asyncio.sleep(POLL)

    async def restart_if_ended(self, asked: str) -> bool:
        """Restart it if it ended while it was asked for its `asked`; return whether it did. Raises `StartError`."""
        if (death := self.death()) is None:
            return False
        await self.restart(f"it {death} while its {asked} were asked for")
        return True

    def _starting(self, why: str) -> Iterator[None]:
        for attempt in range(1, TRIES + 1):
            try:
                yield from self._launch(why)
                return
            except StartError:
                in_use = self._command.wants_port and any("in use" in line.lower() for line in self.last_words())
                self.end()
                if not in_use or attempt == TRIES:
                    raise

    def _launch(self, why: str) -> Iterator[None]:
        """Start it and yield until it is ready."""
        self.end()
        planned = Address("tcp", LOOPBACK, free_port()) if self._command.wants_port else None
        words = self._command.at(planned.port if planned else 0, self._data.name if self._data else "")
        self.starts += 1
        self._why = None
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._log.begin(f"start {self.starts} at {when}{why and f', {why}'}: {shlex.join(words)}")
        try:
            self._family = Family(words, output=self._log.fileno(), environment=self._environment)
        except OSError as error:
            raise StartError(f"cannot start {words[0]!r}: {error.strerror or error}") from None
        deadline = time.monotonic() + self._ready_timeout
        while not self._is_ready(planned):
            if time.monotonic() > deadline:
                what = f"connect to {planned}" if planned else "line 'listening ADDRESS' that holds"
                raise StartError(self._not_ready(f"no {what} in {self._ready_timeout:g} s"))
            yield

    def _is_ready(self, planned: Address | None) -> bool:
        printed = self._log.ready_address() if planned is None else None
        try:
            address = parse_address(printed) if printed else planned
        except TargetError as error:
            raise StartError(f"the server's line `listening ADDRESS` cannot be read: {error}") from None
        ready = address is not None and _takes_connections(address)
        death = self.death()
        if death is not None:
            hint = " (it has to stay in the foreground)" if death == exit_text(0) else ""
            raise StartError(self._not_ready(f"it {death}{hint}"))
        if ready and address is not None:
            self.address = address
        return ready

    def _not_ready(self, reason: str) -> str:
        words = "\n".join(self.last_words()) or "it printed nothing"
        return f"the server did not become ready: {reason}\n{words}"

    def death(self) -> str | None:
        """Return how the process ended, as in "it ..."; None while it runs."""
        code = self._family.ended() if self._family else None
        return None if code is None else self._why or exit_text(code)

    @property
    def given_up(self) -> bool:
        """Whether wireproof ended it because it was of no use any more."""
        return self._why is not None

    def give_up(self, why: str) -> None:
        """End it because it is of no use any more; `death` says `why`."""
        self._why = why
        if self._family is not None:
            self._family.end(0.0)

    @property
    def data(self) -> Path | None:
        """The folder that stands for `{data}`; None where the command names none."""
        return Path(self._data.name) if self._data else None

    def filled(self, text: str) -> str:
        """Return a text with the folder that `{data}` stands for; nothing stands there where the command names none."""
        return text.replace("{data}", str(self.data or ""))

    @property
    def listeners(self) -> dict[str, str]:
        """Name -> address of the listeners beside the usual one that it printed, as `listening NAME ADDRESS`."""
        return self._log.listeners()

    def announced_listeners(self) -> dict[str, str]:
        """Return `listeners` once they can be known: a server takes connections before it prints where.

        Its first line `listening ADDRESS` is waited for, at most `PRINTING` seconds: it may print none. All such lines
        are expected in one write.
        """
        until = time.monotonic() + PRINTING
        while self._log.ready_address() is None and self.death() is None and time.monotonic() < until:
            time.sleep(POLL)
        return self.listeners

    def kill(self) -> None:
        """Kill it and everything it started with SIGKILL: it gets no chance to write anything."""
        if self._family is not None:
            self._family.kill()

    def limit_files(self, size: int | None) -> None:
        """Let no file of it grow beyond `size` bytes, as on a full disk; None: as far as it likes."""
        if self._family is not None:
            self._family.limit_files(size)

    def limit_descriptors(self, spare: int | None) -> None:
        """Let it open `spare` descriptors more than it has now; None: as many as it could before."""
        if self._family is not None:
            self._family.limit_descriptors(spare)

    def last_words(self, count: int = LAST_WORDS) -> list[str]:
        """Return the last lines it printed since it was started."""
        return self._log.last_lines(count)

    def usage(self) -> Usage:
        """Return what it and its children take now."""
        return self._family.usage() if self._family else Usage(0, 0, 0.0)

    def memory(self) -> int:
        """Return the resident bytes of it and its children, without those that began since `usage` was asked last."""
        return self._family.memory() if self._family else 0

    def refuses(self) -> bool:
        """Say whether it takes no connection any more: it is about to end, or about to begin again."""
        return not _takes_connections(self.address)

    def runs(self) -> bool:
        """Say whether it, or a child, wants the processor now, and waits for nothing else."""
        return self._family is not None and self._family.runs()

    def end(self) -> None:
        """End it and everything it started."""
        if self._family is not None:
            self._family.end()

    def close(self) -> None:
        """End it; it cannot be started again."""
        try:
            self.end()
        finally:
            self._log.close()
            if self._data is not None:
                self._data.cleanup()


@contextmanager
def running_server(command: Sequence[str], *, timeout: float = 15.0) -> Iterator[str]:
    """Start a server of this installation that prints a line `listening ADDRESS`; yield the address; end it.

    Raises `StartError` when it ends or is not ready in `timeout` seconds. What it prints blocks nobody.
    """
    literally = ServerCommand(tuple(command), filled=False)
    with ServerProcess(literally, ready_timeout=timeout, environment=module_environment()) as server:
        yield str(server.address)


def placed(listeners: Mapping[str, Address], server: ServerProcess | None) -> dict[str, Address]:
    """Return where listeners are, with the folder of a started server that `/{data}` stands for."""
    if server is None:
        return dict(listeners)
    return {
        name: replace(one, path=server.filled(one.path.replace("/{data}", "{data}", 1)))
        for name, one in listeners.items()
    }


def exit_text(code: int) -> str:
    """Return what an exit code says, as in "it ..."."""
    if code < 0:
        return f"died of {_signal_name(-code)}"
    if code > SHELL_SIGNAL and _signal_name(code - SHELL_SIGNAL).startswith("SIG"):
        return f"ended with exit code {code} (a shell's way to say {_signal_name(code - SHELL_SIGNAL)})"
    return f"ended with exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def free_port() -> int:
    """Return a TCP port of the loopback that nobody listens on at the moment.

    It is none that the system gives to whoever asks for any port or connects: until the server listens there, nobody
    else would be taken for it.
    """
    first, last = given_unasked()
    others = [port for port in PORTS if not first <= port <= last]
    for port in SystemRandom().sample(others, min(len(others), 100)):
        with suppress(OSError):
            return _bound_to(port)
    return _bound_to(0)


def given_unasked() -> tuple[int, int]:
    """Return the first and the last port that the system gives to who names none."""
    try:
        first, last = LOCAL_PORTS.read_text().split()
    except (OSError, ValueError):
        return PORTS.stop, 65535
    return int(first), int(last)


def _bound_to(port: int) -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, port))
        bound: int = probe.getsockname()[1]
        return bound


def _takes_connections(address: Address) -> bool:
    family, where = (
        (socket.AF_UNIX, address.path)
        if address.scheme == "unix"
        else (socket.AF_INET6 if ":" in address.host else socket.AF_INET, (address.host, address.port))
    )
    with socket.socket(family) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(where)
        except OSError:
            return False
    return True
