"""A second, naive reader of namechan: s-expressions, requests and frames, without a line of the codec.

Written from the facts about the bytes: it reads one byte after the other, by recursion, and keeps nothing. Where the
bytes end too early it raises `PartialError`, where they are wrong `RefusedError`.
"""

from __future__ import annotations

from typing import Any

Tree = bytes | list["Tree"]
Decoded = tuple[str, dict[str, Any]]
SPACE = b" \t\r\f"
ESCAPES = {"n": 10, "t": 9, "b": 8, "r": 13, "\\": 92, '"': 34, "'": 39}
MOST_LISTS = 16
"""Lists within lists that are kept: no message has more than three."""
REPLAYS = ("From_beginning", "From_message", "From_current")
DELIVERIES = ("Broadcast", "Round_robin")
PERSISTENCES = ("Transient", "Persistent")
SYNCS = ("Strong", "Weak", "Async")
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
FIRST, LAST = -62_135_596_800, 253_402_300_799
"""The first and last second of the years 1 to 9999, from 1970 on."""


class RefusedError(ValueError):
    """The bytes are wrong, whatever follows."""


class PartialError(ValueError):
    """The bytes may be right, and are not whole."""


class Characters:
    """The bytes, one at a time."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def peek(self, ahead: int = 0) -> str:
        if self.at + ahead >= len(self.data):
            raise PartialError
        return chr(self.data[self.at + ahead])

    def take(self) -> str:
        found = self.peek()
        self.at += 1
        return found

    def is_over(self) -> bool:
        return self.at >= len(self.data)


def skip(text: Characters, *, lines: bool, may_end: bool = False) -> None:
    """Skip what says nothing; line ends, too, and expressions after `#;`, with `lines`."""
    while not (may_end and text.is_over()):
        one = text.peek()
        if one in SPACE.decode() or (one == "\n" and lines):
            text.take()
        elif one == ";":
            while text.peek() != "\n":
                text.take()
        elif one == "#" and text.peek(1) == "|":
            block(text)
        elif one == "#" and text.peek(1) == ";" and lines:
            text.take()
            text.take()
            skip(text, lines=True)
            expression(text, 0, dropped=True)
        else:
            return


def block(text: Characters) -> None:
    text.take()
    text.take()
    depth = 1
    while depth:
        both = text.peek() + text.peek(1)
        text.take()
        if both in ("#|", "|#"):
            text.take()
            depth += 1 if both == "#|" else -1


def expression(text: Characters, depth: int = 0, *, dropped: bool = False) -> Tree:
    one = text.peek()
    if one == ")":
        raise RefusedError("a list that was not begun")
    if one == '"':
        return quoted(text)
    if one != "(":
        return bare(text)
    if depth == MOST_LISTS and not dropped:
        raise RefusedError("too many lists within lists")
    text.take()
    items: list[Tree] = []
    while True:
        skip(text, lines=True)
        if text.peek() == ")":
            text.take()
            return items
        items.append(expression(text, depth + 1, dropped=dropped))


def bare(text: Characters) -> bytes:
    found = ""
    while text.peek() not in ' \t\r\f\n()";':
        found += text.take()
    if "#|" in found or "|#" in found:
        raise RefusedError("a mark of a comment in an atom")
    return found.encode("latin-1")


def quoted(text: Characters) -> bytes:
    text.take()
    found = bytearray()
    while (one := text.take()) != '"':
        if one != "\\":
            found.append(ord(one))
            continue
        kind = text.take()
        if kind in ESCAPES:
            found.append(ESCAPES[kind])
        elif kind == "\n" or (kind == "\r" and text.peek() == "\n"):
            if kind == "\r":
                text.take()
            while text.peek() in " \t":
                text.take()
        elif kind == "x":
            found.append(int(digits(text, 2, "0123456789abcdefABCDEF"), 16))
        elif kind in "0123456789":
            number = int(kind + digits(text, 2, "0123456789"))
            if number > 255:
                raise RefusedError("no byte")
            found.append(number)
        else:
            raise RefusedError("no escape")
    return bytes(found)


def digits(text: Characters, count: int, known: str) -> str:
    found = ""
    while len(found) < count:
        if text.peek() not in known:
            raise RefusedError("no digit")
        found += text.take()
    return found


def requests(data: bytes, *, publishes: bool = True, hook: bool = False) -> tuple[list[Decoded], str]:
    """Return the requests of lines, empty ones left out, and how they end: whole, partial or refused."""
    text, found = Characters(data), list[Decoded]()
    try:
        while not text.is_over():
            begin(text)
            if text.is_over():
                break
            read = expression(text)
            skip(text, lines=False)  # a request ends with its line, or where another expression begins
            text.peek(text.peek() == "#")
            found.append(at_hook(read) if hook else request(read, publishes=publishes))
    except PartialError:
        return found, "partial"
    except RefusedError:
        return found, "refused"
    return found, "whole"


def begin(text: Characters) -> None:
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


def request(read: Tree, *, publishes: bool) -> Decoded:
    name, rest = constructed(read)
    if name == "Connect":
        version, who = exactly(rest, 2)
        return "CONNECT", {"version": number(version, -(1 << 63), (1 << 63) - 1), "id": atom(who)}
    if name == "Subscribe":
        topic, where = exactly(rest, 2)
        word, more = (where, []) if isinstance(where, bytes) else constructed_bytes(where)
        place = one_of(REPLAYS, word)
        if (place == 1) != (isinstance(where, list) and len(more) == 1) or (place != 1 and isinstance(where, list)):
            raise RefusedError("an argument")
        message = number(more[0], 0, (1 << 64) - 1) if more else 0
        return "SUBSCRIBE", {"topic": atom(topic), "replay": place, "message": message}
    if name == "Unsubscribe":
        return "UNSUBSCRIBE", {"topic": atom(exactly(rest, 1)[0])}
    if name == "Ack":
        return "ACK", {"time": time(exactly(rest, 1)[0])}
    if name == "Publish" and publishes:
        topic, body = exactly(rest, 2)
        return "PUBLISH", {"topic": atom(topic), "body": atom(body)}
    raise RefusedError(f"no request {name}")


def at_hook(read: Tree) -> Decoded:
    name, rest = constructed(read)
    if name == "Publish":
        topic, body = exactly(rest, 2)
        return "HOOK_PUBLISH", {"topic": atom(topic), "body": atom(body)}
    if name != "Create":
        raise RefusedError(f"no request {name}")
    topic, delivery, kept = exactly(rest, 3)
    fields = {"topic": atom(topic), "delivery": one_of(DELIVERIES, atom(delivery))}
    if isinstance(kept, bytes):
        if one_of(PERSISTENCES, kept) != 0:
            raise RefusedError("Persistent of what")
        return "HOOK_CREATE", {**fields, "persistence": 0, "sync": 0}
    word, more = constructed_bytes(kept)
    if one_of(PERSISTENCES, word) != 1:
        raise RefusedError("Transient of something")
    return "HOOK_CREATE", {**fields, "persistence": 1, "sync": one_of(SYNCS, atom(exactly(more, 1)[0]))}


def constructed(read: Tree) -> tuple[str, list[Tree]]:
    word, rest = constructed_bytes(read)
    return upper(word).decode("latin-1"), rest


def constructed_bytes(read: Tree) -> tuple[bytes, list[Tree]]:
    if not isinstance(read, list) or not read or not isinstance(read[0], bytes):
        raise RefusedError("no constructor")
    return read[0], read[1:]


def exactly(items: list[Tree], count: int) -> list[Tree]:
    if len(items) != count:
        raise RefusedError("too few or too many")
    return items


def upper(word: bytes) -> bytes:
    first = word[:1]
    return (bytes([first[0] - 32]) if b"a" <= first <= b"z" else first) + word[1:]


def one_of(words: tuple[str, ...], word: bytes) -> int:
    known = upper(word).decode("latin-1")
    if known not in words:
        raise RefusedError("no such word")
    return words.index(known)


def atom(read: Tree) -> bytes:
    if isinstance(read, list):
        raise RefusedError("a list for an atom")
    return read


def number(read: Tree, least: int, most: int) -> int:
    text = atom(read).decode("latin-1")
    sign, plain = (-1, text[1:]) if text.startswith("-") else (1, text)
    found = sign * natural(plain)
    if not least <= found <= most:
        raise RefusedError("beyond its range")
    return found


def natural(text: str) -> int:
    if not text:
        raise RefusedError("no digits")
    found = 0
    for one in text:
        if one not in "0123456789":
            raise RefusedError("no number")
        found = min(found * 10 + "0123456789".index(one), 1 << 70)
    return found


def time(read: Tree) -> int:
    """Return microseconds since 1970."""
    if isinstance(read, list):
        date, clock = (atom(one).decode("latin-1") for one in exactly(read, 2))
        text = f"{date} {clock}"
    else:
        text = read.decode("latin-1")
        if text and all(one in "0123456789" for one in text):
            seconds = natural(text)
            if seconds > LAST:
                raise RefusedError("beyond the year 9999")
            return seconds * 1_000_000
    if len(text) < 19 or (text[4], text[7], text[10], text[13], text[16]) != ("-", "-", " ", ":", ":"):
        raise RefusedError("no time")
    year, month, day, hour, minute, second = (
        natural(text[a:b]) for a, b in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))
    )
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (year and 1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        raise RefusedError("no such time")
    if not 1 <= day <= DAYS[month - 1] + (leap and month == 2):
        raise RefusedError("no such day")
    micros, offset = fraction_and_zone(text[19:])
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719162
    days += sum(DAYS[: month - 1]) + (leap and month > 2) + day - 1
    seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
    if not FIRST <= seconds <= LAST:
        raise RefusedError("beyond the years 1 to 9999")
    return seconds * 1_000_000 + micros


def fraction_and_zone(text: str) -> tuple[int, int]:
    micros = 0
    if text.startswith("."):
        size = 1
        while size < len(text) and text[size] in "0123456789":
            size += 1
        if not 2 <= size <= 7:
            raise RefusedError("one to six decimals")
        micros, text = natural(text[1:size]) * 10 ** (7 - size), text[size:]
    if text in ("", "Z"):
        return micros, 0
    if len(text) != 6 or text[0] not in "+-" or text[3] != ":":
        raise RefusedError("no zone")
    hours, minutes = natural(text[1:3]), natural(text[4:6])
    if hours > 23 or minutes > 59:
        raise RefusedError("no such zone")
    return micros, (1 if text[0] == "+" else -1) * (hours * 3600 + minutes * 60)


NAMES = ("ERROR", "PING", "MESSAGE", "SUBSCRIBED", "UNSUBSCRIBED")


def frame(data: bytes) -> tuple[str, dict[str, Any], int]:
    """Return name, fields and size of the first frame."""
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
        return name, {"time": unsigned(payload)}, 4 + size
    if name == "MESSAGE":
        if len(payload) < 12:
            raise RefusedError("two ids")
        fields = {"id": unsigned(payload[:8]), "topic": unsigned(payload[8:12]), "body": payload[12:]}
        return name, fields, 4 + size
    return name, record(payload, name), 4 + size


def unsigned(data: bytes) -> int:
    found = 0
    for one in data:
        found = found * 256 + one
    return found


def record(payload: bytes, name: str) -> dict[str, Any]:
    read = alone(payload)
    if isinstance(read, list) and len(read) == 2 and isinstance(read[0], bytes):  # the other form of N2
        if upper(read[0]).decode("latin-1") != name.capitalize():
            raise RefusedError("another constructor")
        read = read[1]
    if not isinstance(read, list) or len(read) != 2:
        raise RefusedError("two fields")
    fields: dict[str, Any] = {}
    for pair in read:
        if not isinstance(pair, list) or len(pair) != 2:
            raise RefusedError("a name and a value")
        key = atom(pair[0])
        if key in fields or key not in (b"id", b"topic"):
            raise RefusedError("another field")
        fields[key] = number(pair[1], 0, (1 << 32) - 1) if key == b"id" else atom(pair[1])
    return {"id": fields[b"id"], "topic": fields[b"topic"]}


def alone(data: bytes) -> Tree:
    """Return the one expression that data is."""
    text = Characters(data + b"\n")
    try:
        skip(text, lines=True)
        read = expression(text)
        skip(text, lines=True, may_end=True)
    except PartialError:
        raise RefusedError("no whole expression") from None
    if not text.is_over():
        raise RefusedError("something after it")
    return read
