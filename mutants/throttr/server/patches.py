"""The patches that mutants are made of: on a request before it is handled, on the answer after, on the wire layout.

A change takes what it changes and an `Ask` (who asks, what, when, on which server) and returns what it becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ProfilePatch
from wireproof.protocols.fields import Kind
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr.replies import (
    ChannelsFragment,
    ChannelsReply,
    ConnectionsFragment,
    ConnectionsReply,
    ListFragment,
    ListReply,
    StatsFragment,
    StatsReply,
    Status,
)
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler, Handlers, State

__all__ = [
    "Ask",
    "Kinds",
    "both",
    "byte_order",
    "changed",
    "eating_a_byte",
    "field_kind",
    "held",
    "lead",
    "order",
    "showing",
    "swapped",
    "taking",
    "with_answer",
    "with_found",
    "with_handler",
    "with_reply",
    "with_request",
    "with_rows",
]  # fmt: skip

NO_LIMIT = 1 << 62
FRAGMENTS: Mapping[type[Message], type[Any]] = {
    ListReply: ListFragment,
    StatsReply: StatsFragment,
    ConnectionsReply: ConnectionsFragment,
    ChannelsReply: ChannelsFragment,
}
Kinds = type[Request] | Iterable[type[Request]]
changed = msgspec.structs.replace
"""`changed(message, field=value)`: the same message with other fields."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request in hand."""

    request: Any
    session: ThrottrSession
    now: int
    """Monotonic ns."""
    state: State


def with_handler(kinds: Kinds, make: Callable[[Handler, State], Handler]) -> HandlerPatch:
    """Handle requests of `kinds` by `make(correct handler, state)`; kinds the profile lacks are left out."""

    def patch(correct: Handlers, state: State) -> Handlers:
        chosen = [kinds] if isinstance(kinds, type) else kinds
        return {kind: make(correct[kind], state) for kind in chosen if kind in state.codec.profile.replies}

    return patch


def with_request(kinds: Kinds, change: Callable[[Any, Ask], Request]) -> HandlerPatch:
    """Handle `change(request, ask)` where `request` was asked."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            return correct(change(request, Ask(request, session, now, state)), session, now)

        return handle

    return with_handler(kinds, make)


def with_answer(kinds: Kinds, change: Callable[[bytes, Ask], bytes]) -> HandlerPatch:
    """Answer `change(bytes, ask)` where `bytes` would be right."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            return change(correct(request, session, now), Ask(request, session, now, state))

        return handle

    return with_handler(kinds, make)


def with_reply(kinds: Kinds, change: Callable[[Any, Ask], Message | bytes]) -> HandlerPatch:
    """Answer `change(reply, ask)`, a message or bytes, where `reply` would be right."""

    def on_bytes(answer: bytes, ask: Ask) -> bytes:
        codec = ask.state.codec
        context = FrameContext(NO_LIMIT, request=ask.request)
        reply, _ = codec.replies[type(ask.request)](answer, 0, len(answer), context)
        wrong = change(reply, ask)
        return wrong if isinstance(wrong, bytes) else codec.encode(wrong)

    return with_answer(kinds, on_bytes)


def with_found(kinds: Kinds, change: Callable[[Any, Ask], Message | bytes]) -> HandlerPatch:
    """As `with_reply`, for answers that are more than a status byte only."""
    return with_reply(kinds, lambda reply, ask: reply if isinstance(reply, Status) else change(reply, ask))


def taking(kinds: Kinds, **fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Take each field named for `change(its value, ask)`."""

    def change(request: Any, ask: Ask) -> Request:
        wrong = {name: make(getattr(request, name), ask) for name, make in fields.items()}
        return changed(request, **wrong)  # type: ignore[no-any-return]

    return with_request(kinds, change)


def showing(kinds: Kinds, **fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Answer, where something was found, each field named as `change(its value, ask)`."""

    def change(reply: Any, ask: Ask) -> Message:
        wrong = {name: make(getattr(reply, name), ask) for name, make in fields.items()}
        return changed(reply, **wrong)  # type: ignore[no-any-return]

    return with_found(kinds, change)


def held(ask: Ask) -> Record | None:
    """Return the live record under the key that is asked about."""
    return ask.state.store.find(ask.request.key, ask.now)


def eating_a_byte(kinds: Kinds, where: Callable[[bytes], bool] = bool) -> HandlerPatch:
    """Take the byte behind a request, where one has come already and the answer is `where`, for the request's end."""

    def change(answer: bytes, ask: Ask) -> bytes:
        if where(answer):
            ask.session._at += 1
        return answer

    return with_answer(kinds, change)


def both(*patches: HandlerPatch) -> HandlerPatch:
    """Apply each patch to what the ones before it left."""

    def patch(correct: Handlers, state: State) -> Handlers:
        handlers = correct
        for one in patches:
            handlers = {**handlers, **one(handlers, state)}
        return handlers

    return patch


def with_rows(
    kinds: Kinds, change: Callable[[list[Any], Ask], Iterable[Any]] | None = None, size: int = 0
) -> HandlerPatch:
    """Answer the rows `change(rows, ask)`, `size` a fragment (0: as many as in the first one of the right answer)."""

    def on_reply(reply: Any, ask: Ask) -> Message:
        rows = [row for fragment in reply.fragments for row in fragment.rows]
        number = size or max([len(fragment.rows) for fragment in reply.fragments[:1]], default=1)
        wrong = rows if change is None else list(change(rows, ask))
        starts = range(0, len(wrong), number)
        part = FRAGMENTS[type(reply)]
        parts = (part(place, tuple(wrong[at : at + number])) for place, at in enumerate(starts, 1))
        return type(reply)(tuple(parts))  # type: ignore[no-any-return]

    return with_reply(kinds, on_reply)


def lead(message: type[Message], *first: int) -> ProfilePatch:
    """Begin `message` with other bytes, or none; all but the first byte of a request may be anything."""
    return lambda profile: _derived(profile, leads={message: bytes(first)})


def field_kind(message: type[Message], name: str, kind: Kind) -> ProfilePatch:
    """Lay a field of `message` out as `kind`."""
    return lambda profile: _derived(profile, overrides={(message, name): kind})


def order(message: type[Message], *names: str) -> ProfilePatch:
    """Lay the fields of `message` out in another order."""
    return lambda profile: _derived(profile, orders={message: names})


def byte_order(code: str) -> ProfilePatch:
    """Write every number in the byte order `<` or `>`."""
    return lambda profile: _derived(profile, byte_order=code)


def _derived(profile: Profile, **changes: Any) -> Profile:
    return profile.derive(profile.name, **changes)


def swapped(value: int, size: int) -> int:
    """Return `value`, a number of `size` bytes, with its bytes in the opposite order."""
    return int.from_bytes(value.to_bytes(size, "little"), "big")
