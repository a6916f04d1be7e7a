"""The sequential model of one Throttr key: which answers are allowed, and which states may follow them.

It is written from the documents and independently of the handlers, so that neither repeats a mistake of the other. It
allows everything where a clause is MAY: refusing the largest number of a width, a sum beyond it, types outside their
tables. It has no clock: a record within `SLACK_S` of its expiry may exist or not, and its TTL may be lower by as much.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.enums import NANOSECONDS_PER_UNIT, TTLType
from wireproof.protocols.throttr.replies import GetReply, QueryReply, Status
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Set, Stat, Update

__all__ = ["ThrottrModel"]

SLACK_S = 60
"""The longest history, in seconds."""
LONG_VALUE = 1024
"""Bytes of a value from which a server may refuse it because of its frame limit."""
UNITS: Mapping[int, int] = {int(kind): ns for kind, ns in NANOSECONDS_PER_UNIT.items()}
ATTRIBUTES, CHANGES = frozenset(Attribute), frozenset(Change)


class Due(NamedTuple):
    """The earliest and the latest instant of an expiry, in ns."""

    first: int
    last: int


class Record(NamedTuple):
    """A live record; None stands for an unknown value."""

    is_counter: bool
    content: int | bytes | None
    """The quota or the value."""
    ttl_type: int
    ttl: int | None
    """The amount that it was given, in the unit of its type."""
    due: Due | None = None
    """None if the model has no clock, or if the documents leave the expiry open."""


State = Record | None
States = tuple[State, ...]
ABSENT: State = None


@dataclass(frozen=True, slots=True)
class Open:
    """Choices that a profile leaves to servers; the defaults are the document's."""

    query_of_buffer: bool = False
    get_of_counter: bool = False
    set_on_buffer: bool = True
    """T19: a SET on a live buffer may be refused."""
    set_on_counter: bool = True


OPEN = {
    "7.1.0": Open(),
    "7.3.2": Open(query_of_buffer=True, get_of_counter=True, set_on_buffer=False, set_on_counter=False),
}


