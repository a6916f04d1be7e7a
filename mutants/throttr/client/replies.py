"""Mutants in what an SDK makes of an answer: numbers, bytes, refusals, rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.edits import first
from wireproof.mutants.throttr.client.mutant import changed, changing, mutant, numbers, texts
from wireproof.protocols.messages import Reply, Request
from wireproof.protocols.throttr.replies import (
    ChannelReply,
    ChannelsReply,
    ConnectionRow,
    ConnectionsReply,
    GetReply,
    InfoReply,
    ListReply,
    QueryReply,
    StatsReply,
    Status,
)

__all__ = ["MUTANTS"]


def _of(kind: type[Reply] | tuple[type[Reply], ...], change: Callable[[Any], Any]) -> Callable[[Any, Request], Reply]:
    return lambda reply, request: change(reply) if isinstance(reply, kind) else reply


def _values(change: Callable[[bytes], bytes]) -> Callable[[Any, Request], Reply]:
    return _of(GetReply, lambda reply: texts(reply, change, "value"))


def _seconds(reply: Any, request: Request) -> Any:
    unknown = getattr(reply, "ttl_type", 4) not in range(1, 7)
    return changed(reply, ttl_type=4) if unknown else reply


def _fragments(change: Callable[[Any], Any]) -> Callable[[Any, Request], Reply]:
    return lambda reply, request: (
        changed(reply, fragments=change(reply.fragments)) if hasattr(reply, "fragments") else reply
    )


def _renamed(fragments: Any) -> Any:
    """Give the names of a fragment to its rows from the end."""
    found = []
    for one in fragments:
        keys = [row.key for row in one.rows][::-1]
        rows = tuple(changed(row, key=key) for row, key in zip(one.rows, keys, strict=True))
        found.append(changed(one, rows=rows))
    return tuple(found)


def _rows(kind: type[Reply], **change: Callable[[Any], Any]) -> Callable[[Any, Request], Reply]:
    """Change fields of the rows of one kind of table."""

    def fields(row: Any) -> Any:
        return changed(row, **{name: how(getattr(row, name)) for name, how in change.items()})

    def fragments(reply: Any) -> Any:
        found = (changed(one, rows=tuple(map(fields, one.rows))) for one in reply.fragments)
        return changed(reply, fragments=tuple(found))

    return _of(kind, fragments)


def _in_32_bits(number: int) -> int:
    return number & 0xFFFFFFFF if number < 1 << 53 else number


def _signed(number: int) -> int:
    """Return what whole bytes are, of which the highest bit is the sign."""
    size = number.bit_length()
    return number - (1 << size) if size and size % 8 == 0 else number


def _rounded(number: int) -> int:
    return min(int(float(number)), 2**64 - 1)


MUTANTS = (
    mutant("numbers-as-doubles", "Numbers of answers go through a floating point number.", "CLIENT-3",
           client=changing(lambda reply, _: numbers(reply, lambda one: int(float(one))))),
    mutant("numbers-signed", "Numbers of 8 bytes are read as signed.", "CLIENT-3",
           client=changing(lambda reply, _: numbers(reply, lambda one: one - 2**64 if one >= 2**63 else one))),
    mutant("numbers-in-32-bits", "Numbers of answers are cut to 32 bits.", "CLIENT-3",
           client=changing(lambda reply, _: numbers(reply, lambda one: one & 0xFFFFFFFF))),
    mutant("numbers-clamped-to-2-53", "Numbers of answers go no higher than 2^53-1.", "CLIENT-3",
           client=changing(lambda reply, _: numbers(reply, lambda one: min(one, 2**53 - 1)))),
    mutant("got-ttl-signed", "The TTL of GET is read as signed.", "GET-7 CLIENT-3",
           client=changing(_of(GetReply, lambda reply: changed(reply, ttl=_signed(reply.ttl))))),
    mutant("got-values-as-text", "The value of GET is decoded as text.", "CLIENT-4",
           client=changing(_values(lambda value: value.decode("utf-8", "replace").encode()))),
    mutant("got-values-end-at-zero", "The value of GET ends at its first zero byte.", "CLIENT-4",
           client=changing(_values(lambda value: value.split(b"\0")[0]))),
    mutant("got-values-trimmed", "White space around the value of GET is taken off.", "CLIENT-4",
           client=changing(_values(bytes.strip))),
    mutant("empty-value-is-absent", "An empty value is reported as no value.", "CLIENT-4",
           client=changing(lambda reply, _: Status(False) if getattr(reply, "value", None) == b"" else reply)),
    mutant("ids-end-at-zero", "The id of WHOAMI ends at its first zero byte.", "CLIENT-4",
           client=changing(lambda reply, _: reply if isinstance(reply, ConnectionRow) else texts(reply, lambda one: one.split(b"\0")[0], "id"))),
    mutant("refusal-is-success", "00 is reported as success.", "CLIENT-5 INSERT-7 UPDATE-12 PURGE-4 SET-11",
           client=changing(_of(Status, lambda reply: Status(True)))),
    mutant("refusal-is-the-end", "00 closes the connection.", "CLIENT-5 INSERT-7 UPDATE-12 PURGE-4 SET-11",
           first("Link._answer",
                 'if getattr(reply, "ok", True) is False: self.fail(ClosedError("the server refused")); return')),
    mutant("got-quota-and-ttl-swapped", "QUERY reports quota and TTL in each other's place.", "QUERY-6 QUERY-8",
           client=changing(_of(QueryReply, lambda one: changed(one, quota=one.ttl, ttl=one.quota)))),
    mutant("got-ttl-always-in-seconds", "QUERY reports every TTL in seconds.", "QUERY-7",
           client=changing(_of(QueryReply, lambda one: changed(one, ttl_type=4)))),
    mutant("unknown-ttl-type-is-seconds", "A TTL type that the table does not have is reported as seconds.",
           "CLIENT-14", client=changing(_seconds)),
    mutant("list-time-points-as-doubles", "The time points of LIST go through a floating point number.", "CLIENT-3 LIST-8",
           client=changing(_rows(ListReply, time_point=_rounded))),
    mutant("stats-as-doubles", "The numbers of STATS go through a floating point number.", "CLIENT-3 STATS-4",
           client=changing(_of(StatsReply, lambda reply: numbers(reply, _rounded)))),
    mutant("stats-in-32-bits", "The numbers of STATS below 2^53 are cut to 32 bits.", "CLIENT-3 STATS-4",
           client=changing(_of(StatsReply, lambda reply: numbers(reply, _in_32_bits)))),
    mutant("channels-as-doubles", "The numbers of CHANNELS go through a floating point number.", "CLIENT-3 CHANNELS-6",
           client=changing(_of(ChannelsReply, lambda reply: numbers(reply, _rounded)))),
    mutant("subscribers-as-doubles", "The numbers of CHANNEL go through a floating point number.", "CLIENT-3 CHANNEL-6",
           client=changing(_of(ChannelReply, lambda reply: numbers(reply, _rounded)))),
    mutant("info-as-doubles", "The numbers of INFO go through a floating point number.", "CLIENT-3 INFO-8",
           client=changing(_of(InfoReply, lambda reply: numbers(reply, _rounded)))),
    mutant("connection-as-doubles", "The numbers of CONNECTION go through a floating point number.", "CLIENT-3",
           client=changing(_of(ConnectionRow, lambda reply: numbers(reply, _rounded)))),
    mutant("connections-as-doubles", "The numbers of CONNECTIONS go through a floating point number.", "CLIENT-3",
           client=changing(_of(ConnectionsReply, lambda reply: numbers(reply, _rounded)))),
    mutant("odd-channels-as-hex", "CHANNELS reports names with other signs than letters and digits as hex.", "CLIENT-4",
           client=changing(_rows(ChannelsReply, channel=lambda name: name if name.replace(b"-", b"").isalnum() else name.hex().encode()))),
    mutant("odd-keys-trimmed", "LIST takes white space off its keys.", "CLIENT-4",
           client=changing(_rows(ListReply, key=bytes.strip))),
    mutant("long-keys-cut", "STATS reports no more than 127 bytes of a key.", "CLIENT-4 FRAGMENT-7 STATS-5",
           client=changing(_rows(StatsReply, key=lambda key: key[:127]))),
    mutant("rows-counted-in-a-byte", "Of the rows of a fragment the first 255 are reported.", "FRAGMENT-8 FRAGMENT-7",
           client=changing(_fragments(lambda found: tuple(changed(one, rows=one.rows[:255]) for one in found)))),
    mutant("fragments-counted-in-a-byte", "The first 255 fragments of a table are reported.", "FRAGMENT-8",
           client=changing(_fragments(lambda found: found[:255]))),
    mutant("first-fragment-only", "Only the first fragment of a table is reported.", "FRAGMENT-8",
           client=changing(_fragments(lambda found: found[:1]))),
    mutant("last-row-lost", "The last row of each fragment is lost.", "FRAGMENT-8 FRAGMENT-4 FRAGMENT-7",
           client=changing(_fragments(lambda found: tuple(changed(one, rows=one.rows[:-1]) for one in found)))),
    mutant("rows-with-wrong-names", "The names of LIST are given to its rows from the end.", "FRAGMENT-7 LIST-12",
           client=changing(_of(ListReply, lambda one: changed(one, fragments=_renamed(one.fragments))))),
    mutant("nobody-is-absent", "CHANNEL without subscribers is reported as refused.", "CHANNEL-5",
           client=changing(_of(ChannelReply, lambda one: one if one.subscribers else Status(False)))),
    mutant("empty-tables-are-absent", "STATS and CHANNELS without fragments are reported as refused.", "FRAGMENT-14",
           client=changing(_of((StatsReply, ChannelsReply), lambda one: one if one.fragments else Status(False)))),
    mutant("info-get-and-set-swapped", "INFO has the totals of GET and SET in each other's place.", "INFO-10",
           client=changing(_of(InfoReply, lambda one: changed(one, total_get=one.total_set, total_set=one.total_get)))),
    mutant("port-big-endian", "The port of a connection is read big-endian.", "CONNECTIONS-11",
           client=changing(_of(ConnectionRow, lambda one: changed(one, port=int.from_bytes(one.port.to_bytes(2, "little"), "big"))))),
)  # fmt: skip
