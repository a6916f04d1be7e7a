"""A naive reader of s-expressions: one byte after the other, by recursion, without a line of the codec.

It raises `PartialError` where the bytes end too early, `RefusedError` where they are wrong.
"""

from __future__ import annotations

__all__ = ["Characters", "PartialError", "RefusedError", "Tree", "alone", "expression", "skip"]

Tree = bytes | list["Tree"]
SPACE = b" \t\r\f"
ESCAPES = {"n": 10, "t": 9, "b": 8, "r": 13, "\\": 92, '"': 34, "'": 39}
MOST_LISTS = 16
"""Lists within lists that are kept: no message has more than three."""


class RefusedError(ValueError):
    """The bytes are wrong, whatever follows."""


class PartialError(ValueError):
    """The bytes may be right, and are not whole."""


class Characters:
    """The bytes, one at a time."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def peek(self, ahead: int = 0) -> str:
        """Return the next byte, or one after it. Raises `PartialError`."""
        if self.at + ahead >= len(self.data):
            raise PartialError
        return chr(self.data[self.at + ahead])

    def take(self) -> str:
        """Take the next byte. Raises `PartialError`."""
        found = self.peek()
        self.at += 1
        return found

    def is_over(self) -> bool:
        """Return whether all were taken."""
        return self.at >= len(self.data)


def skip(text: Characters, *, lines: bool, may_end: bool = False) -> None:
    """Skip what says nothing; line ends, too, and expressions after `#;`, with `lines`.

    With `may_end` nothing need follow. Raises `PartialError` and `RefusedError`.
    """
    while not (may_end and text.is_over()):
        one = text.peek()
        if one in SPACE.decode() or (one == "\n" and lines):
            text.take()
        elif one == ";":
            while text.peek() != "\n":
                text.take()
        elif one == "#" and text.peek(1) == "|":
            _block(text)
        elif one == "#" and text.peek(1) == ";" and lines:
            text.take()
            text.take()
            skip(text, lines=True)
            expression(text, 0, dropped=True)
        else:
            return


def _block(text: Characters) -> None:
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
    """Take one expression; `dropped` after `#;`. Raises `PartialError` and `RefusedError`."""
    one = text.peek()
    if one == ")":
        raise RefusedError("a list that was not begun")
    if one == '"':
        return _quoted(text)
    if one != "(":
        return _bare(text)
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


def _bare(text: Characters) -> bytes:
    found = ""
    while text.peek() not in ' \t\r\f\n()";':
        found += text.take()
    if "#|" in found or "|#" in found:
        raise RefusedError("a mark of a comment in an atom")
    return found.encode("latin-1")


def _quoted(text: Characters) -> bytes:
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
            found.append(int(_digits(text, 2, "0123456789abcdefABCDEF"), 16))
        elif kind in "0123456789":
            number = int(kind + _digits(text, 2, "0123456789"))
            if number > 255:
                raise RefusedError("no byte")
            found.append(number)
        else:
            raise RefusedError("no escape")
    return bytes(found)


def _digits(text: Characters, count: int, known: str) -> str:
    found = ""
    while len(found) < count:
        if text.peek() not in known:
            raise RefusedError("no digit")
        found += text.take()
    return found


def alone(data: bytes) -> Tree:
    """Return the one expression that data is. Raises `RefusedError`."""
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
