"""Connections, clients and expected pushes in the model."""

from __future__ import annotations

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


@dataclass(eq=False)
class LoggedIn:
    """One client: from its login to the end of its control socket."""

    control: Line
    rights: GrantedRights
    token: bytes
    masks: dict[str, bool] = field(default_factory=dict)
    """Normalised mask -> whether it is subscribed for certain: where a server may have lost it, it may be not (P32)."""
    data: Line | None = None
    may_be_spent: bool = False
    """Whether a server may refuse the token, because a data socket of it has ended (P16)."""

    def wants(self, topic: list[str]) -> bool | None:
        """Return whether a message of a topic, by levels, comes to this client; None: it may."""
        matching = [certain for mask, certain in self.masks.items() if fits(mask.split("/"), topic)]
        return True if any(matching) else None if matching else False


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
                return
            if one.is_certain:
                break
        self.surplus.append(push)

    def expect(self, push: Push, now: int, *, is_certain: bool = True) -> None:
        """Expect a push that is sent at `now`, in ns."""
        self.due.append(ExpectedPush(push, is_certain))
        if isinstance(push, PushedMessage) and is_certain:
            self.spoken = now
