"""Second, naive decoders: written from the facts about the bytes, byte by byte, without a line of the codec.

A round trip alone cannot find a wrong width or offset, since both directions follow one layout. Each decoder returns
(name of the message, field -> value, offset after it).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Decoded = tuple[str, dict[str, Any], int]
INFO = tuple(
    """timestamp total_requests requests_per_minute total_insert insert_per_minute total_query query_per_minute
    total_update update_per_minute total_purge purge_per_minute total_get get_per_minute total_set set_per_minute
    total_list list_per_minute total_info info_per_minute total_stats stats_per_minute total_stat stat_per_minute
    total_subscribe subscribe_per_minute total_unsubscribe unsubscribe_per_minute total_publish publish_per_minute
    total_channel channel_per_minute total_channels channels_per_minute total_whoami whoami_per_minute
    total_connection connection_per_minute total_connections connections_per_minute total_read_bytes
    read_bytes_per_minute total_write_bytes write_bytes_per_minute keys counters buffers
    allocated_bytes_on_counters allocated_bytes_on_buffers subscriptions channels running_since connections
    """.split()  # noqa: SIM905
)
"""u64 each, then 16 bytes of version: 432 bytes."""
COUNTS = "insert set query get update purge list info stat stats publish subscribe unsubscribe connections connection"
COUNTS += " channels channel whoami"
PERIODS = ("reads_per_minute", "writes_per_minute", "total_reads", "total_writes")


class Cursor:
    """Takes little-endian numbers and bytes from the left."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def raw(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        assert len(found) == size, f"{size} bytes expected at {self.at} of {len(self.data)}"
        self.at += size
        return found

    def number(self, size: int) -> int:
        return sum(byte << 8 * at for at, byte in enumerate(self.raw(size)))

    def until_zero(self) -> bytes:
        found = bytearray()
        while byte := self.number(1):
            found.append(byte)
        return bytes(found)

    def rest(self) -> bytes:
        return self.raw(len(self.data) - self.at)


def throttr_request(data: bytes, n: int, profile: str) -> Decoded:
    """Decode a request whose values have `n` bytes."""
    take = Cursor(data)
    kind, fields = take.number(1), {}
    alone = {7: "LIST", 8: "INFO", 0x10: "STATS", 0x14: "CONNECTIONS", 0x16: "CHANNELS", 0x18: "WHOAMI"}
    by_key = {2: "QUERY", 4: "PURGE", 6: "GET", 9: "STAT"}
    by_channel = {0x11: "SUBSCRIBE", 0x12: "UNSUBSCRIBE", 0x17: "CHANNEL"}
    if kind in alone:
        return alone[kind], {}, take.at
    if kind in by_key or kind in by_channel:
        found = take.raw(take.number(1))
        if kind in by_key:
            return by_key[kind], {"key": found}, take.at
        return by_channel[kind], {"channel": found}, take.at
    if kind == 1:
        fields = {"quota": take.number(n), "ttl_type": take.number(1), "ttl": take.number(n)}
        return "INSERT", {**fields, "key": take.raw(take.number(1))}, take.at
    if kind == 3:
        fields = {"attribute": take.number(1), "change": take.number(1), "value": take.number(n)}
        return "UPDATE", {**fields, "key": take.raw(take.number(1))}, take.at
    if kind == 5:
        fields = {"ttl_type": take.number(1), "ttl": take.number(n)}
        key, value = take.number(1), take.number(1 if profile == "7.1.0" else n)
        return "SET", {**fields, "key": take.raw(key), "value": take.raw(value)}, take.at
    if kind in (0x13, 0x19):
        channel, payload = take.number(1), take.number(n)
        fields = {"channel": take.raw(channel), "payload": take.raw(payload)}
        return ("PUBLISH" if kind == 0x13 else "EVENT"), fields, take.at
    assert kind == 0x15, hex(kind)
    if profile == "7.1.0":
        return "CONNECTION", {"index": take.number(4)}, take.at
    return "CONNECTION", {"id": take.raw(16)}, take.at


def throttr_push(data: bytes, n: int) -> Decoded:
    """Decode a push: `03` with the payload alone in 7.1.0, a frame like that of PUBLISH from 7.3.2 on."""
    take = Cursor(data)
    if take.number(1) == 3:
        return "MESSAGE", {"payload": take.raw(take.number(n))}, take.at
    assert data[0] == 0x19, data.hex()
    channel, payload = take.number(1), take.number(n)
    return "PUSHED_EVENT", {"channel": take.raw(channel), "payload": take.raw(payload)}, take.at


def _connection(take: Cursor, profile: str) -> dict[str, Any]:
    """Return a row of 237 bytes; of 235 without type and kind in 7.1.0 (T6)."""
    fields: dict[str, Any] = {"id": take.raw(16)}
    more = () if profile == "7.1.0" else ("type", "kind")
    fields |= {one: take.number(1) for one in (*more, "ip_version")}
    fields |= {"ip": take.raw(16), "port": take.number(2), "connected_at": take.number(8)}
    for one in ("read", "write", "published", "received", "allocated", "consumed"):
        fields[f"{one}_bytes"] = take.number(8)
    return fields | {f"{one}_requests": take.number(8) for one in COUNTS.split()}


def _fragments(take: Cursor, row: Callable[[], dict[str, Any]], text: str = "") -> list[dict[str, Any]]:
    """Return the fragments of a table; `text` names the field of the bytes after the rows of a fragment."""
    found = []
    for _ in range(take.number(8)):
        number = take.number(8)
        rows = [row() for _ in range(take.number(8))]
        for one in rows if text else ():
            one[text] = take.raw(one[text])
        found.append({"fragment": number, "rows": rows})
    return found


