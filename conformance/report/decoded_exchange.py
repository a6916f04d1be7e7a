"""The exchange of a record as people read it: each event with the messages that its bytes completed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from msgspec.structs import replace

from wireproof.conformance.model.exchange import event_of
from wireproof.conformance.model.outcome import ANYWHERE
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import GREEN, Verdict
from wireproof.conformance.model.wording import describe
from wireproof.conformance.verdict.records import Record
from wireproof.protocols import Message, ProtocolError, protocol
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.json_values import JsonDict, JsonObject
from wireproof.protocols.states import Role

__all__ = ["MOST_BYTES", "MOST_EVENTS", "decoded_exchange", "first_difference", "in_words"]

MOST_EVENTS = 200
"""Events that are shown; of longer exchanges the first and the last ones."""
MOST_BYTES = 512
"""Bytes of one event that are shown."""
MOST_TEXT = 400
"""Characters of one message."""


class _ConnectionDecoder:
    """Reads one connection as it goes."""

    def __init__(self, record: Record, link: str) -> None:
        spoken = protocol(record["protocol"])
        self._codec = spoken.codec(spoken.profiles[record["profile"]], record["variant"])
        self._dissection = Dissection(spoken.link_of(link), self._codec)
        self._is_lost = False
        self._byte = record["byte"] or 0
        self._wrong = _wrong_field(record)
        self._target = Role.SERVER if record["role"] == "server" else Role.CLIENT

    def read(self, way: str, data: bytes) -> JsonDict:
        """Return `reads` and `mark` of an event; nothing where what came cannot be read."""
        sender = Role.CLIENT if (way == "sent") is (self._target is Role.SERVER) else Role.SERVER
        direction = self._dissection.direction(sender)
        before, error = direction.size, direction.error
        found: list[str] = []
        shown: JsonDict = {}
        try:
            frames = [] if self._is_lost else self._dissection.feed(sender, data)
        except (ProtocolError, ValueError) as broken:
            self._is_lost = True
            return {"reads": [f"not to be read: {broken}"]}
        for frame in frames:
            late = "" if frame.sender is sender else f" (of the {frame.sender.name.lower()})"
            found.append(f"{describe(frame.message)[:MOST_TEXT]}{late}, bytes {frame.span[0]} to {frame.span[1] - 1}")
            if frame.sender is self._target and self._is_wrong(frame.message):
                shown.update(self._difference(frame.message, frame.span[0] - before))
                if "differs" in shown:
                    shown["differs"] = (shown["differs"][0] + before, shown["differs"][1])
        if direction.error is not None and error is None:
            found.append(f"not to be read: {direction.error}")
        elif not found and direction.buffered:
            found.append(f"{direction.buffered} bytes of a message that is not whole")
        return {"reads": found, **shown} if found else shown

    def follow_tls(self) -> None:
        """What comes from here on is inside TLS, and noted as it is there."""
        self._dissection.follow_tls()

    def _is_wrong(self, message: Message) -> bool:
        if self._wrong is None:
            return False
        name, field, _, got = self._wrong
        return name == message.NAME and hasattr(message, field) and describe(getattr(message, field)) == got

    def _difference(self, message: Message, begins: int) -> JsonDict:
        """Return `mark` and `wanted` of a wrong message that begins at a place of an event, which may be before it."""
        at, wanted = begins + self._byte, b""
        if self._wrong is not None and self._wrong[2].isdigit():
            with suppress(ProtocolError, ValueError, OverflowError, TypeError):
                right = self._codec.encode(replace(message, **{self._wrong[1]: int(self._wrong[2])}))
                is_, differ = self._codec.encode(message), list[int]()
                if len(is_) == len(right):
                    differ = [one for one, pair in enumerate(zip(is_, right, strict=True)) if pair[0] != pair[1]]
                if differ:
                    at, wanted = begins + differ[0], right[differ[0] : differ[-1] + 1]
        differs = {"differs": (at, len(wanted) or 1)}
        return differs if at < 0 else {"mark": at, **differs, **({"wanted": wanted.hex()} if wanted else {})}


def decoded_exchange(record: Record) -> list[JsonDict]:
    """Return the events of a record: `at` in ms, `on`, `way` (`sent`, `received`, `event`), `hex`, `text`, `reads`.

    `sent` is what wireproof sent. `more` is the number of bytes that are left out. `mark` is the place in `hex`, in
    bytes, where the answer differs first, if the answer is found again; `wanted` are the bytes, in hex, that were to
    be from there to the last that differs, where a number is wrong.
    """
    events = [_on_a_page(one) for one in _events(record)]
    if len(events) <= MOST_EVENTS:
        return events
    half = MOST_EVENTS // 2
    left = {"at": events[half]["at"], "on": "", "way": "event", "text": f"{len(events) - 2 * half} events left out"}
    return [*events[:half], left, *events[-half:]]


def first_difference(record: Record) -> tuple[str, int, int] | None:
    """Return connection, the place in all that it received where the answer differs first, and how many bytes do.

    None where no byte is to blame, or the answer is not found again.
    """
    return next(((one["on"], *one["differs"]) for one in _events(record) if "differs" in one), None)


def _on_a_page(event: JsonDict) -> JsonDict:
    """Return an event with no more bytes than a page shows."""
    size = len(event.get("hex", "")) // 2
    found = event if event.get("mark", 0) < MOST_BYTES else {**event, "mark": None, "wanted": None}
    found = {name: value for name, value in found.items() if value is not None and name != "differs"}
    return {**found, "hex": event["hex"][: 2 * MOST_BYTES], "more": size - MOST_BYTES} if size > MOST_BYTES else found


def _events(record: Record) -> Iterator[JsonDict]:
    readers: dict[str, _ConnectionDecoder] = {}
    links: dict[str, str] = {}
    for event in record["exchange"]:
        name, way = event["connection"], event["direction"]
        shown = {"at": (event.get("at_us") or 0) / 1000, "on": name, "way": way}
        data = b"" if way == "event" else _bytes(event)
        if data:
            shown["hex"] = data.hex()
        if way == "event" and event["text"].startswith(Kind.OPENED):
            readers.pop(name, None)
            links[name] = event.get("link") or ""
        elif way == "event" and event["text"] == Kind.SECURED and name in readers:
            readers[name].follow_tls()
        elif data:
            if name not in readers:
                readers[name] = _ConnectionDecoder(record, event.get("link") or links.get(name, ""))
            shown.update(readers[name].read(way, data))
        if event["text"]:
            shown["text"] = event["text"]
        yield shown


def in_words(record: Record) -> str:
    """Return in one sentence what was to come and what came; "" where nothing but the expectation itself says it."""
    extra, wrong = record.get("extra") or {}, _wrong_field(record)
    if record["verdict"] in GREEN or not record["expected"] or not extra.get("reply_to"):
        return ""
    where = f"the answer to {extra['reply_to']}" if extra["reply_to"] != ANYWHERE else "the answers"
    got = str(record["got"]).split("; rests on")[0]
    if wrong is not None:
        return f"In {where} the field {wrong[1]} must be {wrong[2] or 'another'}, and was {wrong[3]}."
    if record["verdict"] == Verdict.HANG:
        return f"{where[0].upper()}{where[1:]} must be {record['expected']}, and did not come in time."
    return f"{where[0].upper()}{where[1:]} must be {record['expected']}; what came: {got}."


def _wrong_field(record: Record) -> tuple[str, str, str, str] | None:
    """Return name of a message, field, the value it must have and has, where that is what did not pass."""
    found = re.match(r"([A-Z_]+)\.(\w+) = (.*)", record["expected"] or "", re.DOTALL)
    got = str(record["got"]).split("; rests on")[0]
    return (found[1], found[2], found[3], got) if found and record["byte"] is not None else None


def _bytes(event: JsonObject) -> bytes:
    """Return all bytes of an event, or as many as the record has."""
    with suppress(ValueError):
        return event_of(event).data
    with suppress(ValueError):
        return bytes.fromhex(event["hex"])
    return b""
