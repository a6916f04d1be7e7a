"""The interface of models: pure functions that decide which answers the documents allow.

The checker of concurrent histories asks a `Model` of one record whether a state allows a reply, and which states may
follow. The checkers of sequential requests report every event to a `ServerModel`, which judges each answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from wireproof.protocols.messages import Message, Request

__all__ = [
    "CarryingModel",
    "CountingModel",
    "Disagreement",
    "LastingModel",
    "LinkedServers",
    "Model",
    "NeverEnding",
    "Reader",
    "Reading",
    "ServerModel",
    "SharedModel",
    "Window",
]


# Why models beside the server. The server is one implementation of the document: it chooses where the document leaves a
# choice. To ask whether *another* answer is allowed, something must hold all choices. That is a model: written from the
# document and not from the handlers, so that a misreading in one of them shows as a disagreement.
#
# Why two kinds. Histories of concurrent clients are checked by search (porcupine, Knossos): the state must be small
# and hashable, and belongs to one key, since histories of different keys are independent. That is `Model`: a function
# from a state, a request and a reply to the states that may follow. A sequential script needs no search, but needs
# what one key does not show: subscriptions, tables of connections, order of pushes. That is `ServerModel`, which
# keeps state and takes one event at a time.
#
# Why sets of states, and windows of time. After an answer that the document leaves open, or none, several states are
# possible; each later answer removes some, and none left is the defect. Time is such a choice: a record with a TTL has
# ended somewhere between two instants, so every event has a window instead of an instant, and a model that must choose
# within the tolerance keeps both.
#
# Why a model may expect answers. Where requests may have several answers, in any order, "the reply to the oldest
# request" means nothing. Such a model says what must still come and judges whatever came.


Reading = tuple[list[tuple[str, dict[str, Any]]], str]
"""The messages of a stream as name and fields, and how it ends: whole, partial or refused."""
Reader = Callable[[bytes, str], Reading]
"""Reads a stream under a profile, without a line of the codec."""


class Model(Protocol):
    """The states of one key and the steps between them; allows everything that the documents leave open."""

    @property
    def initial(self) -> Hashable:
        """The state of a key before its first request."""

    def key(self, request: Request) -> bytes:
        """Return the key of a request. Raises ValueError if it has none or if the model lacks the request."""

    def step(self, state: Hashable, request: Request, reply: Message | None) -> Collection[Hashable]:
        """Return the possible states after `request` was answered by `reply`; none if that answer is not allowed.

        Without a reply (None), return the possible states after any answer.
        """

    def reads(self, request: Request, reply: Message | None) -> bool:
        """Return whether a request with this reply changes nothing, in any state; its reply may show the state."""

    def expires_at_once(self, state: Hashable, request: Request) -> bool:
        """Return whether `request` lets the record expire when it is handled.

        The model, which has no clock, takes it as gone then; a server may show it within the tolerance of times.
        """

    def may_be_seen_again(self, state: Hashable, request: Request, reply: Message, within_ns: int) -> bool:
        """Return whether the reply can only mean that the record has expired, as it may have within `within_ns` (ns).

        A server may show it again: within the tolerance of times, each answer may be either.
        """

    def describe(self, state: Hashable) -> str:
        """Return a description of a state."""


class Window(NamedTuple):
    """When a server acted, in ns on the caller's clock: from a request's first byte to its reply's last one."""

    since: int
    until: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An answer or a push that no reading of the documents allows."""

    detail: str
    """A description: what arrived, and what was expected."""
    shape: str
    """Equal for occurrences of the same defect; findings are grouped by it."""
    clause: str | None = None


class ServerModel(Protocol):
    """A whole server as the documents describe it, which follows the requests and answers of every connection.

    The caller reports every event in order. Where the documents leave a choice, the model accepts each and continues
    from the answer. Its constructor takes the tolerance of times, and whether others use the server, too.
    """

    expects_answers: bool
    """Answers come in any order, and a request may have several or none.

    Then the model expects each of them from the instant of its request, as it does pushes: `due_message` returns what
    must come, `pushed` reports whatever came, and `answered` is not used. What one connection asked must be settled
    before another one asks.
    """
    settles_by_request: bool
    """What a step caused is known only once every connection has been answered a sync request: some of it may come to
    any of several connections."""

    def greeting(self, link: str = "") -> tuple[Request, ...]:
        """Return the first requests of a connection, by which the model can recognise it later."""

    def connect(self, connection: str, at: Window, port: int | None, link: str = "") -> None:
        """Report a new connection on a link; `port` is the client's, if there is one."""

    def disconnect(self, connection: str, at: Window) -> None:
        """Report that either side closed a connection."""

    def sent(self, connection: str, request: Request) -> None:
        """Report a request when it is written."""

    def passed(self, at: Window) -> None:
        """Report that time has passed."""

    def answered(self, connection: str, request: Request, reply: Message | None, at: Window) -> Disagreement | None:
        """Judge the reply to the oldest pending request of a connection; None if it is allowed.

        `reply` is None for a datagram that is not answered.
        """

    def ended(self, connection: str, request: Request | None, at: Window) -> Disagreement | None:
        """Judge that the server ended a connection; `request` is the oldest one there without a reply."""

    def must_end(self, connection: str, at: Window) -> Disagreement | None:
        """Return what is wrong with a connection that is still open; None if it may be."""

    def ends_when_half_closed(self, connection: str) -> bool:
        """Return whether the server must end a connection whose client has ended its side."""

    def half_closed(self, connection: str) -> None:
        """Report that a client has ended its side: only what it asked for must still come."""

    def pushed(self, connection: str, push: Message) -> None:
        """Report a push, with `expects_answers` any message; `unexpected` judges it."""

    def due_message(self, connection: str) -> str | None:
        """Return a description of the first push that must still arrive; None if there is none."""

    def due_clause(self, connection: str) -> str:
        """Return the clause that is broken if `due_message` does not come."""

    def unexpected(self, at: Window) -> Disagreement | None:
        """Judge the pushes once every request is answered: return one that nobody published to its connection."""

    def instants(self) -> list[int]:
        """Return the instants, in ns and ascending, at which something may change without a request."""