BARE = ("LIST", "INFO", "STATS", "CONNECTIONS", "CHANNELS", "WHOAMI")
"""Requests whose replies have no status byte in 7.1.0 (T1, T2, T3)."""


def throttr_reply(data: bytes, n: int, request: str, profile: str) -> Decoded:
    """Decode a reply to the request of a name; refusals and single statuses are STATUS."""
    take = Cursor(data)
    if profile != "7.1.0" or request not in BARE:
        ok = take.number(1)
        assert ok < 2
        if not ok or request in ("INSERT", "UPDATE", "PURGE", "SET", "SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH"):
            return "STATUS", {"ok": bool(ok)}, take.at
    if request in ("LIST", "STATS", "CHANNELS", "CONNECTIONS"):
        return f"{request}_REPLY", {"fragments": _table(take, n, request, profile)}, take.at
    if request == "QUERY":
        return "QUERY_REPLY", {"quota": take.number(n), "ttl_type": take.number(1), "ttl": take.number(n)}, take.at
    if request == "GET":
        fields = {"ttl_type": take.number(1), "ttl": take.number(n)}
        return "GET_REPLY", {**fields, "value": take.raw(take.number(n))}, take.at
    if request == "STAT":
        return "STAT_REPLY", {one: take.number(8) for one in PERIODS}, take.at
    if request == "INFO":
        fields = {one: take.number(8) for one in INFO}
        return "INFO_REPLY", {**fields, "version": take.raw(16)}, take.at
    if request == "CONNECTION":
        return "CONNECTION_ROW", _connection(take, profile), take.at
    if request == "WHOAMI":
        return "WHOAMI_REPLY", {"id": take.raw(16)}, take.at
    assert request == "CHANNEL", request
    names = (("connection_id", 16), ("subscribed_at", 8), ("read_bytes", 8), ("write_bytes", 8))
    rows = [{name: take.raw(16) if size == 16 else take.number(size) for name, size in names}
            for _ in range(take.number(8))]  # fmt: skip
    return "CHANNEL_REPLY", {"subscribers": rows}, take.at


def _table(take: Cursor, n: int, request: str, profile: str) -> list[dict[str, Any]]:
    """Return the fragments of LIST, STATS, CHANNELS or CONNECTIONS."""
    if request == "CONNECTIONS":
        return _fragments(take, lambda: _connection(take, profile))
    subscribed = 4 if profile == "7.1.0" else 8  # T7
    widths = {
        "LIST": (("key", 1), ("key_type", 1), ("ttl_type", 1), ("time_point", 8), ("bytes_used", n)),
        "STATS": (("key", 1), *((one, 8) for one in PERIODS)),
        "CHANNELS": (("channel", 1), ("read_bytes", 8), ("write_bytes", 8), ("subscribed_connections", subscribed)),
    }[request]
    return _fragments(take, lambda: {name: take.number(size) for name, size in widths}, widths[0][0])


LEADS = {
    "NOP": b"\0",
    "PUBLISH": b"\1",
    "SUBSCRIBE": b"\2",
    "UNSUBSCRIBE": b"\3",
    "PUBLISH_REPL": b"\x11",
    "BYE": b"\xff",
    **dict.fromkeys(("GREETING", "GREETING_REPLY", "DATAGRAM", "SEALED", "DATAGRAM_REPLY"), b"\xee\xaa"),
    **dict.fromkeys(("DATA_GREETING", "DATA_GREETING_REPLY"), b"\xee\xab"),
    "MESSAGE": b"\1",
    "BEACON": b"\0",
}
NUMBERS = {"mode": 1, "version": 2, "code": 1, "timeout": 1, "priority": 1, "timestamp": 8, "encryption": 1, "op": 1}
RAW = {"token": 32, "nonce": 12}
FORMS = {
    "GREETING": "mode",
    "DATA_GREETING": "mode",
    "GREETING_REPLY": "version",
    "DATA_GREETING_REPLY": "version",
    "DATAGRAM_REPLY": "version code",
    "RESPONSE": "code",
    "TOKEN": "token",
    "ATTACH": "token timeout",
    "LOGIN": "[login0 password*]",
    "PUBLISH": "priority [topic0 message*]",
    "MESSAGE": "priority [topic0 message*]",
    "SUBSCRIBE": "[topics*]",
    "UNSUBSCRIBE": "[topics*]",
    "PUBLISH_REPL": "[topic*]",
    "REPL_DATA": "priority timestamp [message*]",
    "DATAGRAM": "version encryption login0 password0 op priority topic0 message*",
    "SEALED": "version encryption login0 nonce sealed*",
}
"""Name -> fields: `0` is ended by 00, `*` takes the rest, `[` begins what a length of 4 bytes counts."""


def psrt(data: bytes, name: str) -> Decoded:
    """Decode a message of PSRT of a known name: its bytes alone do not say what it is."""
    take = outer = Cursor(data)
    lead = LEADS.get(name, b"")
    assert take.raw(len(lead)) == lead, data.hex()
    fields: dict[str, Any] = {}
    for form in FORMS.get(name, "").split():
        if form.startswith("["):
            take = Cursor(take.raw(take.number(4)))
        field = form.strip("[]")
        if field.endswith("0"):
            fields[field[:-1]] = take.until_zero()
        elif field.endswith("*"):
            fields[field[:-1]] = take.rest()
        else:
            fields[field] = take.raw(RAW[field]) if field in RAW else take.number(NUMBERS[field])
    return name, fields, outer.at
