"""Connections, clients and expected pushes in the model."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from wireproof.protocols.messages import Message, Push
from wireproof.protocols.psrt.replies import Beacon, PushedMessage
from wireproof.reference_server.model import Window
from wireproof.reference_server.psrt.oracle.accounts import GrantedRights
from wireproof.reference_server.psrt.oracle.topics import fits

__all__ = ["BEACON", "Allowed", "ExpectedPush", "Line", "LoggedIn"]

BEACON = Beacon()
CARRIED = {
    "PSRT-MESSAGE-12": {"priority": "PSRT-DATAGRAM-24", "topic": "PSRT-DATAGRAM-26", "message": "PSRT-DATAGRAM-25"},
    "PSRT-SEALED-17": dict.fromkeys(("priority", "topic", "message"), "PSRT-SEALED-17"),
    "PSRT-REPL_DATA-3": {"priority": "PSRT-REPL_DATA-3", "topic": "PSRT-REPL_DATA-3", "message": "PSRT-REPL_DATA-6"},
}
"""How a message came to the server -> field of its push -> what is broken if that differs."""
MISSING = "PSRT-MESSAGE-8"
"""What is broken if a push does not come, and nothing says more."""


class Allowed(NamedTuple):
    """One thing that the server may do about a request."""

    reply: Message | None
    """The reply; None for none at all: the connection is closed, or the datagram is not answered."""
    effect: Callable[[], object] = lambda: None
    """What follows for the model."""
    clause: str | None = None


class ExpectedPush(NamedTuple):
    """A push that must come, or may."""

    push: Push
    is_certain: bool
    clause: str
    """What is broken if it does not come."""
    way: str
    """The clause of how its message came to the server; "" for PUBLISH."""


@dataclass(eq=False)
class LoggedIn:
    """One client: from its login to the end of its control socket."""

    control: Line
    rights: GrantedRights
    token: bytes
    masks: dict[str, bool] = field(default_factory=dict)
    """Normalised mask -> whether it is subscribed for certain: where a server may have lost it, it may be not (P32)."""
    data: Line | None = None
    was_attached: bool = False
    """Whether its token was accepted on a data socket before."""
    may_be_spent: bool = False
    """Whether a server may refuse the token, because a data socket of it has ended (P16)."""
    left: dict[str, str] = field(default_factory=dict)
    """Mask that something left as it was -> the clause that says so, of the last such thing."""
    ended: dict[str, str] = field(default_factory=dict)
    """Mask that is not subscribed -> the clause of why: it was given up, or refused."""

    def wants(self, topic: list[str]) -> bool | None:
        """Return whether a message of a topic, by levels, comes to this client; None: it may."""
        matching = [certain for mask, certain in self.masks.items() if fits(mask.split("/"), topic)]
        return True if any(matching) else None if matching else False

    def subscribed(self, masks: dict[str, bool], ended: dict[str, str], left: str) -> None:
        """Note what is subscribed now; `left` is the clause that is broken if what was there before is gone."""
        for mask in masks:
            self.left[mask] = left if mask in self.masks and left else ""
        self.masks = masks
        self.ended = {mask: clause for mask, clause in {**self.ended, **ended}.items() if mask not in masks}

    def is_left(self, clause: str) -> None:
        """Note that something left every subscription as it is."""
        self.left = dict.fromkeys(self.masks, clause)

    def clause_of(self, topic: list[str]) -> str:
        """Return what is broken if a message of a topic, by levels, does not come; "" where nothing says more."""
        matching = (clause for mask, clause in self.left.items() if mask in self.masks and fits(mask.split("/"), topic))
        return next(filter(None, matching), "")

    def clause_against(self, topic: list[str]) -> str:
        """Return what is broken if a message of a topic, by levels, comes although nothing asks for it."""
        matching = (clause for mask, clause in self.ended.items() if fits(mask.split("/"), topic))
        return next(matching, "PSRT-MESSAGE-9")


@dataclass(eq=False)
class Line:
    """One connection."""

    name: str
    link: str
    last_input: Window
    """When it was opened, or its last request answered: its time runs from there."""
    client: LoggedIn | None = None
    waiting_for: list[str] | None = None
    """Of a replication whose message is due: the levels of its topic."""
    ending: str = ""
    """Why the server must have ended it."""
    due: list[ExpectedPush] = field(default_factory=list)
    surplus: list[Message] = field(default_factory=list)
    seen: deque[Message] = field(default_factory=lambda: deque(maxlen=64))
    """Pushes that came as expected, the last ones."""
    attached: int = 0
    """When its token was accepted, ns."""
    spoken: int = 0
    """When the server sent the last byte on it, ns."""
    interval: int = 0
    """Nanoseconds between two beacons; 0 before its token is accepted."""

    def came(self, push: Message) -> None:
        """Take a push off those that are expected: the first of them that must come, or one before it that may."""
        for place, one in enumerate(self.due):
            if one.push == push:
                del self.due[: place + 1]
                self.seen.append(push)
                return
            if one.is_certain:
                break
        self.surplus.append(push)

    def missed(self) -> str:
        """Return the clause that is broken if the first push that must come does not."""
        due = next((one for one in self.due if one.is_certain), None)
        if due is None or not isinstance(due.push, PushedMessage):
            return MISSING
        known = {one.push for one in self.due}
        came = (one for one in self.surplus if isinstance(one, PushedMessage) and one not in known)
        return next(filter(None, (_differing(due, one) for one in came)), due.clause)

    def expect(self, push: Push, now: int, *, is_certain: bool = True, clause: str = "", way: str = "") -> None:
        """Expect a push that is sent at `now`, in ns."""
        self.due.append(ExpectedPush(push, is_certain, clause or way or MISSING, way))
        if isinstance(push, PushedMessage) and is_certain:
            self.spoken = now


def _differing(due: ExpectedPush, came: PushedMessage) -> str:
    """Return the clause of the one field in which a push differs from what was due; "" for another message."""
    wanted = due.push
    assert isinstance(wanted, PushedMessage)
    fields = {name for name in ("priority", "topic", "message") if getattr(wanted, name) != getattr(came, name)}
    if len(fields) != 1:
        return ""
    clauses = {"priority": "PSRT-MESSAGE-2", "topic": "PSRT-MESSAGE-6", "message": "PSRT-MESSAGE-5"}
    return CARRIED.get(due.way, clauses)[fields.pop()]
