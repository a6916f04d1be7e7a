"""The patches of PSRT mutants beside edits: on a request before it is handled, on the answer after, on what all share.

A change may raise `RefusedError`: then the stream is closed, the datagram dropped.
"""

from __future__ import annotations

from collections.abc import Callable

from wireproof.mutants.edits import Edit, first
from wireproof.mutants.server import (
    Ask,
    HandlerPatch,
    Kinds,
    both,
    changed,
    field_kind,
    lead,
    order,
    taking,
    with_answer,
    with_handler,
    with_request,
)
from wireproof.protocols.psrt.replies import PushedMessage
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.state import Answer, Handler, RefusedError, State

__all__ = [
    "Ask",
    "HandlerPatch",
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


def saying(kinds: Kinds, data: bytes) -> HandlerPatch:
    """Answer `data` whatever would be right, unless closing would be."""
    return with_answer(kinds, lambda answer, ask: data)


def instead_of_closing(kinds: Kinds, change: Callable[[Ask], Answer]) -> HandlerPatch:
    """Answer `change(ask)` where a correct server closes, or drops the datagram."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: object, session: object, now: int) -> Answer:
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
