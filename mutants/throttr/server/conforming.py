"""Conforming variants: what a server may do otherwise than the reference, where a clause is MAY or the document is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.edits import Edit, around, before, edit, first
from wireproof.mutants.server import HandlerPatch, Kinds, both, changed, instead, with_answer
from wireproof.mutants.throttr.server.connections import shown
from wireproof.mutants.throttr.server.info import info_with
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    FRAGMENTS,
    V710,
    V732,
    late,
    showing,
    with_reply,
    with_rows,
    written,
)
from wireproof.mutants.throttr.server.times import GIVEN
from wireproof.protocols.throttr import RequestType
from wireproof.protocols.throttr.requests import (
    Channel,
    Channels,
    Connections,
    Get,
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
from wireproof.reference_server.throttr.rules import RULES
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["CONFORMING"]

RECORDS = (List, Stats)
ALL = (List, Stats, Connections, Channels)


def _ordered(kinds: Kinds, key: Callable[[Any], Any]) -> HandlerPatch:
    return with_rows(kinds, lambda rows, ask: sorted(rows, key=key))


def _reversed(kinds: Kinds) -> HandlerPatch:
    return with_rows(kinds, lambda rows, ask: rows[::-1])


def _fragments(change: Callable[[Any, type[Any]], Any]) -> HandlerPatch:
    """Answer `change(fragments, their class)`."""
    return with_reply(
        ALL, lambda reply, ask: changed(reply, fragments=tuple(change(reply.fragments, FRAGMENTS[type(reply)])))
    )


def _numbered(number: int) -> HandlerPatch:
    """Count fragments from `number`."""
    return _fragments(lambda parts, kind: (changed(one, fragment=at) for at, one in enumerate(parts, number)))


def _index(index: str) -> Edit:
    """Let CONNECTION count otherwise; `ids` are those of all connections, the oldest first."""
    return first("ServerRequests.connection_by_index", "index, ids = request.index, [*self._state.sessions]",
                 f"request = ConnectionByIndex({index}) if index < len(ids) else request")  # fmt: skip


def _reading(rule: str, name: str, old: str, new: str) -> tuple[ServerMutant, ...]:
    """Return variants that read what the errata leave open the other way: 7.1.0 as `old` says, 7.3.2 as `new`."""
    return tuple(
        mutant(
            f"legal-{name}-{profile}",
            description,
            "",
            profiles=(profile,),
            rules={rule: not getattr(RULES[profile], rule)},
        )
        for profile, description in (("7.1.0", old), ("7.3.2", new))
    )


KEYED = (Insert, Query, Set, Get, Purge, Update, Stat)
NAMED = (Subscribe, Unsubscribe, Publish, Channel)
LATE = "record.due + 200_000_000"
NOTHING = dict.fromkeys(("read_bytes", "write_bytes", "published_bytes", "received_bytes"), lambda row, ask: 0)
NO_INFO = dict.fromkeys(
    ("total_read_bytes", "read_bytes_per_minute", "total_write_bytes", "write_bytes_per_minute",
     "allocated_bytes_on_counters", "allocated_bytes_on_buffers"), lambda reply, ask: 0)  # fmt: skip

CONFORMING: tuple[ServerMutant, ...] = (
    mutant("legal-list-newest-first", "LIST and STATS show the newest record first.", "", handlers=_reversed(RECORDS)),
    mutant("legal-list-by-key", "LIST and STATS are in the order of the keys.", "",
           handlers=_ordered(RECORDS, lambda row: row.key)),
    mutant("legal-list-by-length", "LIST and STATS show long keys first.", "",
           handlers=_ordered(RECORDS, lambda row: (-len(row.key), row.key[::-1]))),
    mutant("legal-channels-descending", "CHANNELS is in descending order of the names.", "",
           handlers=_reversed(Channels)),
    mutant("legal-connections-newest-first", "CONNECTIONS shows the newest first, and indexes count so.", "",
           _index("len(ids) - 1 - index"), handlers=_reversed(Connections)),
    mutant("legal-connections-by-id", "CONNECTIONS is in the order of the ids, and indexes count so.", "",
           _index("ids.index(sorted(ids)[index])"), handlers=_ordered(Connections, lambda row: row.id)),
    mutant("legal-channel-newest-first", "CHANNEL shows the newest subscription first.", "",
           handlers=showing(Channel, subscribers=lambda subscribers, ask: subscribers[::-1])),
    mutant("legal-one-row-a-fragment", "Every fragment has one row.", "", handlers=with_rows(ALL, size=1)),
    mutant("legal-seven-rows-a-fragment", "Every fragment but the last has seven rows.", "",
           handlers=with_rows(ALL, size=7)),
    mutant("legal-one-fragment", "All rows are in one fragment.", "", handlers=with_rows(ALL, size=1 << 30)),
    mutant("legal-one-empty-fragment", "Where there is nothing there is one empty fragment.", "",
           handlers=_fragments(lambda parts, kind: parts or (kind(1, ()),))),
    mutant("legal-fragments-from-0", "Fragments are counted from 0.", "", handlers=_numbered(0)),
    mutant("legal-fragments-from-100", "Fragments are counted from 100.", "", handlers=_numbered(100)),
    mutant("legal-written-byte-by-byte", "Every byte is written by itself.", "",
           written("for at in range(min(256, len(data))): write(data[at : at + 1])",
                   "if data[256:]: write(data[256:])")),
    mutant("legal-written-in-halves", "Everything is written in two pieces, 3 ms apart.", "", *late(3, 2)),
    mutant("legal-written-late", "Everything is written 5 ms late.", "", *late(5)),
    mutant("legal-written-together", "What is written within 20 ms is written together.", "",
           *late(20, taken="b''.join([due.pop(0) for _ in [*due]])")),
    mutant("legal-200-ms-an-answer", "The answers to each segment take 200 ms.", "", *late(200)),
    mutant("legal-pushes-late", "Pushes are written 20 ms later than they could.", "",
           around("ThrottrSession.flush", "late, clock = vars(self).setdefault('late', []), self._state.clock",
                  "late += self._pushes; self._pushes.clear()",
                  "def send():",
                  "    self._pushes[:0] = vars(self).pop('late'); self.is_armed = False",
                  "    self.closed or self.correct_flush()",
                  "if late and not (self.closed or vars(self).get('is_armed')):",
                  "    self.is_armed = True; clock.call_at(clock.monotonic_ns() + 20_000_000, send)")),
    mutant("legal-version-of-16-bytes", "VERSION fills its 16 bytes.", "",
           handlers=info_with(version=lambda reply, ask: b"1.22.333-beta.45")),
    mutant("legal-version-empty", "VERSION is empty.", "", handlers=info_with(version=lambda reply, ask: bytes(16))),
    mutant("legal-addresses-in-ipv6", "IP is shown as IPv6.", "",
           handlers=shown(ip=lambda row, ask: b"::ffff:127.0.0.1", ip_version=lambda row, ask: 6)),
    mutant("legal-addresses-as-bytes", "IP is four bytes and zero bytes.", "",
           handlers=shown(ip=lambda row, ask: bytes([127, 0, 0, 1, *bytes(12)]))),
    mutant("legal-instants-in-seconds", "CONNECTED AT, SUBSCRIBED_AT and RUNNING SINCE are in seconds.", "",
           edit("ChannelRequests.channel", "one.since", "one.since // 10**9"),
           edit("ServerRequests._row", "session.connected_at", "session.connected_at // 10**9"),
           edit("ServerRequests.info", "state.running_since", "state.running_since // 10**9")),
    mutant("legal-timestamp-in-milliseconds", "TIMESTAMP is in milliseconds.", "",
           edit("ServerRequests.info", "wall_ns() // 1_000_000_000", "wall_ns() // 1_000_000")),
    mutant("legal-time-points-in-seconds", "The time points of LIST are in seconds.", "",
           edit("Listings._list_rows", "record.ttl_type, time_point", "record.ttl_type, time_point // 10**9")),
    mutant("legal-no-traffic-counted", "No bytes are counted, in INFO and in connection rows.", "",
           handlers=both(info_with(**NO_INFO), shown(**NOTHING))),
    mutant("legal-memory-accounted-for", "ALLOCATED and CONSUMED BYTES are not 0.", "",
           handlers=shown(allocated_bytes=lambda row, ask: 8192, consumed_bytes=lambda row, ask: row.read_bytes)),
    mutant("legal-connections-uncounted", "CONNECTION and CONNECTIONS are not yet counted in the rows they show.", "",
           edit("ThrottrSession._answer_any", "self.fresh[data[at]] += 1",
                f"is_late = data[at] in {(int(RequestType.CONNECTIONS), int(RequestType.CONNECTION))}",
                "self.fresh[data[at]] += not is_late"),
           before("ThrottrSession._answer_any", "answers.append(answer)", "self.fresh[data[at]] += is_late")),
    mutant("legal-info-uncounted", "INFO is not yet counted in its own answer.", "",
           handlers=info_with(total_info=lambda reply, ask: reply.total_info - 1, total_requests=lambda reply, ask: reply.total_requests - 1)),
    mutant("legal-ttl-stands-still", "The TTL shown is the one asked for, not what is left.", "", *GIVEN, profiles=V710),
    mutant("legal-set-overwrites", "SET replaces a live buffer.", "", profiles=V710, rules={"set_overwrites": True}),
    mutant("legal-query-of-buffers-refused", "QUERY of a buffer is refused.", "", profiles=V732,
           rules={"query_finds_buffers": False}),
    mutant("legal-get-of-counters-refused", "GET of a counter is refused.", "", profiles=V732,
           rules={"get_finds_counters": False}),
    *_reading("increase_wraps", "increase", "An INCREASE beyond the width wraps.",
              "An INCREASE beyond the width is refused."),
    *_reading("unknown_change_ok", "unknown-change", "An unknown change is accepted.", "An unknown change is refused."),
    *_reading("deliver_to_publisher", "own-message", "A message is pushed to its publisher, too.",
              "A message is not pushed to its publisher."),
    *_reading("duplicate_subscriptions", "subscribed-twice", "Who subscribes twice receives twice.",
              "Who subscribes twice receives once."),
    mutant("legal-unsubscribe-ends-one", "Of several subscriptions to a channel UNSUBSCRIBE ends the latest.", "",
           first("ChannelRequests.unsubscribe", "name, held = request.channel, session.subscriptions.get(request.channel, [])",
                 "if len(held) > 1:",
                 "    del self._channels._channels[name][held.pop()]",
                 "    session.subscribed, self._channels.subscriptions = session.subscribed - 1, self._channels.subscriptions - 1",
                 "    return ACCEPTED"), profiles=V732),
    *_reading("totals_live", "totals", "STAT's totals move each minute.", "STAT's totals are live."),
    *_reading("channel_names_weigh", "channels-weigh", "Names do not weigh in a CHANNELS fragment.",
              "Names weigh in a CHANNELS fragment."),
    *_reading("channel_writes_counted", "channel-writes", "WRITE BYTES of channels are not counted.",
              "WRITE BYTES of channels are counted."),
    *_reading("bytes_of_closed_connections", "bytes-of-the-gone", "Bytes of closed connections are forgotten.",
              "Bytes of closed connections stay counted."),
    *_reading("bytes_per_minute", "bytes-per-minute", "No bytes per minute.", "Bytes per minute are counted."),
    mutant("legal-unknown-ttl-type-accepted", "TTL types out of the table are seconds.", "", profiles=V710,
           rules={"unknown_ttl_type": "seconds"}),
    mutant("legal-unknown-ttl-type-refused", "TTL types out of the table are refused.", "", profiles=V732,
           rules={"unknown_ttl_type": "refuse"}),
    mutant("legal-touches-are-reads", "UPDATE, STAT, LIST and STATS count as reads.", "", profiles=V710,
           rules={"reads_counted": "touches"}),
    mutant("legal-retrievals-are-reads", "Only QUERY and GET count as reads.", "", profiles=V732,
           rules={"reads_counted": "retrievals"}),
    mutant("legal-silent-after-nonsense", "After an unknown type the connection stays open, unheard.", "",
           profiles=V710, rules={"unknown_type": "silent"}),
    mutant("legal-closes-after-nonsense", "After an unknown type the connection is closed.", "", profiles=V732,
           rules={"unknown_type": "close"}),
    mutant("legal-one-00-after-nonsense", "After an unknown type one 00 is answered.", "",
           edit("ThrottrSession._answer_any", "self._break_off(error)",
                r"self._break_off(error); answers.append(b'\0')"), profiles=V732),
    mutant("legal-published-to-own-channels", "PUBLISHED BYTES counts what went to own channels.", "", profiles=V710,
           rules={"published_counted": "to own channels"}),
    mutant("legal-published-always", "PUBLISHED BYTES counts everything.", "", profiles=V732,
           rules={"published_counted": "always"}),
    mutant("legal-expiry-200-ms-late", "A record answers for 200 ms after it expired.", "",
           edit("Store.__init__", "Scheduler(clock, self.remove)",
                "Scheduler(clock, lambda record: clock.call_at(",
                f"    {LATE}, lambda: self.records.get(record.key) is record and {LATE} <= clock.monotonic_ns() and self.remove(record)))"),
           first("_handler.handle", "state, record = session._state, session._state.store.records.get(request.key)",
                 f"if request.NAME in ('QUERY', 'GET', 'STAT', 'PURGE') and record and 0 < record.due <= now < {LATE}:",
                 "    state.now = record.due - 1",
                 "    answer, state.now = call(*msgspec.structs.astuple(request)), now",
                 "    return answer")),
    mutant("legal-empty-names-refused", "Keys and channels of 0 bytes are refused.", "",
           handlers=both(instead(KEYED, DENIED, lambda ask: not ask.request.key), instead(NAMED, DENIED, lambda ask: not ask.request.channel))),
    mutant("legal-empty-values-refused", "Values and payloads of 0 bytes are refused.", "",
           handlers=both(instead(Set, DENIED, lambda ask: not ask.request.value), instead(Publish, DENIED, lambda ask: not ask.request.payload))),
    mutant("legal-maximum-refused", "The largest number of the width is refused.", "",
           first("RecordRequests.insert", "if self._max in (quota, ttl): return DENIED"),
           first("RecordRequests.set", "if ttl == self._max: return DENIED"),
           first("RecordRequests.update", "if value == self._max: return DENIED")),
    mutant("legal-zero-ttl-refused", "A TTL of 0 is refused by INSERT and SET.", "",
           handlers=instead((Insert, Set), DENIED, lambda ask: ask.request.ttl == 0)),
    mutant("legal-events-refused", "EVENT is always answered with 00.", "",
           first("ServerRequests.event", "return DENIED"), profiles=V732),
    mutant("legal-events-01-00", "EVENT that carries no request is answered with 01 and 00.", "",
           edit("ServerRequests.event", "DENIED if inner is None", "ACCEPTED + DENIED if inner is None"),
           profiles=V732),
    mutant("legal-frames-of-8096-bytes", "Requests of more than 8096 bytes end their connection.", "",
           edit("ThrottrSession.__init__", "state.limits.max_frame", "8096")),
    mutant("legal-unsubscribed-accepted", "UNSUBSCRIBE from a channel not held is answered with 01.", "",
           handlers=with_answer(Unsubscribe, lambda answer, ask: ACCEPTED)),
    mutant("legal-star-kept", "UNSUBSCRIBE of * is answered with 01, and leaves it.", "", profiles=V732,
           handlers=instead((Unsubscribe,), ACCEPTED, lambda ask: ask.request.channel == b"*")),
    mutant("legal-channel-empty", "CHANNEL of nobody is answered with 01 and no rows.", "",
           edit("ChannelRequests.channel", "return DENIED", "return ACCEPTED + bytes(8)"), profiles=V710),
)  # fmt: skip
