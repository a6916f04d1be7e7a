"""How long a driver is waited for, once waits for it have turned out to be in vain.

An SDK that loses one kind of answer costs each case that needs it the whole deadline. So after the first wait of a kind
in vain, and after some in all, the next ones end early: once the driver has done nothing for a while, every thread of
it waiting, or once it has used the processor for as long. A driver that only lacks the processor is waited for in full,
and so is one of which nothing is known. A driver that has answered after a rest, by a timer say, is given four times
that rest. What is found early is no news: a wait for the whole deadline has shown the same.
"""

from __future__ import annotations

import time
from typing import Protocol

from wireproof.conformance.verdict.crashes import Hang

__all__ = ["ANSWER", "EVENT", "FULL_WAITS", "HELLO", "LOST", "REQUEST", "STEP", "TimedWait", "Waits"]

ANSWER, EVENT, REQUEST = "answer", "event", "request"
LOST = "answer after the end"
"""An answer after the connection has ended: some SDKs find that out by a timer."""
HELLO = "hello"
"""Whether a driver that owes an answer takes other commands."""
FULL_WAITS = 3
"""Waits in vain, each for the whole deadline, after which others end early that ask for something else, too."""
IMPATIENT = 0.5
"""Seconds of rest, or of CPU, from then on."""
SLACK = 4
"""Times the longest rest before something that came."""
STEP = 0.1
"""Seconds between two looks at the driver."""
LOOKS = 4
"""In so many looks one after the other the driver is at rest: our own process may lack the processor, too."""


class Watched(Protocol):
    """The driver, as far as it can be looked at."""

    def cpu(self) -> float | None:
        """Return the seconds of CPU that it used so far; None where that cannot be known."""

    def rests(self) -> bool:
        """Say whether every thread of it waits; False where that cannot be known."""


class Waits:
    """The waits of one run."""

    def __init__(self, driver: Watched) -> None:
        self.driver = driver
        self._in_vain: dict[tuple[str, str], float] = {}
        """What was waited for, and for which request -> the seconds that were in vain."""
        self._longest: dict[str, float] = {}
        """What came in the end -> the longest rest before it."""

    def begin(self, kind: str, name: str, seconds: float) -> TimedWait:
        """Begin a wait of `seconds` at most: `kind` is one of the words above, `name` the request that it is for."""
        known = self._in_vain.get((kind, name))
        if known is None and len([one for one in self._in_vain if one[0] != HELLO]) >= FULL_WAITS:
            known = max((took for (other, _), took in self._in_vain.items() if other == kind), default=None)
        if known is None or known < seconds:
            return TimedWait(self, kind, name, seconds)
        return TimedWait(self, kind, name, seconds, max(IMPATIENT, SLACK * self._longest.get(kind, 0.0)), known)

    def came(self, kind: str, seconds: float) -> None:
        """Note a wait that was not in vain, and at the end of which the driver was at rest for so many seconds."""
        self._longest[kind] = max(seconds, self._longest.get(kind, 0.0))

    def was_in_vain(self, kind: str, name: str, seconds: float) -> None:
        """Note a wait for the whole deadline."""
        self._in_vain[kind, name] = seconds


class TimedWait:
    """One wait. `is_over` is asked every `STEP` seconds; then it `came` or was `in_vain`."""

    def __init__(
        self, waits: Waits, kind: str, name: str, seconds: float, enough: float | None = None, known: float = 0.0
    ) -> None:
        """`enough`: seconds of rest or of CPU that end it early, as `known` seconds were in vain before."""
        self._waits, self._driver = waits, waits.driver
        self._kind, self._name, self._seconds = kind, name, seconds
        self._enough, self._known = enough, known
        self._began = time.monotonic()
        self._next = self._began + STEP
        self._first: tuple[float, float | None] | None = None
        self._at_rest: list[float] = []
        self.hang: Hang | None = None
        """What the driver did meanwhile, once the wait was in vain."""

    @property
    def took(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    def is_over(self) -> bool:
        """Say whether to wait no longer."""
        now = time.monotonic()
        if now - self._began >= self._seconds:
            return True
        if now < self._next:
            return False
        self._next = now + STEP
        if self._first is None:
            self._first = now, self._driver.cpu()
        self._at_rest = [*self._at_rest, now] if self._driver.rests() else []
        if self._enough is None:
            return False
        if len(self._at_rest) >= LOOKS and now - self._at_rest[0] >= self._enough:
            return True
        used = self._used()
        return used is not None and used >= self._enough

    def came(self) -> None:
        """Note that it was not in vain, and for how long the driver was at rest before."""
        if self._at_rest:
            self._waits.came(self._kind, time.monotonic() - self._at_rest[0])

    def in_vain(self) -> str:
        """Note that nothing came; return that in words."""
        took, used = self.took, self._used()
        if self._first is not None and used is not None:
            self.hang = Hang(used, time.monotonic() - self._first[0])
        if took >= self._seconds:
            self._waits.was_in_vain(self._kind, self._name, self._seconds)
            return f"none in {self._seconds:g} s"
        return f"none in {took:.1f} s, after {self._known:g} s without an answer before"

    def _used(self) -> float | None:
        if self._first is None or self._first[1] is None or (now := self._driver.cpu()) is None:
            return None
        return now - self._first[1]
