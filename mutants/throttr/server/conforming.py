"""Conforming variants: what a server may do otherwise than the reference, where a clause is MAY or the document leaves it open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wireproof.mutants.throttr.server.connections import shown
from wireproof.mutants.throttr.server.fairness import (
    HalvedSession,
    LatePushSession,
    LateSession,
    SlowSession,
    SplitSession,
    TogetherSession,
)
from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    FRAGMENTS,
    Ask,
    both,
    changed,
    with_answer,
    with_found,
    with_handler,
    with_reply,
    with_request,
    with_rows,
)
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.replies import ChannelReply
from wireproof.protocols.throttr.requests import (
    Channel,
    Channels,
    ConnectionByIndex,
    Connections,
    Event,
    Get,
    Info,
    Insert,
    List,
    Publish,
    Purge,
    Query,
    Set,
    Stat,
    Stats,
    Subscribe,
    Unsubscribe,
    Update,
)
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.rules import RULES
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, Handlers, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["CONFORMING"]

TABLES = (List, Stats, Connections, Channels)
RECORDS = (List, Stats)
V710, V732 = ("7.1.0",), ("7.3.2",)
Kinds = type[Request] | tuple[type[Request], ...]


def _ordered(kinds: Kinds, key: Callable[[Any], Any]) -> HandlerPatch:
    return with_rows(kinds, lambda rows, ask: sorted(rows, key=key))


def _reversed(kinds: Kinds) -> HandlerPatch:
    return with_rows(kinds, lambda rows, ask: rows[::-1])


def _numbered(kinds: Kinds, first: int) -> HandlerPatch:
    """Count fragments from `first`."""
    return with_reply(
        kinds,
        lambda reply, ask: changed(
            reply, fragments=tuple(changed(one, fragment=place) for place, one in enumerate(reply.fragments, first))
        ),
    )


def _one_empty(reply: Any, ask: Ask) -> Any:
    """Answer one empty fragment where there is nothing."""
    return reply if reply.fragments else type(reply)((FRAGMENTS[type(reply)](1, ()),))


def _turned_index(request: ConnectionByIndex, ask: Ask) -> Any:
    last = len(ask.state.sessions) - 1
    return changed(request, index=last - request.index) if request.index <= last else request


def _sorted_index(request: ConnectionByIndex, ask: Ask) -> Any:
    ids = list(ask.state.sessions)
    return changed(request, index=ids.index(sorted(ids)[request.index])) if request.index < len(ids) else request


def _info(**fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    return with_reply(
        Info, lambda reply, ask: changed(reply, **{name: make(reply, ask) for name, make in fields.items()})
    )


def _none(shown_by: Any, ask: Ask) -> int:
    return 0


def _version(text: bytes) -> HandlerPatch:
    return _info(version=lambda reply, ask: text.ljust(16, b"\0"))


def _subscribed(change: Callable[[int], int]) -> HandlerPatch:
    """Show other SUBSCRIBED_ATs."""
    return with_found(
        Channel,
        lambda reply, ask: changed(
            reply, subscribers=tuple(changed(one, subscribed_at=change(one.subscribed_at)) for one in reply.subscribers)
        ),
    )


def _as_asked(reply: Any, ask: Ask) -> Any:
    """Show the TTL as it was asked for, not what is left of it."""
    given = ask.state.shown_ttls.get(ask.request.key) if isinstance(ask.state, _RemembersTTL) else None
    return reply if given is None else changed(reply, ttl=given)


class _RemembersTTL(State):
    """Knows which TTL each record was last given."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.shown_ttls: dict[bytes, int] = {}


def _remember_ttl(answer: bytes, ask: Ask) -> bytes:
    if answer == ACCEPTED and isinstance(ask.state, _RemembersTTL):
        ask.state.shown_ttls[ask.request.key] = ask.request.ttl
    return answer


def _forget_ttl(answer: bytes, ask: Ask) -> bytes:
    if isinstance(ask.state, _RemembersTTL):
        ask.state.shown_ttls.pop(ask.request.key, None)
    return answer


