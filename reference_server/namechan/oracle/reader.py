"""A second, naive reader of namechan: s-expressions, requests and frames, without a line of the codec.

Written from the facts about the bytes: it reads one byte after the other, by recursion, and keeps nothing. It is as
slow as that, and judges the codec only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wireproof.reference_server.model import Reader, Reading
from wireproof.reference_server.namechan.oracle.expressions import (
    Characters,
    PartialError,
    RefusedError,
    Tree,
    alone,
    expression,
    skip,
)

__all__ = ["NAMES", "READERS", "PartialError", "RefusedError", "frame", "requests"]

Decoded = tuple[str, dict[str, Any]]
REPLAYS = ("From_beginning", "From_message", "From_current")
DELIVERIES = ("Broadcast", "Round_robin")
PERSISTENCES = ("Transient", "Persistent")
SYNCS = ("Strong", "Weak", "Async")
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
FIRST, LAST = -62_135_596_800, 253_402_300_799
"""The first and last second of the years 1 to 9999, from 1970 on."""


def requests(data: bytes, *, publishes: bool = True, hook: bool = False) -> Reading:
    """Return the requests of lines, empty ones left out, and how they end: whole, partial or refused."""
    text, found = Characters(data), list[Decoded]()
    try:
        while not text.is_over():
            _begin(text)
            if text.is_over():
                break
            read = expression(text)
            skip(text, lines=False)  # a request ends with its line, or where another expression begins
            text.peek(text.peek() == "#")
            found.append(_at_hook(read) if hook else _request(read, publishes=publishes))
    except PartialError:
        return found, "partial"
    except RefusedError:
        return found, "refused"
    return found, "whole"


def _begin(text: Characters) -> None:
    """Skip empty lines, comments and dropped expressions before a request; all may be over after a line end."""
    while True:
        while text.peek() == "\n":
            text.take()
            if text.is_over():
                return
        at = text.at
        skip(text, lines=False)
        if text.peek() == "#" and text.peek(1) == ";":
            text.at += 2
            skip(text, lines=True)
            expression(text, 0, dropped=True)
        elif text.at == at:
            return


def _request(read: Tree, *, publishes: bool) -> Decoded:
    name, rest = _constructed(read)
    if name == "Connect":
        version, who = _exactly(rest, 2)
        return "CONNECT", {"version": _whole_number(version, -(1 << 63), (1 << 63) - 1), "id": _plain_atom(who)}
    if name == "Subscribe":
        topic, where = _exactly(rest, 2)
        word, more = (where, []) if isinstance(where, bytes) else _constructed_bytes(where)
        place = _one_of(REPLAYS, word)
        if (place == 1) != (isinstance(where, list) and len(more) == 1) or (place != 1 and isinstance(where, list)):
            raise RefusedError("an argument")
        message = _whole_number(more[0], 0, (1 << 64) - 1) if more else 0
        return "SUBSCRIBE", {"topic": _plain_atom(topic), "replay": place, "message": message}
    if name == "Unsubscribe":
        return "UNSUBSCRIBE", {"topic": _plain_atom(_exactly(rest, 1)[0])}
    if name == "Ack":
        return "ACK", {"time": _instant(_exactly(rest, 1)[0])}
    if name == "Publish" and publishes:
        topic, body = _exactly(rest, 2)
        return "PUBLISH", {"topic": _plain_atom(topic), "body": _plain_atom(body)}
    raise RefusedError(f"no request {name}")


def _at_hook(read: Tree) -> Decoded:
    name, rest = _constructed(read)
    if name == "Publish":
        topic, body = _exactly(rest, 2)
        return "HOOK_PUBLISH", {"topic": _plain_atom(topic), "body": _plain_atom(body)}
    if name != "Create":
        raise RefusedError(f"no request {name}")
    topic, delivery, kept = _exactly(rest, 3)
    fields = {"topic": _plain_atom(topic), "delivery": _one_of(DELIVERIES, _plain_atom(delivery))}
    if isinstance(kept, bytes):
        if _one_of(PERSISTENCES, kept) != 0:
            raise RefusedError("Persistent of what")
        return "HOOK_CREATE", {**fields, "persistence": 0, "sync": 0}
    word, more = _constructed_bytes(kept)
    if _one_of(PERSISTENCES, word) != 1:
        raise RefusedError("Transient of something")
    return "HOOK_CREATE", {**fields, "persistence": 1, "sync": _one_of(SYNCS, _plain_atom(_exactly(more, 1)[0]))}


def _constructed(read: Tree) -> tuple[str, list[Tree]]:
    word, rest = _constructed_bytes(read)
    return _upper(word).decode("latin-1"), rest


def _constructed_bytes(read: Tree) -> tuple[bytes, list[Tree]]:
    if not isinstance(read, list) or not read or not isinstance(read[0], bytes):
        raise RefusedError("no constructor")
    return read[0], read[1:]


def _exactly(items: list[Tree], count: int) -> list[Tree]:
    if len(items) != count:
        raise RefusedError("too few or too many")
    return items


def _upper(word: bytes) -> bytes:
    first = word[:1]
    return (bytes([first[0] - 32]) if b"a" <= first <= b"z" else first) + word[1:]


def _one_of(words: tuple[str, ...], word: bytes) -> int:
    known = _upper(word).decode("latin-1")
    if known not in words:
        raise RefusedError("no such word")
    return words.index(known)


def _plain_atom(read: Tree) -> bytes:
    if isinstance(read, list):
        raise RefusedError("a list for an atom")
    return read


def _whole_number(read: Tree, least: int, most: int) -> int:
    text = _plain_atom(read).decode("latin-1")
    sign, plain = (-1, text[1:]) if text.startswith("-") else (1, text)
    found = sign * _natural(plain)
    if not least <= found <= most:
        raise RefusedError("beyond its range")
    return found


def _natural(text: str) -> int:
    if not text:
        raise RefusedError("no digits")
    found = 0
    for one in text:
        if one not in "0123456789":
            raise RefusedError("no number")
        found = min(found * 10 + "0123456789".index(one), 1 << 70)
    return found


def _instant(read: Tree) -> int:
    """Return microseconds since 1970."""
    if isinstance(read, list):
        date, clock = (_plain_atom(one).decode("latin-1") for one in _exactly(read, 2))
        text = f"{date} {clock}"
    else:
        text = read.decode("latin-1")
        if text and all(one in "0123456789" for one in text):
            seconds = _natural(text)
            if seconds > LAST:
                raise RefusedError("beyond the year 9999")
            return seconds * 1_000_000
    if len(text) < 19 or (text[4], text[7], text[10], text[13], text[16]) != ("-", "-", " ", ":", ":"):
        raise RefusedError("no time")
    year, month, day, hour, minute, second = (
        _natural(text[a:b]) for a, b in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))
    )
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (year and 1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        raise RefusedError("no such time")
    if not 1 <= day <= DAYS[month - 1] + (leap and month == 2):
        raise RefusedError("no such day")
    micros, offset = _fraction_and_zone(text[19:])
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719162
    days += sum(DAYS[: month - 1]) + (leap and month > 2) + day - 1
    seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
    if not FIRST <= seconds <= LAST:
        raise RefusedError("beyond the years 1 to 9999")
    return seconds * 1_000_000 + micros


def _fraction_and_zone(text: str) -> tuple[int, int]:
    micros = 0
    if text.startswith("."):
        size = 1
        while size < len(text) and text[size] in "0123456789":
            size += 1
        if not 2 <= size <= 7:
            raise RefusedError("one to six decimals")
        micros, text = _natural(text[1:size]) * 10 ** (7 - size), text[size:]
    if text in ("", "Z"):
        return micros, 0
    if len(text) != 6 or text[0] not in "+-" or text[3] != ":":
        raise RefusedError("no zone")
    hours, minutes = _natural(text[1:3]), _natural(text[4:6])
    if hours > 23 or minutes > 59:
        raise RefusedError("no such zone")
    return micros, (1 if text[0] == "+" else -1) * (hours * 3600 + minutes * 60)


NAMES = ("ERROR", "PING", "MESSAGE", "SUBSCRIBED", "UNSUBSCRIBED")


def frame(data: bytes) -> tuple[str, dict[str, Any], int]:
    """Return name, fields and size of the first frame.

    Raises `PartialError` where the bytes end too early, `RefusedError` where they are wrong.
    """
    if len(data) < 5:
        raise PartialError
    size = (data[0] << 24) + (data[1] << 16) + (data[2] << 8) + data[3]
    if size == 0 or data[4] >= len(NAMES):
        raise RefusedError("no type")
    if len(data) < 4 + size:
        raise PartialError
    name, payload = NAMES[data[4]], data[5 : 4 + size]
    if name == "ERROR":
        return name, {"text": payload}, 4 + size
    if name == "PING":
        if len(payload) != 4:
            raise RefusedError("a time of four bytes")
        return name, {"time": _unsigned(payload)}, 4 + size
    if name == "MESSAGE":
        if len(payload) < 12:
            raise RefusedError("two ids")
        fields = {"id": _unsigned(payload[:8]), "topic": _unsigned(payload[8:12]), "body": payload[12:]}
        return name, fields, 4 + size
    return name, _record(payload, name), 4 + size


def _unsigned(data: bytes) -> int:
    found = 0
    for one in data:
        found = found * 256 + one
    return found


def _record(payload: bytes, name: str) -> dict[str, Any]:
    read = alone(payload)
    if isinstance(read, list) and len(read) == 2 and isinstance(read[0], bytes):  # the other form of N2
        if _upper(read[0]).decode("latin-1") != name.capitalize():
            raise RefusedError("another constructor")
        read = read[1]
    if not isinstance(read, list) or len(read) != 2:
        raise RefusedError("two fields")
    fields: dict[bytes, Any] = {}
    for pair in read:
        if not isinstance(pair, list) or len(pair) != 2:
            raise RefusedError("a name and a value")
        key = _plain_atom(pair[0])
        if key in fields or key not in (b"id", b"topic"):
            raise RefusedError("another field")
        fields[key] = _whole_number(pair[1], 0, (1 << 32) - 1) if key == b"id" else _plain_atom(pair[1])
    return {"id": fields[b"id"], "topic": fields[b"topic"]}


def _read_lines(data: bytes, profile: str) -> Reading:
    return requests(data, publishes=profile.endswith("+publish"))


def _read_hook(data: bytes, profile: str) -> Reading:
    return requests(data, hook=True)


def _read_frames(data: bytes, profile: str) -> Reading:
    found, at = list[Decoded](), 0
    while at < len(data):
        try:
            name, fields, size = frame(data[at:])
        except PartialError:
            return found, "partial"
        except RefusedError:
            return found, "refused"
        found.append((name, fields))
        at += size
    return found, "whole"


READERS: Mapping[tuple[str, str, bool], Reader] = {
    ("lines", "server", False): _read_lines,
    ("lines", "client", False): _read_frames,
    ("hook", "server", True): _read_hook,
    ("hook", "server", False): _read_hook,
}
"""Link, side and whether the connection is new -> reader of what it gets then."""
