"""The patches that faults are made of: on a request before it is handled, on the answer after, on what all share.

A change takes what it changes and an `Ask` (who asks, what, when, on which server) and returns what it becomes; it may
raise `RefusedError`: then the stream is closed, the datagram dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from wireproof.mutants.psrt.server.mutant import HandlerPatch, ProfilePatch
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import Kind
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.psrt import ControlServer
from wireproof.protocols.psrt.replies import PushedMessage
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.datagram_requests import DatagramRequests
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import Answer, Handler, Handlers, RefusedError, State

__all__ = [
    "Ask",
    "Kinds",
    "both",
    "changed",
    "client_of",
    "datagrams",
    "decoding",
    "encoded",
    "field_kind",
    "instead_of_closing",
    "lead",
    "miscounted",
    "order",
    "pushing",
    "refusing",
    "saying",
    "swapped",
    "taking",
    "with_answer",
    "with_handler",
    "with_request",
]

Kinds = type[Request] | Iterable[type[Request]]
Decoded = tuple[Message | None, int]
LEN, LARGEST = 4, 0xFFFFFFFF
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


def datagrams(kind: type[DatagramRequests]) -> HandlerPatch:
    """Handle datagrams by another class."""
    return lambda correct, state: kind(state).handlers()


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


def decoding(
    wrong: Callable[[ControlServer, MalformedFrameError, bytes], tuple[Message, int] | None],
) -> type[PsrtSession]:
    """Read what `wrong(connection, error, what is there)` makes of bytes that cannot be read: a message and its size.

    None leaves the error as it is.
    """

    class Lenient(ControlServer):
        """Reads what cannot be read."""

        def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> Decoded:
            try:
                return super()._decode_next(data, at, end, context)
            except MalformedFrameError as error:
                found = wrong(self, error, data[at:end])
                if found is None:
                    raise
                return found[0], at + found[1]

    return _session(Lenient)


def miscounted(kinds: Kinds, extra: Callable[[int], int]) -> type[PsrtSession]:
    """Take the LEN of `kinds`, the last of their fixed parts, for `extra(LEN)`."""
    wrong = frozenset([kinds] if isinstance(kinds, type) else kinds)

    class Miscounting(ControlServer):
        """Reads another size."""

        def _decode_next(self, data: bytes, at: int, end: int, context: FrameContext) -> Decoded:
            kind = self._expected(data, at)
            if kind not in wrong:
                return super()._decode_next(data, at, end, context)
            frame, stop = bytearray(data[at:end]), self.codec.layout(kind).fixed_size
            if len(frame) >= stop:
                size = extra(int.from_bytes(frame[stop - LEN : stop], "little"))
                frame[stop - LEN : stop] = min(max(size, 0), LARGEST).to_bytes(LEN, "little")
            message, size = super()._decode_next(bytes(frame), 0, len(frame), context)
            return (message, at + size) if message is not None else (None, size)

    return _session(Miscounting)


def _session(kind: type[ControlServer]) -> type[PsrtSession]:
    return type("Session", (PsrtSession,), {"control_type": kind})


def swapped(value: int) -> int:
    """Return a LEN with its bytes in the opposite order."""
    return int.from_bytes(value.to_bytes(LEN, "little"), "big")


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