class ThrottrModel:
    """The model of one key (`wireproof.reference_server.model.Model`)."""

    initial: State = ABSENT

    def __init__(self, profile: Profile, variant: str) -> None:
        self._open = OPEN[profile.name]
        self._max = (1 << (8 * profile.variants[variant].sizes["value"])) - 1
        self._steps: Mapping[type[Request], Callable[[State, Any, Any], States]] = {
            Insert: self._insert,
            Query: self._query,
            Update: self._update,
            Purge: self._purge,
            Set: self._set,
            Get: self._get,
            Stat: self._stat,
        }

    def key(self, request: Request) -> bytes:
        """Return the key of a request. Raises ValueError if it is not about one record."""
        if type(request) not in self._steps:
            known = ", ".join(kind.NAME for kind in self._steps)
            raise ValueError(f"expected a request about one record ({known}), got {request.NAME}")
        return cast(bytes, request.key)  # type: ignore[attr-defined]

    def step(self, state: Hashable, request: Request, reply: Message | None) -> States:
        """Return the possible states after `request` was answered by `reply`; none if that is not allowed."""
        step = self._steps[type(request)]
        return tuple(dict.fromkeys(then for one in self.seen(cast(State, state)) for then in step(one, request, reply)))

    def seen(self, state: State) -> States:
        """Return the states that a request may find: also `ABSENT` if the record may have expired."""
        return (state, ABSENT) if _is_mortal(state) else (state,)

    def reads(self, request: Request, reply: Message | None) -> bool:
        """Return whether a request with this reply changes nothing."""
        return isinstance(request, Query | Get | Stat) or (isinstance(reply, Status) and not reply.ok)

    def expires_at_once(self, state: Hashable, request: Request) -> bool:
        """Return whether the request gives the record no time to live any more."""
        if isinstance(request, Insert | Set):
            return request.ttl == 0 and request.ttl_type in UNITS
        if not isinstance(state, Record) or not isinstance(request, Update) or request.attribute != Attribute.TTL:
            return False
        return request.change in CHANGES and self._moved(state, Change(request.change), request.value) is ABSENT

    def may_be_seen_again(self, state: Hashable, request: Request, reply: Message, within_ns: int) -> bool:
        """Return whether the reply can only mean that the record has expired, and it may have by then."""
        record = cast(State, state)
        if record is None or not (isinstance(reply, Status) and not reply.ok):
            return False
        is_due = record.ttl is None or record.ttl * UNITS[record.ttl_type] <= within_ns
        return is_due and not self._steps[type(request)](record, request, reply)

    def describe(self, state: Hashable) -> str:
        """Return a description of a state."""
        if not isinstance(state, Record):
            return "no record"
        kind = "counter" if state.is_counter else "buffer"
        content = state.content.hex() or "empty" if isinstance(state.content, bytes) else state.content
        unit = TTLType(state.ttl_type).name.lower() if state.ttl_type in UNITS else f"of type {state.ttl_type:#x}"
        return f"{kind} {'?' if content is None else content} ({'?' if state.ttl is None else state.ttl} {unit})"

    def _insert(self, state: State, request: Insert, reply: Status | None) -> States:
        if state is not None:
            return _refused(state, reply)
        made = self._made(True, request.quota, request.ttl_type, request.ttl)
        return _either(reply, made, (state,), may_refuse=request.quota == self._max or self._odd_ttl(request))

    def _set(self, state: State, request: Set, reply: Status | None) -> States:
        made = self._made(False, request.value, request.ttl_type, request.ttl)
        odd = not 0 < len(request.value) < min(self._max, LONG_VALUE) or self._odd_ttl(request)
        if state is None:
            return _either(reply, made, (state,), may_refuse=odd)
        if not state.is_counter:
            return _either(reply, made, (state,), may_refuse=odd or self._open.set_on_buffer)
        if self._open.set_on_counter:
            return _either(reply, (*made, state), (state,), may_refuse=True)
        return _refused(state, reply)

    def _odd_ttl(self, request: Insert | Set) -> bool:
        """Return whether the TTL, or an empty key (T31), may be refused."""
        return request.ttl_type not in UNITS or request.ttl in (0, self._max) or not request.key

    def _query(self, state: State, request: Query, reply: QueryReply | Status | None) -> States:
        if state is not None and not state.is_counter and self._open.query_of_buffer:
            return (state,)
        if state is None or not state.is_counter:
            return _refused(state, reply)
        return self._shown(state, None if reply is None else getattr(reply, "quota", None), reply)

    def _get(self, state: State, request: Get, reply: GetReply | Status | None) -> States:
        if state is not None and state.is_counter and self._open.get_of_counter:
            return (state,)
        if state is None or state.is_counter:
            return _refused(state, reply)
        return self._shown(state, None if reply is None else getattr(reply, "value", None), reply)

    def _shown(self, state: Record, content: int | bytes | None, reply: Message | None) -> States:
        """Return the state that a reply shows, if it can be this one."""
        if reply is None:
            return (state,)
        if not isinstance(reply, QueryReply | GetReply) or reply.ttl_type != state.ttl_type:
            return ()
        if state.content not in (None, content) or not self._may_read(state, reply.ttl):
            return ()
        return (state._replace(content=content),)

    def _may_read(self, state: Record, ttl: int) -> bool:
        if state.ttl is None or state.ttl > self._max:
            return True
        lost = -(-SLACK_S * 10**9 // UNITS[state.ttl_type]) + 1
        return state.ttl - lost <= ttl <= state.ttl

    def _stat(self, state: State, request: Stat, reply: Message | None) -> States:
        if state is None:
            return _refused(state, reply)
        return () if isinstance(reply, Status) else (state,)

    def _purge(self, state: State, request: Purge, reply: Status | None) -> States:
        return _refused(state, reply) if state is None else _either(reply, (ABSENT,), (state,))

    def _update(self, state: State, request: Update, reply: Status | None) -> States:
        if state is None:
            return _refused(state, reply)
        if request.attribute not in ATTRIBUTES:
            return _either(reply, (state, state._replace(content=None, ttl=None)), (state,), may_refuse=True)
        if request.attribute == Attribute.QUOTA and not state.is_counter:
            return _refused(state, reply)
        if request.change not in CHANGES:
            return _either(reply, (state,), (state,), may_refuse=True)
        if request.attribute == Attribute.QUOTA:
            return self._change_quota(state, Change(request.change), request.value, reply)
        then = self._moved(state, Change(request.change), request.value)
        odd = request.value == self._max or (request.change == Change.PATCH and request.value == 0)
        return _either(reply, (then,), (state,), may_refuse=odd)

    def _change_quota(self, state: Record, change: Change, value: int, reply: Status | None) -> States:
        held = state.content
        if change == Change.PATCH:
            return _either(reply, (state._replace(content=value),), (state,), may_refuse=value == self._max)
        if not isinstance(held, int):
            return _either(reply, (state,), (state,), may_refuse=True)
        quota = held + value if change == Change.INCREASE else held - value
        if quota < 0:
            return _refused(state, reply)
        content = quota if quota <= self._max else None
        return _either(reply, (state._replace(content=content),), (state,), may_refuse=quota >= self._max)

    def _made(self, is_counter: bool, content: int | bytes, ttl_type: int, ttl: int) -> States:
        """Return the states after a record was stored; with a TTL of 0 it is absent."""
        if ttl_type not in UNITS:
            return (Record(is_counter, content, ttl_type, None),)
        return (Record(is_counter, content, ttl_type, ttl) if ttl else ABSENT,)

    def _moved(self, state: Record, change: Change, value: int) -> State:
        """Return the state after the TTL was changed."""
        then = changed_ttl(state, change, value)
        return ABSENT if then.ttl is not None and then.ttl <= 0 else then


def changed_ttl(state: Record, change: Change, value: int) -> Record:
    """Return the record with a changed amount of TTL, which may be negative; None for unknown types."""
    if state.ttl_type not in UNITS:
        return state._replace(ttl=None)
    if change == Change.PATCH:
        return state._replace(ttl=value)
    if state.ttl is None:
        return state
    return state._replace(ttl=state.ttl + value if change == Change.INCREASE else state.ttl - value)


def _is_mortal(state: State) -> bool:
    """Return whether the record may expire during the history."""
    return state is not None and (state.ttl is None or state.ttl * UNITS[state.ttl_type] <= SLACK_S * 10**9)


def _refused(state: State, reply: Message | None) -> States:
    return (state,) if reply is None or (isinstance(reply, Status) and not reply.ok) else ()


def _either(reply: Message | None, done: Iterable[State], left: States, *, may_refuse: bool = False) -> States:
    """Return the states after 01, or after 00 if that is allowed."""
    if reply is None:
        return tuple(dict.fromkeys((*done, *left) if may_refuse else done))
    if not isinstance(reply, Status):
        return ()
    return tuple(done) if reply.ok else left if may_refuse else ()