def _uncounted(correct: Handlers, state: State) -> Handlers:
    """Show the asking connection's row without the request in hand; one that an EVENT carries is never in it."""
    carried: list[Request] = []

    def total(name: str) -> Callable[[Any, Ask], int]:
        def show(row: Any, ask: Ask) -> int:
            own = row.id == ask.session.id and name.startswith(ask.request.NAME.lower() + "_")
            return int(getattr(row, name) - (own and not carried))

        return show

    def carrying(handler: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            carried.append(request)
            try:
                return handler(request, session, now)
            finally:
                carried.pop()

        return handle

    names = ("connections_requests", "connection_requests")
    return both(shown(**{name: total(name) for name in names}), with_handler(Event, carrying))(correct, state)


# fmt: off
_ORDER = (
    mutant("legal-list-newest-first", "LIST and STATS show the newest record first.", handlers=_reversed(RECORDS)),
    mutant("legal-list-by-key", "LIST and STATS are in the order of the keys.", handlers=_ordered(RECORDS, lambda row: row.key)),
    mutant("legal-list-by-length", "LIST and STATS show long keys first.", handlers=_ordered(RECORDS, lambda row: (-len(row.key), row.key[::-1]))),
    mutant("legal-channels-descending", "CHANNELS is in descending order of the names.", handlers=_reversed(Channels)),
    mutant("legal-connections-newest-first", "CONNECTIONS shows the newest first, and indexes count so.",
           handlers=both(_reversed(Connections), with_request(ConnectionByIndex, _turned_index))),
    mutant("legal-connections-by-id", "CONNECTIONS is in the order of the ids, and indexes count so.",
           handlers=both(_ordered(Connections, lambda row: row.id), with_request(ConnectionByIndex, _sorted_index))),
    mutant("legal-channel-newest-first", "CHANNEL shows the newest subscription first.",
           handlers=with_found(Channel, lambda reply, ask: changed(reply, subscribers=reply.subscribers[::-1]))),
)
_FRAGMENTS = (
    mutant("legal-one-row-a-fragment", "Every fragment has one row.", handlers=with_rows(TABLES, size=1)),
    mutant("legal-seven-rows-a-fragment", "Every fragment but the last has seven rows.", handlers=with_rows(TABLES, size=7)),
    mutant("legal-one-fragment", "All rows are in one fragment.", handlers=with_rows(TABLES, size=1 << 30)),
    mutant("legal-one-empty-fragment", "Where there is nothing there is one empty fragment.", handlers=with_reply(TABLES, _one_empty)),
    mutant("legal-fragments-from-0", "Fragments are counted from 0.", handlers=_numbered(TABLES, 0)),
    mutant("legal-fragments-from-100", "Fragments are counted from 100.", handlers=_numbered(TABLES, 100)),
)
_PACE = (
    mutant("legal-written-byte-by-byte", "Every byte is written by itself.", session=SplitSession),
    mutant("legal-written-in-halves", "Everything is written in two pieces, 3 ms apart.", session=HalvedSession),
    mutant("legal-written-late", "Everything is written 5 ms late.", session=LateSession),
    mutant("legal-written-together", "What is written within 20 ms is written together.", session=TogetherSession),
    mutant("legal-200-ms-an-answer", "The answers to each segment take 200 ms.", session=SlowSession),
    mutant("legal-pushes-late", "Pushes are written 20 ms later than they could.", session=LatePushSession),
)
_SHOWN = (
    mutant("legal-version-of-16-bytes", "VERSION fills its 16 bytes.", handlers=_version(b"1.22.333-beta.45")),
    mutant("legal-version-empty", "VERSION is empty.", handlers=_version(b"")),
    mutant("legal-addresses-in-ipv6", "IP is shown as IPv6.", handlers=shown(ip=lambda row, ask: b"::ffff:127.0.0.1", ip_version=lambda row, ask: 6)),
    mutant("legal-addresses-as-bytes", "IP is four bytes and zero bytes.", handlers=shown(ip=lambda row, ask: bytes([127, 0, 0, 1, *bytes(12)]))),
    mutant("legal-instants-in-seconds", "CONNECTED AT, SUBSCRIBED_AT and RUNNING SINCE are in seconds.",
           handlers=both(shown(connected_at=lambda row, ask: row.connected_at // 10 ** 9), _subscribed(lambda at: at // 10 ** 9), _info(running_since=lambda reply, ask: reply.running_since // 10 ** 9))),
    mutant("legal-timestamp-in-milliseconds", "TIMESTAMP is in milliseconds.",
           handlers=_info(timestamp=lambda reply, ask: ask.state.clock.wall_ns() // 10**6)),
    mutant("legal-time-points-in-seconds", "The time points of LIST are in seconds.",
           handlers=with_rows(List, lambda rows, ask: [changed(row, time_point=row.time_point // 10 ** 9) for row in rows])),
    mutant("legal-no-traffic-counted", "No bytes are counted, in INFO and in connection rows.",
           handlers=both(_info(**dict.fromkeys(("total_read_bytes", "read_bytes_per_minute", "total_write_bytes", "write_bytes_per_minute", "allocated_bytes_on_counters", "allocated_bytes_on_buffers"), _none)), shown(**dict.fromkeys(("read_bytes", "write_bytes", "published_bytes", "received_bytes"), _none)))),
    mutant("legal-memory-accounted-for", "ALLOCATED and CONSUMED BYTES are not 0.",
           handlers=shown(allocated_bytes=lambda row, ask: 8192, consumed_bytes=lambda row, ask: row.read_bytes)),
    mutant("legal-connections-uncounted", "CONNECTION and CONNECTIONS are not yet counted in the rows they show.", handlers=_uncounted),
    mutant("legal-info-uncounted", "INFO is not yet counted in its own answer.",
           handlers=_info(total_info=lambda reply, ask: reply.total_info - 1, total_requests=lambda reply, ask: reply.total_requests - 1)),
    mutant("legal-ttl-stands-still", "The TTL shown is the one asked for, not what is left.", profiles=V710, state=_RemembersTTL,
           handlers=both(with_answer((Insert, Set), _remember_ttl), with_answer((Update, Purge), _forget_ttl), with_found((Query, Get), _as_asked))),
)
# fmt: on
CONFORMING_MUTANTS: tuple[ServerMutant, ...] = _ORDER + _FRAGMENTS + _PACE + _SHOWN


LATE_NS = 200_000_000


def _refusing(kinds: Kinds, where: Callable[[Any, State], bool], answer: bytes = DENIED) -> HandlerPatch:
    """Answer `answer` instead, where a request is so."""

    def make(correct: Handler, state: State) -> Handler:
        return lambda request, session, now: answer if where(request, state) else correct(request, session, now)

    return with_handler(kinds, make)


def _empty_when_nobody(answer: bytes, ask: Ask) -> bytes:
    return ask.state.codec.encode(ChannelReply(())) if answer == DENIED else answer


class _SmallFrames(State):
    """Takes requests of up to 8096 bytes."""

    def __init__(self, profile: Any, variant: str, clock: Any, ids: Any, limits: Any, rules: Any = None) -> None:
        super().__init__(profile, variant, clock, ids, replace(limits, max_frame=8096), rules)


class _OneRefusal(ThrottrSession):
    """Answers one 00 to what it cannot frame, then closes."""

    def _answer_any(self, answers: list[bytes]) -> int:
        size = super()._answer_any(answers)
        if self._deaf or self._ended:
            answers.append(DENIED)
        return size


class _LateStore(Store):
    """Lets go of a record 200 ms after it expired."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._clock = clock

    def add(self, record: Record, due: int) -> None:
        held = self.records.get(record.key)
        if held is not None:
            super().remove(held)
        super().add(record, due)

    def remove(self, record: Record) -> None:
        if record.due > self._clock.monotonic_ns():
            super().remove(record)
        else:
            self._clock.call_at(record.due + LATE_NS, lambda: self._let_go(record))

    def _let_go(self, record: Record) -> None:
        if self.records.get(record.key) is record and record.due + LATE_NS <= self._clock.monotonic_ns():
            super().remove(record)


class _LateState(State):
    """Keeps its records in such a store."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.store = _LateStore(self.clock)


def _before_its_end(correct: Handler, state: State) -> Handler:
    """Handle a request about a record that has expired just now as if it had not yet."""

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        record = state.store.records.get(request.key)
        if record is None or not record.due <= now < record.due + LATE_NS:
            return correct(request, session, now)
        state.now = record.due - 1
        answer = correct(request, session, state.now)
        state.now = now
        return answer

    return handle


# fmt: off
_OPEN = (
    mutant("legal-set-overwrites", "SET replaces a live buffer.", profiles=V710, rules={"set_overwrites": True}),
    mutant("legal-query-of-buffers-refused", "QUERY of a buffer is refused.", profiles=V732, rules={"query_finds_buffers": False}),
    mutant("legal-get-of-counters-refused", "GET of a counter is refused.", profiles=V732, rules={"get_finds_counters": False}),
    *(
        mutant(f"legal-{name}-{profile}", description, profiles=(profile,), rules={rule: value})
        for rule, name, readings in (
            ("increase_wraps", "increase", (
                "An INCREASE beyond the width wraps.", "An INCREASE beyond the width is refused.")),
            ("unknown_change_ok", "unknown-change", (
                "An unknown change is accepted.", "An unknown change is refused.")),
            ("deliver_to_publisher", "own-message", (
                "A message is pushed to its publisher, too.", "A message is not pushed to its publisher.")),
            ("duplicate_subscriptions", "subscribed-twice", (
                "Who subscribes twice receives twice.", "Who subscribes twice receives once.")),
            ("totals_live", "totals", ("STAT's totals move each minute.", "STAT's totals are live.")),
            ("channel_names_weigh", "channels-weigh", (
                "Names do not weigh in a CHANNELS fragment.", "Names weigh in a CHANNELS fragment.")),
            ("channel_writes_counted", "channel-writes", (
                "WRITE BYTES of channels are not counted.", "WRITE BYTES of channels are counted.")),
            ("bytes_of_closed_connections", "bytes-of-the-gone", (
                "Bytes of closed connections are forgotten.", "Bytes of closed connections stay counted.")),
            ("bytes_per_minute", "bytes-per-minute", ("No bytes per minute.", "Bytes per minute are counted.")),
        )
        for profile, description, value in (
            ("7.1.0", readings[0], not getattr(RULES["7.1.0"], rule)),
            ("7.3.2", readings[1], not getattr(RULES["7.3.2"], rule)),
        )
    ),
    mutant("legal-unknown-ttl-type-accepted", "TTL types out of the table are seconds.", profiles=V710, rules={"unknown_ttl_type": "seconds"}),
    mutant("legal-unknown-ttl-type-refused", "TTL types out of the table are refused.", profiles=V732, rules={"unknown_ttl_type": "refuse"}),
    mutant("legal-touches-are-reads", "UPDATE, STAT, LIST and STATS count as reads.", profiles=V710, rules={"reads_counted": "touches"}),
    mutant("legal-retrievals-are-reads", "Only QUERY and GET count as reads.", profiles=V732, rules={"reads_counted": "retrievals"}),
    mutant("legal-silent-after-nonsense", "After an unknown type the connection stays open, unheard.", profiles=V710,
           rules={"unknown_type": "silent"}),
    mutant("legal-closes-after-nonsense", "After an unknown type the connection is closed.", profiles=V732, rules={"unknown_type": "close"}),
    mutant("legal-one-00-after-nonsense", "After an unknown type one 00 is answered.", profiles=V732, session=_OneRefusal),
    mutant("legal-published-to-own-channels", "PUBLISHED BYTES counts what went to own channels.", profiles=V710,
           rules={"published_counted": "to own channels"}),
    mutant("legal-published-always", "PUBLISHED BYTES counts everything.", profiles=V732, rules={"published_counted": "always"}),
)
_REFUSED = (
    mutant("legal-expiry-200-ms-late", "A record answers for 200 ms after it expired.", state=_LateState,
           handlers=with_handler((Query, Get, Stat, Purge), _before_its_end)),
    mutant("legal-empty-names-refused", "Keys and channels of 0 bytes are refused.",
           handlers=both(_refusing((Insert, Query, Set, Get, Purge, Update, Stat), lambda request, state: not request.key), _refusing((Subscribe, Unsubscribe, Publish, Channel), lambda request, state: not request.channel))),
    mutant("legal-empty-values-refused", "Values and payloads of 0 bytes are refused.",
           handlers=both(_refusing(Set, lambda request, state: not request.value), _refusing(Publish, lambda request, state: not request.payload))),
    mutant("legal-maximum-refused", "The largest number of the width is refused.",
           handlers=both(_refusing(Insert, lambda request, state: state.value_max in (request.quota, request.ttl)), _refusing(Set, lambda request, state: request.ttl == state.value_max), _refusing(Update, lambda request, state: request.value == state.value_max))),
    mutant("legal-zero-ttl-refused", "A TTL of 0 is refused by INSERT and SET.",
           handlers=_refusing((Insert, Set), lambda request, state: request.ttl == 0)),
    mutant("legal-events-refused", "EVENT is always answered with 00.", profiles=V732, handlers=_refusing(Event, lambda request, state: True)),
    mutant("legal-frames-of-8096-bytes", "Requests of more than 8096 bytes end their connection.", state=_SmallFrames),
    mutant("legal-unsubscribed-accepted", "UNSUBSCRIBE from a channel not held is answered with 01.",
           handlers=with_answer(Unsubscribe, lambda answer, ask: ACCEPTED)),
    mutant("legal-channel-empty", "CHANNEL of nobody is answered with 01 and no rows.", profiles=V710,
           handlers=with_answer(Channel, _empty_when_nobody)),
)
# fmt: on
READINGS_MUTANTS: tuple[ServerMutant, ...] = _OPEN + _REFUSED


CONFORMING = (
    *CONFORMING_MUTANTS,
    *READINGS_MUTANTS,
)
