"""A process with everything it starts: ended as a whole, measured as a whole.

Its own process group and a mark in the environment, which children inherit: a worker that left the group, or was
handed to init, is found by the mark.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

import psutil

from wireproof.conformance.run.processes.reaper import OWNER, owned

MARK = "WIREPROOF_TARGET"
GRACE = 3.0
"""Seconds from being asked to end until being killed."""
POLL = 0.01
SLEEPS = "S"
"""The state of a thread that waits and can be woken; one that reads a disk, or is stopped, does not."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a family of processes takes at one instant."""

    memory: int
    """Resident bytes, summed; what is reserved and never touched does not count."""
    descriptors: int
    cpu: float
    """Seconds of CPU so far, ended children included."""
    reserved: int = 0
    """Bytes of addresses that the process with the most of them has reserved."""


class Family:
    """One started process and its descendants."""

    def __init__(
        self, command: Sequence[str], *, output: int, environment: Mapping[str, str], piped: bool = False
    ) -> None:
        """Start it; stdout and stderr go to the descriptor `output`. Raises `OSError` when it cannot be started.

        `piped`: stdin and stdout are pipes, whose ends here are `pipes`, and only stderr goes to `output`.
        """
        self._mark = secrets.token_hex(8)
        self._foreign: set[psutil.Process] = set()
        """Processes that are known not to be of the family."""
        owner = {OWNER: owned()}
        self._leader = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE if piped else output,
            stderr=output,
            start_new_session=True,
            env={**environment, **owner, MARK: self._mark},
            bufsize=0,
        )
        self.pid = self._leader.pid
        self._descriptors: dict[psutil.Process, int] = {}
        """How many descriptors each process could have before that was limited."""
        self._known = [psutil.Process(self.pid)]
        """The members that were found last."""

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """What it writes to its stdout, to be read, and what it reads from its stdin, to be written; to be closed.

        Raises `ValueError` if the process has no pipes.
        """
        if self._leader.stdout is None or self._leader.stdin is None:
            raise ValueError("it was not started with pipes")
        return self._leader.stdout, self._leader.stdin

    def ended(self) -> int | None:
        """Return the first process's exit code (below 0: the signal it died of); None while it runs."""
        return self._leader.poll()

    def members(self) -> list[psutil.Process]:
        """Return every process of the family that runs."""
        running = list(psutil.process_iter())
        self._foreign.intersection_update(running)
        self._known = [one for one in running if self._has(one)]
        return self._known

    def memory(self) -> int:
        """Return the resident bytes of the members that were found last; no others are looked for, which takes long."""
        found = 0
        for one in self._known:
            with suppress(psutil.Error):
                found += one.memory_info().rss
        return found

    def _has(self, one: psutil.Process) -> bool:
        with suppress(psutil.Error, OSError):
            mine = os.getpgid(one.pid) == self.pid or self._is_marked(one)
            return mine and one.status() != psutil.STATUS_ZOMBIE
        return False

    def _is_marked(self, one: psutil.Process) -> bool:
        """Say whether a process inherited the mark; one that did not will never have it, and is not looked at again."""
        if one in self._foreign:
            return False
        if one.environ().get(MARK) == self._mark:
            return True
        self._foreign.add(one)
        return False

    def usage(self) -> Usage:
        """Return what the family takes now; nothing at all once it is gone."""
        memory = descriptors = reserved = 0
        cpu = 0.0
        for one in self.members():
            with suppress(psutil.Error), one.oneshot():
                taken = one.memory_info()
                memory += taken.rss
                reserved = max(reserved, taken.vms)
                descriptors += one.num_fds()
                cpu += sum(one.cpu_times()[:4])
        return Usage(memory, descriptors, cpu, reserved)

    def runs(self) -> bool:
        """Say whether any of it wants the processor now, and waits for nothing else."""
        found = False
        for one in self.members():
            with suppress(psutil.Error):
                found |= one.status() == psutil.STATUS_RUNNING
        return found

    def rests(self) -> bool:
        """Say whether every thread of it waits for something; False where the system does not show that."""
        try:
            return all(_waits(one.pid) for one in self.members())
        except OSError:  # a process that has just ended, or no /proc
            return False

    def end(self, grace: float = GRACE) -> None:
        """End every process: SIGTERM, then SIGKILL after `grace` seconds, or at once when interrupted."""
        try:
            self._signal(signal.SIGTERM)
            self._wait(grace)
        finally:
            while self._signal(signal.SIGKILL):
                self._wait(POLL)
            self._leader.wait(GRACE)

    def kill(self) -> None:
        """Kill every process of the family without a word, and wait until they are gone."""
        while self._signal(signal.SIGKILL):
            self._wait(POLL)
        self._leader.wait(GRACE)

    def limit_files(self, size: int | None) -> None:
        """Let no file of the family grow beyond `size` bytes, as on a full disk; None: as far as it likes."""
        for one in self.members():
            with suppress(psutil.Error):
                _, hard = one.rlimit(psutil.RLIMIT_FSIZE)
                one.rlimit(psutil.RLIMIT_FSIZE, (hard if size is None else size, hard))

    def limit_descriptors(self, spare: int | None) -> None:
        """Let each process of the family open `spare` descriptors more than it has now; None: as many as it may."""
        for one in self.members():
            with suppress(psutil.Error, OSError, ValueError):
                soft, hard = one.rlimit(psutil.RLIMIT_NOFILE)
                self._descriptors.setdefault(one, soft)
                wanted = self._descriptors[one] if spare is None else one.num_fds() + spare
                one.rlimit(psutil.RLIMIT_NOFILE, (min(wanted, hard), hard))

    def _signal(self, how: signal.Signals) -> bool:
        """Send a signal to every process there is; say whether there was one."""
        members = self.members()
        for one in members:
            with suppress(psutil.Error):
                one.send_signal(how)
        return bool(members)

    def _wait(self, seconds: float) -> None:
        """Wait until all have ended, at most `seconds`."""
        deadline = time.monotonic() + seconds
        while (self._leader.poll() is None or self.members()) and time.monotonic() < deadline:
            time.sleep(POLL)


def _waits(pid: int) -> bool:
    """Say whether every thread of a process sleeps. Raises `OSError` where the system does not show it."""
    threads = os.listdir(f"/proc/{pid}/task")
    return all(_state(f"/proc/{pid}/task/{one}/stat") == SLEEPS for one in threads)


def _state(path: str) -> str:
    """Return the letter of a thread's state; that of one that has just ended is as good as asleep."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return SLEEPS
