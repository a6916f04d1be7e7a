"""Progress of work that takes longer than a person waits in silence: lines on stderr, the first one at once.

What is under way is printed every few seconds, with the time that is left where it can be estimated.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

__all__ = ["Progress", "Steps", "waiting"]

EVERY = 5.0
"""Seconds between two lines."""


class Steps:
    """Lines on stderr without a thread, for work that forks: the first at once, others as steps end."""

    def __init__(self, total: int, what: str, *, every: float = 10.0, quiet: bool = False) -> None:
        """`what`: what a step is, in the plural; `every`: least seconds between two lines."""
        self._total, self._what, self._every, self._quiet = total, what, every, quiet
        self._done, self._began = 0, time.monotonic()
        self._printed = -every
        self._print()

    def __call__(self) -> None:
        """Count a step that ended."""
        self._done += 1
        self._print()

    def _print(self) -> None:
        spent = time.monotonic() - self._began
        if not self._quiet and spent - self._printed >= self._every:
            self._printed = spent
            line = f"wireproof: {spent:.0f} s: {self._done} of {self._total} {self._what}"
            with suppress(OSError):
                print(line, file=sys.stderr, flush=True)


@contextmanager
def waiting(
    what: str | Callable[[], str], *, after: float = 1.0, every: float = 10.0, quiet: bool = False
) -> Iterator[None]:
    """Say on stderr what is done once it takes longer than `after` seconds, and again each `every` seconds."""
    over, began = threading.Event(), time.monotonic()

    def report() -> None:
        wait = after
        while not over.wait(wait):
            wait, now = every, what if isinstance(what, str) else what()
            with suppress(OSError):
                print(f"wireproof: {time.monotonic() - began:.0f} s: {now}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=report, daemon=True)
    if not quiet:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if not quiet:
            thread.join()


class Progress:
    """Counts pieces of work; each is named while it is under way. Threads may share it."""

    def __init__(self, total: int, *, every: float = EVERY) -> None:
        """`total`: pieces in all; `every`: seconds between two lines."""
        self._total, self._every = total, every
        self._done = 0
        self._now: dict[str, float] = {}
        """What is under way -> when it began."""
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._lines = threading.Thread(target=self._print_lines, daemon=True)
        self._began = time.monotonic()

    def __enter__(self) -> Progress:
        self._began = time.monotonic()
        self._lines.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._lines.join()

    @contextmanager
    def under_way(self, name: str) -> Iterator[None]:
        """Name a piece of work while it is done, and count it then."""
        with self._lock:
            self._now[name] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._now[name]
                self._done += 1

    def line(self) -> str:
        """Return how far the work is."""
        with self._lock:
            done, now = self._done, list(self._now)
        spent = time.monotonic() - self._began
        left = f", about {spent / done * (self._total - done):.0f} s left" if done else ""
        shown = f"; now {', '.join(now)}" if now else ""
        return f"wireproof: {spent:.0f} s: {done} of {self._total} done{left}{shown}"

    def _print_lines(self) -> None:
        wait = min(0.5, self._every)
        while not self._over.wait(wait):
            wait = self._every
            with suppress(OSError):  # whoever read this went away, or the disk is full
                print(self.line(), file=sys.stderr, flush=True)
