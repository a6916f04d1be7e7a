"""The exchange of a record: the events of a trace as JSON objects, and those objects as events again.

A record stays small, so the bytes of a long event are shown in part: `hex` has the first ones, `text` says how many
there were, and `zlib` holds all of them where they compress well, as padding does. A play of very many events keeps
the first and the last of them.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable

from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.protocols.json_values import JsonDict, JsonObject

__all__ = ["SHOWN_BYTES", "SHOWN_EVENTS", "SHOWN_OF_PLAY", "event_of", "written"]

SHOWN_BYTES = 4096
"""Bytes of one event that `hex` has."""
SHOWN_OF_PLAY = 1 << 20
"""Bytes of all events of a play that `hex` and `zlib` have, each; of those that come after them, only their number."""
SHOWN_EVENTS = 4000
"""Events of one play; of more, the first, the last and all figures are kept, and a line that says so."""
LONGEST = 64 << 20
"""Bytes of one event from which on nobody tries to compress it."""
DIRECTIONS = {Kind.SENT: "sent", Kind.RECEIVED: "received"}


def written(trace: Trace) -> list[JsonDict]:
    """Return the events of a play as a record keeps them."""
    half, left = SHOWN_EVENTS // 2, len(trace) - SHOWN_EVENTS
    if left <= 0:
        return _events(trace)
    gap = {**_event(trace[half], 0, 0), "connection": "", "direction": "event", "text": f"{left} events left out"}
    figures = [one for one in trace[half:-half] if one.kind is Kind.MEASURED]
    return [*_events(trace[:half]), gap, *_events([*figures, *trace[-half:]])]


def event_of(written_event: JsonObject) -> TraceEvent:
    """Return an event as the trace had it. Raises `ValueError` with what is missing, where that is not all there."""
    at_us, connection = written_event["at_us"], written_event["connection"]
    direction, text = written_event["direction"], str(written_event["text"])
    if direction == "event":
        kind, _, detail = text.partition(": ")
        if kind not in list(Kind):
            raise ValueError(text)
        return TraceEvent(at_us, connection, Kind(kind), detail.encode(), written_event.get("link") or "")
    if text and not written_event.get("zlib"):
        raise ValueError(text)
    data = _whole(written_event["zlib"]) if text else bytes.fromhex(written_event["hex"])
    return TraceEvent(at_us, connection, Kind(direction), data)


def _whole(compressed: str) -> bytes:
    try:
        return zlib.decompress(b64decode(compressed))
    except zlib.error as error:
        raise ValueError(f"its `zlib` is damaged: {error}") from error


def _events(events: Iterable[TraceEvent]) -> list[JsonDict]:
    shown, left, left_zlib = [], SHOWN_OF_PLAY, SHOWN_OF_PLAY
    for one in events:
        most = min(SHOWN_BYTES, left)
        left -= min(most, len(one.data)) if one.kind in DIRECTIONS else 0
        shown.append(_event(one, most, left_zlib))
        left_zlib -= len(shown[-1].get("zlib", ""))
    return shown


def _event(event: TraceEvent, most: int, most_zlib: int) -> JsonDict:
    found = {
        "at_us": event.at_us,
        "connection": event.connection,
        "direction": DIRECTIONS.get(event.kind, "event"),
        "hex": event.data[:most].hex() if event.kind in DIRECTIONS else "",
        "text": _text(event.kind, event.data, most),
    }
    if event.link:
        found["link"] = event.link
    if event.kind in DIRECTIONS and most < len(event.data) <= LONGEST:
        whole = b64encode(zlib.compress(event.data)).decode()
        if len(whole) <= most_zlib:
            found["zlib"] = whole
    return found


def _text(kind: Kind, data: bytes, most: int) -> str:
    if kind in DIRECTIONS:
        return f"{len(data)} bytes, {most} shown" if len(data) > most else ""
    return f"{kind}: {data.decode(errors='replace')}" if data else str(kind)
