"""S-expressions as OCaml's converters print and read them: one at a time from bytes that come in any pieces.

    reader = SexpReader()
    while not reader.read_on(data, at, end): ...    # more bytes after those
    reader.found, reader.stop                       # the expression (None: an empty line), and its size

An expression ends with its line; without a line end after it, where the next one begins. Spaces, line ends between
items, and three kinds of comment (`; line`, `#| block |#`, `#; expression`) say nothing.
"""

# Strategy
#
# What a peer sends decides how long reading takes and how much is kept, so both are bounded here. The reader is a
# machine that keeps its place and its state: bytes that were looked at are never looked at again, however small the
# pieces are in which they come, and runs of plain bytes are skipped by a regular expression. So the time is linear in
# the bytes, whatever they hold.
#
# Nothing recurses. Open lists are a stack, `DEEPEST` high at most, since no message is deeper. A list after `#;` may
# nest as it likes: nothing of it is kept but a number for each of its open lists, how many expressions after `#;` are
# still to come there. Block comments nest, too, and are counted.
#
# The reader judges no size: who calls it knows the limit of a line and gives it no more bytes than that.

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["DEEPEST", "Branch", "Leaf", "SexpError", "SexpReader", "quoted", "read_sexp", "written_atom"]

DEEPEST = 16
"""Lists within lists that are read."""
_BARE = re.compile(rb'[^ \t\n\r\f()";]*')
_SPACE = re.compile(rb"[ \t\r\f]*")
_SPACE_AND_LINES = re.compile(rb"[ \t\n\r\f]*")
_INDENT = re.compile(rb"[ \t]*")
_QUOTED = re.compile(rb'[^"\\]*')
_BLOCK = re.compile(rb"#\||\|#")
_NEEDS_QUOTES = re.compile(rb'[\x00-\x20\x7f-\xff"();\\]|#\||\|#')
_UNPRINTABLE = re.compile(rb'[\x00-\x1f\x7f-\xff"\\]')
_ESCAPES = {
    ord("n"): 10, ord("t"): 9, ord("b"): 8, ord("r"): 13, ord("\\"): 92, ord('"'): 34, ord("'"): 39,
}  # fmt: skip
_ESCAPED = {10: b"\\n", 9: b"\\t", 8: b"\\b", 13: b"\\r", 92: b"\\\\", 34: b'\\"'}
_OPEN, _CLOSE, _QUOTE, _LINE, _HASH, _BAR, _END = b'()";#|\n'


class SexpError(ValueError):
    """Raised for bytes that are no s-expression; `at` is where, counted from the expression's first byte."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


@dataclass(frozen=True, slots=True)
class Leaf:
    """An atom."""

    value: bytes
    at: int
    """Where it begins, counted from the expression's first byte."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A list."""

    items: list[Leaf | Branch]
    at: int


class _Mode(Enum):
    BETWEEN = auto()
    BARE = auto()
    QUOTED = auto()
    INDENT = auto()
    """After a backslash at a line end: spaces are skipped."""
    LINE = auto()
    BLOCK = auto()


