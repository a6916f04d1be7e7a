"""What answers are allowed, as pure models: the seam between semantics and a checker.

A checker of concurrent histories asks a `Model` of one record whether a reply may follow from a state, and which states
it leaves. A checker that asks one thing after the other tells a `ServerModel` everything that happens.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from wireproof.protocols.messages import Message, Push, Request

__all__ = ["Disagreement", "Model", "ServerModel", "Window"]


class Model(Protocol):
    """The states of one key and the steps between them; what the documents leave open is allowed."""

    @property
    def initial(self) -> Hashable:
        """The state of a key nothing was asked about yet."""

    def key(self, request: Request) -> bytes:
        """Return the key a request is about; `ValueError` for one that is about none or that the model lacks."""

    def step(self, state: Hashable, request: Request, reply: Message | None) -> Collection[Hashable]:
        """Return the states that `request`, answered by `reply`, may leave; none when that answer is not allowed.

        Without a reply (None): every state that any answer may leave.
        """

    def reads(self, request: Request, reply: Message | None) -> bool:
        """Say whether a request answered so changes nothing, whatever the state; it may tell what a state is."""

    def tell(self, state: Hashable) -> str:
        """Return a state in words."""


class Window(NamedTuple):
    """When a server acted, ns on the caller's clock: between a request's first byte and the last one of its reply."""

    since: int
    until: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Something that no reading of the documents allows."""

    told: str
    """What came, and what was due."""
    shape: str
    """The same for the same fault."""
    clause: str | None = None


class ServerModel(Protocol):
    """A whole server, as the documents have it, that follows what is asked and answered on every connection.

    It is told everything in order. Where the documents leave a server its choice it accepts each, and goes on from what
    was answered. How exact time is, and whether others use the server too, is said when it is made.
    """

    push_clause: str
    """The clause that a push which never comes breaks."""

    def greeting(self) -> tuple[Request, ...]:
        """Return what to ask first on a connection, so that it can be told from others later."""

    def connect(self, connection: str, at: Window, port: int | None) -> None:
        """Open a connection; `port` is our side's, where there is one."""

    def disconnect(self, connection: str, at: Window) -> None:
        """Close a connection, by either side."""

    def sent(self, connection: str, request: Request) -> None:
        """Note a request as it is written."""

    def answered(self, connection: str, request: Request, reply: Message, at: Window) -> Disagreement | None:
        """Judge the reply to the oldest request of a connection that has none yet."""

    def pushed(self, connection: str, push: Push) -> None:
        """Note a push; `unexpected` judges it."""

    def owed(self, connection: str) -> str | None:
        """Return, in words, the first push that must still come, None when there is none."""

    def unexpected(self, at: Window) -> Disagreement | None:
        """Judge the pushes that came, once every request is answered: those nobody published to this connection."""

    def instants(self) -> list[int]:
        """Return when something may change by itself, ns, ascending."""
