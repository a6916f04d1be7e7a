"""The patches of Throttr mutants beside those of all servers: on replies as messages, and edits that several share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wireproof.mutants.edits import Edit, after, around, edit, first
from wireproof.mutants.server import (
    Ask,
    HandlerPatch,
    Kinds,
    ProfilePatch,
    both,
    changed,
    derived,
    field_kind,
    instead,
    lead,
    order,
    taking,
    with_answer,
    with_handler,
    with_request,
)
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Request
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
from wireproof.protocols.throttr.requests import Insert, Set
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = [
    "ASKER",
    "BROAD",
    "GRAVES",
    "V710",
    "V732",
    "WIDE",
    "Ask",
    "HandlerPatch",
    "Kinds",
    "ProfilePatch",
    "both",
    "byte_order",
    "changed",
    "eating_a_byte",
    "eating_again",
    "field_kind",
    "instead",
    "late",
    "lead",
    "longer_after_many",
    "missing_as_before",
    "order",
    "showing",
    "stored_by_others",
    "swapped",
    "taking",
    "with_answer",
    "with_found",
    "with_handler",
    "with_reply",
    "with_request",
    "with_rows",
    "written",
]  # fmt: skip

NO_LIMIT = 1 << 62
V710, V732 = ("7.1.0",), ("7.3.2",)
WIDE, BROAD = ("uint16", "uint32", "uint64"), ("uint32", "uint64")
FRAGMENTS: Mapping[type[Message], type[Any]] = {
    ListReply: ListFragment,
    StatsReply: StatsFragment,
    ConnectionsReply: ConnectionsFragment,
    ChannelsReply: ChannelsFragment,
}
ASKER = first("_handler.handle", "call.__self__.asker = session")
"""`self.asker`, the connection that asks, for the handlers of requests about one record."""
GRAVES = (
    after("Store.__init__", "self.buffer_bytes = 0", "self.clock, self.graves = clock, {}"),
    first("Store.remove", "if record.due <= self.clock.monotonic_ns(): self.graves[record.key] = record"),
    after("Store.add", "self.records[record.key] = record", "self.graves.pop(record.key, None)"),
    edit("Store", "def purge_due(self", "def dead(self, key, now):",
         "    held = self.records.get(key)",
         "    return self.graves.get(key) if held is None else held if held.due <= now else None", "",
         "def buried(self, now):",
         "    return [*self.graves.values(), *(one for one in self.records.values() if one.due <= now)]", "",
         "def purge_due(self"),
)  # fmt: skip
"""A store that keeps what expired until its key is used again: `dead` under one key, and all that is `buried`."""


def written(*lines: str) -> Edit:
    """Let `lines` do the writing of a connection: with `data`, `write`, `state` and `self`."""
    return after(
        "ThrottrSession.__init__",
        "self._flows = True",
        "def written(data):",
        *(f"    {one}" for one in lines),
        "self._write = written",
    )


def late(ms: int, pieces: int = 1, taken: str = "due.pop(0)") -> tuple[Edit, ...]:
    """Write what is `taken` of the pieces that are due, and after all of them close: each after as many ms."""
    return (
        after("ThrottrSession.__init__", "self._flows = True",
              "self.due, self.ends, self.is_armed = (due := []), False, False",
              "def send():",
              f"    self.is_armed, _ = False, due and write({taken})",
              "    if self.ends and not due: self.ends = close()",
              "    arm()",
              "def arm():",
              "    if not self.is_armed and (due or self.ends):",
              f"        self.is_armed = state.clock.call_at(self._clock_ns() + {ms}_000_000, send) or True",
              "def later(data):",
              f"    size = -(-len(data) // {pieces}) or 1",
              "    due.extend(data[at : at + size] for at in range(0, len(data), size)); arm()",
              "self._write, self._close = later, arm"),
        first("ThrottrSession.end", "self.ends = not self.closed"),
        around("ThrottrSession.connection_lost", "self.correct_connection_lost(); self.ends or self.due.clear()"),
    )  # fmt: skip


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


def showing(kinds: Kinds, **fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Answer, where something was found, each field named as `change(its value, ask)`."""

    def change(reply: Any, ask: Ask) -> Message:
        wrong = {name: make(getattr(reply, name), ask) for name, make in fields.items()}
        return changed(reply, **wrong)  # type: ignore[no-any-return]

    return with_found(kinds, change)


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


def eating_a_byte(kinds: Kinds, where: Callable[[bytes], bool] = bool) -> HandlerPatch:
    """Take the byte after a request, where one has come already and the answer is `where`, for the request's end."""

    def change(answer: bytes, ask: Ask) -> bytes:
        ask.session._at += where(answer)
        return answer

    return with_answer(kinds, change)


def eating_again(kind: type[Request]) -> HandlerPatch:
    """Take the byte after a request for its own when one of its kind came before it in the same segment."""

    def change(answer: bytes, ask: Ask) -> bytes:
        session = ask.session
        session._at += vars(session).get("eaten") is session._data
        session.eaten = session._data
        return answer

    return with_answer(kind, change)


def stored_by_others(
    kinds: Kinds, answer: bytes, stores: Kinds = (Insert, Set), within: int = NO_LIMIT
) -> HandlerPatch:
    """Answer `answer` to requests about a record that another connection stored, within as many ns of that."""

    def stored(right: bytes, ask: Ask) -> bytes:
        if right == ACCEPTED:
            vars(ask.state).setdefault("stored", {})[ask.request.key] = ask.session, ask.now
        return right

    def of_another(ask: Ask) -> bool:
        owner, since = vars(ask.state).get("stored", {}).get(ask.request.key, (ask.session, 0))
        return owner is not ask.session and bool(ask.now - since < within)

    return both(with_answer(stores, stored), instead(kinds, answer, of_another))


def missing_as_before(correct: Handler, state: State) -> Handler:
    """Answer a miss as the hit whose request, of the same kind, came right before it."""

    def handle(request: Any, session: Any, now: int) -> bytes:
        answer = correct(request, session, now)
        data, at, hit = vars(session).pop("hit", (None, 0, b""))
        if answer != DENIED:
            session.hit = session._data, session._at, answer
        is_next = (data, at + 2 + len(request.key)) == (session._data, session._at)
        return bytes(hit) if answer == DENIED and is_next else answer

    return handle


def longer_after_many(correct: Handler, state: State) -> Handler:
    """Let a zero byte slip in after every tenth answer to what came in one segment."""

    def handle(request: Any, session: Any, now: int) -> bytes:
        data, number = vars(session).get("answered", (None, 0))
        session.answered = session._data, number + 1 if data is session._data else 1
        return correct(request, session, now) + bytes(session.answered[1] % 10 == 0)

    return handle


def byte_order(code: str) -> ProfilePatch:
    """Write every number in the byte order `<` or `>`."""
    return derived(byte_order=code)


def swapped(value: int, size: int) -> int:
    """Return `value`, a number of `size` bytes, with its bytes in the opposite order."""
    return int.from_bytes(value.to_bytes(size, "little"), "big")
