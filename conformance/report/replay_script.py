"""The script of a bundle: it sends a recorded exchange again with nothing but Python's standard library.

A server draws values that its client must repeat (tokens, ids). The script knows no protocol, so such values are found
by their bytes: what the server sent first and the client sent later is taken, when the script runs, from the same place
of what the server answers then.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from wireproof.conformance.model.exchange import SHOWN_BYTES
from wireproof.conformance.model.targets import TargetError, parse_address
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.report.decoded_exchange import first_difference
from wireproof.conformance.verdict.records import Record
from wireproof.protocols import protocol
from wireproof.protocols.json_values import JsonObject
from wireproof.protocols.links import Link

__all__ = ["repeated_values", "replay_script"]

TEMPLATE = Path(__file__).resolve().parents[2] / "reports" / "templates" / "replay_record.py.txt"
SHORTEST, LEAST_DISTINCT = 12, 5
"""A repeated value has at least so many bytes, of so many different ones: padding and counters are not drawn."""
SEARCHED = 1 << 16
"""Bytes of what one connection received that are searched for values."""
Repeated = tuple[int, str, int, int]
"""Offset in the bytes sent, connection, first and last byte in what that connection received."""


def replay_script(run: JsonObject, record: Record, events: Sequence[TraceEvent]) -> str:
    """Return the text of replay.py for the record of a run (`run.json`)."""
    repeated = repeated_values(events)
    links = protocol(record["protocol"]).links
    shown = {
        "address": _address(str(run.get("target") or "")),
        "namespace": str(run.get("namespace") or ""),
        "wrong": first_difference(record),
        "repeated": {str(at): found for at, found in repeated.items()},
        "events": [_event(one, links) for one in events],
    }
    spoken = f"{record['protocol']} {record['profile']} {record['variant']}"
    title = f"Record {record['record_id']}: {record['verdict']} {record['case']}, {spoken}"
    parts = {
        "title": re.sub(r"[^ -\[\]-~]", "?", title).replace('"', "'"),
        "record": "\n".join(_lines(shown)),
    }
    return re.sub(r"/\* (title|record) \*/", lambda found: parts[found[1]], TEMPLATE.read_text(encoding="utf-8"))


def repeated_values(events: Sequence[TraceEvent]) -> dict[int, list[Repeated]]:
    """Return index of an event -> the values in what it sent that the server had sent first."""
    streams = dict[str, bytearray]()
    drawn = dict[bytes, tuple[str, int]]()
    sent, found = bytearray(), dict[int, list[Repeated]]()
    for index, event in enumerate(events):
        stream = streams.setdefault(event.connection, bytearray())
        if event.kind is Kind.OPENED:
            stream.clear()
            drawn = {value: place for value, place in drawn.items() if place[0] != event.connection}
        elif event.kind is Kind.RECEIVED:
            for at in range(min(len(event.data), SHOWN_BYTES) - SHORTEST + 1 if len(stream) < SEARCHED else 0):
                value = event.data[at : at + SHORTEST]
                if len(set(value)) >= LEAST_DISTINCT and value not in drawn and value not in sent:
                    drawn[value] = (event.connection, len(stream) + at)
            stream += event.data
        elif event.kind is Kind.SENT:
            if drawn and (here := list(_repeated(event.data[:SHOWN_BYTES], drawn, streams))):
                found[index] = here
            sent += event.data[:SHOWN_BYTES]
    return found


def _repeated(
    data: bytes, drawn: Mapping[bytes, tuple[str, int]], streams: Mapping[str, bytearray]
) -> Iterator[Repeated]:
    at = 0
    while at + SHORTEST <= len(data):
        connection, first = drawn.get(data[at : at + SHORTEST], ("", 0))
        size = SHORTEST
        if connection:
            stream = streams[connection]
            while data[at + size : at + size + 1] == stream[first + size : first + size + 1] != b"":
                size += 1
            yield at, connection, first, first + size
        at += size if connection else 1


def _event(event: TraceEvent, links: Mapping[str, Link]) -> list[object]:
    """Return milliseconds, connection, what happened, and its bytes; of an opened one what it is opened to."""
    head = [event.at_us / 1000, event.connection, event.kind.value]
    if event.kind is Kind.OPENED:
        link = links.get(event.link)
        return [*head, [link.transport, link.listener] if link else ["stream", ""]]
    return [*head, event.data.hex() if len(event.data) <= SHOWN_BYTES else _compressed(event.data)]


def _compressed(data: bytes) -> dict[str, str]:
    return {"zlib": b64encode(zlib.compress(data)).decode()}


def _lines(shown: JsonObject) -> Iterator[str]:
    """Yield JSON with one event a line."""
    head = {name: value for name, value in shown.items() if name != "events"}
    yield json.dumps(head)[:-1] + ', "events": ['
    events = [json.dumps(one) for one in shown["events"]]
    yield from (f"{one}," for one in events[:-1])
    yield from events[-1:]
    yield "]}"


def _address(target: str) -> list[object] | str | None:
    with suppress(TargetError):
        found = parse_address(target)
        return found.path or [found.host, found.port]
    return None
