"""What a queue promised, against what it replays after a restart: pure comparison, nothing is sent here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from wireproof.conformance.model.trace import Trace

__all__ = ["BrokenPromise", "Keeps", "KnownMessages", "Replayed", "broken_by", "damaged_in"]

Replayed = Sequence[tuple[int, bytes]]
"""(message id, body), in the order in which they came."""


class Keeps(StrEnum):
    """What survives the death of the process."""

    SEEN = "seen"
    """All that was acknowledged or seen by a subscriber: it is written before it is sent."""
    SOME = "some"
    """What was written by then: it may be written after it is sent."""


@dataclass(frozen=True, slots=True)
class BrokenPromise:
    """One promise that was not kept."""

    promise: str
    """The name of the promise, as in durability.yaml."""
    detail: str
    about: int = field(default=0, compare=False)
    """The id of the message that it is about; 0: it is about none."""
    evidence: Trace = field(default_factory=Trace, compare=False, repr=False)
    """What was sent and received on the connection that showed it; nothing where it was not a connection."""


@dataclass
class KnownMessages:
    """What a harness knows of one queue over all lives of its server."""

    published: dict[bytes, int] = field(default_factory=dict)
    """Body -> the number of its publication; a body is published once."""
    acknowledged: dict[bytes, None] = field(default_factory=dict)
    seen: dict[int, bytes] = field(default_factory=dict)
    """Message id -> body, as some subscriber got it."""
    differing: list[str] = field(default_factory=list)
    """Ids that two subscribers saw with different bodies."""

    def saw(self, number: int, body: bytes) -> None:
        """Note what a subscriber got."""
        if self.seen.setdefault(number, body) != body:
            self.differing.append(f"id {number} is {_shown(self.seen[number])} and {_shown(body)}")

    def replayed(self, found: Replayed) -> None:
        """Take what a replay gave, once it was compared, for what is known from now on."""
        self.seen = dict(found)
        self.differing.clear()


def broken_by(known: KnownMessages, found: Replayed, keeps: Keeps) -> list[BrokenPromise]:
    """Return the promises that a replay from the beginning breaks."""
    breaches = damaged_in(known, found)
    numbers = [number for number, _ in found]
    if numbers != list(range(1, len(found) + 1)):
        at = next(at for at, number in enumerate(numbers, 1) if number != at)
        got = numbers[at - 1]
        breaches.append(BrokenPromise("ids", f"expected id {at} as the next one, got {got}", got))
    if keeps is Keeps.SEEN:
        there = dict(found)
        bodies = set(there.values())
        breaches += [BrokenPromise("ids", one) for one in known.differing]
        for number, body in known.seen.items():
            if number not in there:
                detail = f"message {number}, {_shown(body)}, was seen and is not replayed"
                breaches.append(BrokenPromise("seen", detail, number))
            elif there[number] != body:
                detail = f"message {number} was {_shown(body)}, now {_shown(there[number])}"
                breaches.append(BrokenPromise("seen", detail, number))
        lost = [body for body in known.acknowledged if body not in bodies]
        breaches += [
            BrokenPromise("acknowledged", f"{_shown(one)} was acknowledged and is not replayed") for one in lost
        ]
    return breaches


def damaged_in(known: KnownMessages, found: Replayed) -> list[BrokenPromise]:
    """Return what no server may deliver, whatever befell its files: bodies that nobody published, or again."""
    breaches, read = [], set[bytes]()
    for number, body in found:
        if body not in known.published:
            breaches.append(BrokenPromise("whole", f"message {number}, {_shown(body)}, was never published so", number))
        elif body in read:
            breaches.append(BrokenPromise("once", f"message {number}, {_shown(body)}, is replayed twice", number))
        read.add(body)
    return breaches


def counted(breaches: Sequence[BrokenPromise]) -> Mapping[str, list[BrokenPromise]]:
    """Return promise -> the breaches of it."""
    found: dict[str, list[BrokenPromise]] = {}
    for one in breaches:
        found.setdefault(one.promise, []).append(one)
    return found


def _shown(body: bytes) -> str:
    return repr(body if len(body) <= 40 else body[:40] + b"...")[1:]