class SexpReader:
    """Reads one expression; see the module."""

    def __init__(self) -> None:
        self.found: Leaf | Branch | None = None
        """The expression; None while it is not whole, and for a line without one."""
        self.stop = 0
        """How many bytes it takes with its line end, once it is whole."""
        self._at = self._start = 0
        self._mode = _Mode.BETWEEN
        self._parts = bytearray()
        self._open: list[Branch] = []
        self._due = [0]
        """For what is outside of all lists, and for each open one: `#;` whose expression is still to come."""
        self._dropped = self._blocks = 0
        """Open lists of an expression that is dropped; open block comments."""

    def read_on(self, data: bytes | bytearray, base: int, end: int) -> bool:
        """Read what came since the last call; say whether the expression is whole.

        `data[base:end]` begins with the expression's first byte, at each call. Raises `SexpError`.
        """
        steps = {
            _Mode.BETWEEN: self._between,
            _Mode.BARE: self._bare,
            _Mode.QUOTED: self._quoted,
            _Mode.INDENT: self._indent,
            _Mode.LINE: self._line,
            _Mode.BLOCK: self._block,
        }
        while not self.stop:
            if not steps[self._mode](data, base, end):
                return False
        return True

    def _between(self, data: bytes | bytearray, base: int, end: int) -> bool:
        """Read white space and what a token begins with."""
        is_inside = bool(self._open or self._dropped or self._due[0])
        at = (_SPACE_AND_LINES if is_inside else _SPACE).match(data, base + self._at, end).end()  # type: ignore[union-attr]
        self._at = at - base
        if at == end:
            return False
        first = data[at]
        if first == _LINE:
            self._mode = _Mode.LINE
        elif first == _HASH:
            if at + 1 == end:
                return False
            self._hash(data[at + 1])
        elif first == _END:
            self.stop = self._at + 1
        elif self.found is not None:
            self.stop = self._at
        else:
            self._token(first)
        return True

    def _token(self, first: int) -> None:
        """Begin or end a list, or begin an atom."""
        if first == _OPEN:
            self._begin()
        elif first == _CLOSE:
            self._finish()
        elif first == _QUOTE:
            self._start, self._parts = self._at, bytearray()
            self._at += 1
            self._mode = _Mode.QUOTED
        else:
            self._start = self._at
            self._mode = _Mode.BARE

    def _hash(self, second: int) -> None:
        if second == _BAR:
            self._start = self._at
            self._at += 2
            self._blocks = 1
            self._mode = _Mode.BLOCK
        elif self.found is not None:
            self.stop = self._at
        elif second == _LINE:
            self._at += 2
            self._due[-1] += 1
        else:
            self._start = self._at
            self._mode = _Mode.BARE

    def _begin(self) -> None:
        if self._dropped or self._due[-1]:
            self._dropped += 1
        elif len(self._open) == DEEPEST:
            raise SexpError(f"expected at most {DEEPEST} lists within lists", self._at)
        else:
            self._open.append(Branch([], self._at))
        self._due.append(0)
        self._at += 1

    def _finish(self) -> None:
        self._at += 1
        if not (self._open or self._dropped):
            raise SexpError("expected an expression, got )", self._at - 1)
        if self._due[-1]:
            raise SexpError("expected an expression after #;, got )", self._at - 1)
        self._due.pop()
        if self._dropped:
            self._dropped -= 1
            self._due[-1] -= self._due[-1] > 0
        else:
            self._take(self._open.pop())

    def _take(self, expression: Leaf | Branch) -> None:
        """Put an expression where it belongs."""
        self._mode = _Mode.BETWEEN
        if self._due[-1]:
            self._due[-1] -= 1
        elif self._dropped:
            return
        elif self._open:
            self._open[-1].items.append(expression)
        else:
            self.found = expression

    def _bare(self, data: bytes | bytearray, base: int, end: int) -> bool:
        at = _BARE.match(data, base + self._at, end).end()  # type: ignore[union-attr]
        self._at = at - base
        if at == end:
            return False
        value = bytes(data[base + self._start : at])
        if b"#|" in value or b"|#" in value:
            raise SexpError("expected quotes around an atom with #| or |# in it", self._start)
        self._take(Leaf(value, self._start))
        return True

    def _quoted(self, data: bytes | bytearray, base: int, end: int) -> bool:
        at = _QUOTED.match(data, base + self._at, end).end()  # type: ignore[union-attr]
        self._parts += data[base + self._at : at]
        self._at = at - base
        if at == end:
            return False
        if data[at] == _QUOTE:
            self._at += 1
            self._take(Leaf(bytes(self._parts), self._start))
            return True
        return self._escape(data[at + 1 : min(at + 4, end)])

    def _escape(self, rest: bytes | bytearray) -> bool:
        """Read what stands after a backslash, of which `rest` is there."""
        if not rest:
            return False
        size, first = 1, rest[0]
        if first in _ESCAPES:
            self._parts.append(_ESCAPES[first])
        elif first == _END or rest[:2] == b"\r\n":
            size += first != _END
            self._mode = _Mode.INDENT
        elif rest == b"\r":
            return False
        elif first == ord("x") or 48 <= first <= 57:
            size = 3
            digits = bytes(rest[1:] if first == ord("x") else rest)
            if digits and not re.fullmatch(rb"[0-9a-fA-F]*" if first == ord("x") else rb"[0-9]*", digits):
                raise SexpError("expected two hexadecimal or three decimal digits after \\", self._at)
            if len(rest) < size:
                return False
            number = int(digits, 16 if first == ord("x") else 10)
            if number > 255:
                raise SexpError(f"expected a number of at most 255 after \\, got {number}", self._at)
            self._parts.append(number)
        else:
            raise SexpError(f"expected an escape after \\, got {first:02x}", self._at)
        self._at += 1 + size
        return True

    def _indent(self, data: bytes | bytearray, base: int, end: int) -> bool:
        at = _INDENT.match(data, base + self._at, end).end()  # type: ignore[union-attr]
        self._at = at - base
        if at == end:
            return False
        self._mode = _Mode.QUOTED
        return True

    def _line(self, data: bytes | bytearray, base: int, end: int) -> bool:
        at = data.find(b"\n", base + self._at, end)
        self._at = (end if at < 0 else at) - base
        if at < 0:
            return False
        self._mode = _Mode.BETWEEN
        return True

    def _block(self, data: bytes | bytearray, base: int, end: int) -> bool:
        for mark in _BLOCK.finditer(data, base + self._at, end):
            self._at = mark.end() - base
            self._blocks += 1 if mark[0] == b"#|" else -1
            if not self._blocks:
                self._mode = _Mode.BETWEEN
                return True
        self._at = max(self._at, end - 1 - base)
        return False


def read_sexp(data: bytes) -> Leaf | Branch:
    """Return the one expression that `data` is, over any number of lines. Raises `SexpError`."""
    text, at, found = data + b"\n", 0, None
    while at < len(text):
        reader = SexpReader()
        try:
            is_whole = reader.read_on(text, at, len(text))
        except SexpError as error:
            raise SexpError(error.message, at + error.at) from None
        if not is_whole:
            raise SexpError("expected a whole expression", len(data))
        if reader.found is not None and found is not None:
            raise SexpError("expected nothing after the expression", at)
        found = found or reader.found
        at += reader.stop
    if found is None:
        raise SexpError("expected a whole expression", len(data))
    return found


def written_atom(value: bytes) -> bytes:
    """Return an atom as it is written: bare where it can be, otherwise quoted."""
    return value if value and not _NEEDS_QUOTES.search(value) else quoted(value)


def quoted(value: bytes) -> bytes:
    """Return an atom in quotes; what is not printable is escaped."""
    return b'"' + _UNPRINTABLE.sub(lambda found: _ESCAPED.get(found[0][0]) or b"\\%03d" % found[0][0], value) + b'"'