class NeverEnding:
    """What a model of a server says that ends no connection by itself, and whose clock moves no connection."""

    def passed(self, at: Window) -> None:
        """Note nothing."""

    def ended(self, connection: str, request: Request | None, at: Window) -> Disagreement | None:
        """Disagree: nothing allows the server to end a connection."""
        what = request.NAME if request is not None else "nothing"
        return Disagreement(f"{connection} is ended, with {what} unanswered", what)

    def must_end(self, connection: str, at: Window) -> Disagreement | None:
        """Return None: no connection must end."""
        return None

    def ends_when_half_closed(self, connection: str) -> bool:
        """Return True: who asks no more is answered and ended."""
        return True

    def half_closed(self, connection: str) -> None:
        """Note nothing: pushes come with what causes them."""


@runtime_checkable
class SharedModel(Protocol):
    """The model of a server of which others may have used names before, or where nothing outlives its connection."""

    def shares(self, is_ours: Callable[[bytes], bool]) -> None:
        """Report which names nobody else has ever used; what others may hold is judged once an answer has shown it."""

    def forgets(self, request: Request | None) -> bool:
        """Report that the answer to a request, or with None a push, was not what the model allows, which is known.

        What it is about may hold anything from now on. Return whether the rest can be judged.
        """


@runtime_checkable
class CarryingModel(Protocol):
    """The model of a server of which some requests carry others, and may be answered in any way."""

    def performed(self, request: Request, reply: Message | None) -> bool:
        """Return whether an answer shows that what a request carries was performed."""


@runtime_checkable
class LastingModel(Protocol):
    """The model of a server that keeps something over its end."""

    def must_be_kept(self) -> bool:
        """Return whether all that a server keeps must be kept by now, and nothing may be written later."""

    def restarted(self, at: Window) -> None:
        """Report that the server has ended and was started again on what it kept; every connection has ended."""

    def kept_shown_by(self) -> tuple[Request, ...]:
        """Return requests of one client whose answers show what the server must have kept."""

    def added_to_kept(self, link: str) -> tuple[Request, ...]:
        """Return requests of a client on `link` that add to what was kept: what a server counts goes on from there."""


@runtime_checkable
class CountingModel(Protocol):
    """The model of a server that reports how many bytes it read."""

    def carried(self, connection: str, number: int) -> None:
        """Report that the server was sent so many bytes; a caller that does not know reports none at all."""


@runtime_checkable
class LimitedModel(Protocol):
    """The model of a server whose connections can have so many subscriptions only."""

    def limited(self, subscriptions: int) -> None:
        """Report that a connection may have so many; more are refused. Without a report none has as many."""


class LinkedServers(Protocol):
    """Servers that are linked, beside others that are not: what a link must do, and must not."""

    configs: Mapping[str, str]
    """Which server -> the text of its file of `--config`."""
    done: list[str]
    """The turns that were made, in words."""

    def __init__(
        self, make: Callable[[str], Any], advance: Callable[[int], None], *, profile: str, variant: str
    ) -> None:
        """`make` returns a new server by its name in `configs`; `advance` lets ns pass for all of them."""

    def play(self, source: bytes) -> Disagreement | None:
        """Make the turns that bytes draw; return the first difference."""
