"""The patches that mutants are made of beside edits: on a request before it is handled, on the answer after, on what all share.

A change takes what it changes and an `Ask` (who asks, what, when, on which server) and returns what it becomes; it may
raise `RefusedError`: then the stream is closed, the datagram dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from wireproof.mutants.edits import Edit, first
from wireproof.mutants.psrt.server.mutant import HandlerPatch, ProfilePatch
from wireproof.protocols.fields import Kind
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.psrt.replies import PushedMessage
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.state import Answer, Handler, Handlers, RefusedError, State

__all__ = [
    "Ask",
    "Kinds",
    "both",
    "changed",
    "client_of",
    "counted",
    "encoded",
    "field_kind",
    "instead_of_closing",
    "lead",
    "order",
    "pushing",
    "refusing",
    "saying",
    "taking",
    "with_answer",
    "with_handler",
    "with_request",
]

Kinds = type[Request] | Iterable[type[Request]]
changed = msgspec.structs.replace
"""`changed(message, field=value)`: the same message with other fields."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request in hand."""

    request: Any
    session: Any
    """The session, or the sender of a datagram."""
    now: int
    """Monotonic ns."""
    state: State


def with_handler(kinds: Kinds, make: Callable[[Handler, State], Handler]) -> HandlerPatch:
    """Handle requests of `kinds` by `make(correct handler, state)`."""

    def patch(correct: Handlers, state: State) -> Handlers:
        chosen = [kinds] if isinstance(kinds, type) else kinds
        return {kind: make(correct[kind], state) for kind in chosen}

    return patch


def with_request(kinds: Kinds, change: Callable[[Any, Ask], Request]) -> HandlerPatch:
    """Handle `change(request, ask)` where `request` was asked."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: Any, now: int) -> Answer:
            return correct(change(request, Ask(request, session, now, state)), session, now)

        return handle

    return with_handler(kinds, make)


def taking(kinds: Kinds, **fields: Callable[[Any], Any]) -> HandlerPatch:
    """Take each field named for `change(its value)`."""
    return with_request(
        kinds,
        lambda request, ask: changed(request, **{name: make(getattr(request, name)) for name, make in fields.items()}),
    )


def with_answer(kinds: Kinds, change: Callable[[Answer, Ask], Answer]) -> HandlerPatch:
    """Answer `change(answer, ask)` where `answer` would be right."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: Any, now: int) -> Answer:
            return change(correct(request, session, now), Ask(request, session, now, state))

        return handle

    return with_handler(kinds, make)


def saying(kinds: Kinds, data: bytes) -> HandlerPatch:
    """Answer `data` whatever would be right, unless closing would be."""
    return with_answer(kinds, lambda answer, ask: data)


def instead_of_closing(kinds: Kinds, change: Callable[[Ask], Answer]) -> HandlerPatch:
    """Answer `change(ask)` where a correct server closes, or drops the datagram."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: Any, now: int) -> Answer:
            try:
                return correct(request, session, now)
            except RefusedError:
                return change(Ask(request, session, now, state))

        return handle

    return with_handler(kinds, make)


def refusing(kinds: Kinds, where: Answer) -> HandlerPatch:
    """Close, or drop the datagram, where the answer `where` would be right."""

    def change(answer: Answer, ask: Ask) -> Answer:
        """Raises `RefusedError` as the right handler does."""
        if answer == where:
            raise RefusedError("what a correct server answers")
        return answer

    return with_answer(kinds, change)


def both(*patches: HandlerPatch) -> HandlerPatch:
    """Apply each patch to what the ones before it left."""

    def patch(correct: Handlers, state: State) -> Handlers:
        handlers = correct
        for one in patches:
            handlers = {**handlers, **one(handlers, state)}
        return {kind: one for kind, one in handlers.items() if one is not correct[kind]}

    return patch


def encoded(answer: Answer, ask: Ask) -> bytes:
    """Return the bytes of an answer."""
    return answer if isinstance(answer, bytes) else ask.state.codec.encode(answer)


def client_of(ask: Ask) -> Client:
    """Return who asks on a control socket."""
    client: Client = ask.session.client
    return client


def pushing(change: Callable[[PushedMessage, State], PushedMessage | bytes | None]) -> type[State]:
    """Push `change(message, state)` to those who are to get a message: another one, bytes, or nothing."""

    class Pushing(State):
        """Hands other messages on."""

        def publish(self, topic: str, priority: int, message: bytes) -> None:
            """See `State`."""
            wrong = change(PushedMessage(priority, topic.encode(), message), self)
            if wrong is not None:
                frame = wrong if isinstance(wrong, bytes) else self.codec.encode(wrong)
                for client in self.subscriptions.match(topic):
                    client.deliver(frame)

    return Pushing


def counted(size: str, *names: str) -> Edit:
    """Read the LEN of the requests of these names, the last of their fixed parts, as `size`, an expression of LEN."""
    return first(
        "PsrtServer._decode_next",
        "kind = self._expected(data, at); stop = at + self.codec.layout(kind).fixed_size",
        f"if end >= stop and kind.NAME in {names}:",
        "    LEN = int.from_bytes(data[stop - 4 : stop], 'little')",
        f"    data = data[: stop - 4] + min({size}, 0xFFFFFFFF).to_bytes(4, 'little') + data[stop:]",
    )


def lead(message: type[Message], *first: int) -> ProfilePatch:
    """Begin `message` with other bytes, or none."""
    return lambda profile: _derived(profile, leads={message: bytes(first)})


def field_kind(message: type[Message], name: str, kind: Kind) -> ProfilePatch:
    """Lay a field of `message` out as `kind`."""
    return lambda profile: _derived(profile, overrides={(message, name): kind})


def order(message: type[Message], *names: str) -> ProfilePatch:
    """Lay the fields of `message` out in another order."""
    return lambda profile: _derived(profile, orders={message: names})


def _derived(profile: Profile, **changes: Any) -> Profile:
    return profile.derive(profile.name, **changes)
