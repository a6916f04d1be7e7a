"""S-expressions from a stream, one byte after the other, and what their atoms say."""

from __future__ import annotations

import re
from datetime import datetime
from typing import BinaryIO

Tree = bytes | list["Tree"]
ESCAPES = dict(zip(b"ntbr\\\"'", b"\n\t\b\r\\\"'", strict=True))


class MalformedError(Exception):
    """A line that is no request (N13)."""


class Lines:
    """Reads one expression after the other from a blocking stream."""

    def __init__(self, stream: BinaryIO, longest: int) -> None:
        self.stream, self.longest, self.taken, self.kept = stream, longest, 0, -1

    def get(self) -> int:
        if self.kept >= 0:
            found, self.kept = self.kept, -1
            return found
        data = self.stream.read(1)
        if not data:
            raise EOFError
        self.taken += 1
        if self.taken > self.longest:
            raise MalformedError(f"a line has at most {self.longest} bytes")
        return data[0]

    def next(self) -> Tree | None:
        """Return the next expression; None for a line without one."""
        self.taken = 0
        lists: list[list[Tree]] = [[]]
        drops = [0]
        while True:
            one = self._next_token(drops, is_outside=len(lists) == 1)
            if one == 10:
                return lists[0][0] if lists[0] else None
            if len(lists) == 1 and lists[0] and not drops[0]:
                raise MalformedError("two requests in one line")
            if one == ord("("):
                lists.append([])
                drops.append(0)
                continue
            if one == ord(")"):
                if len(lists) == 1 or drops.pop():
                    raise MalformedError("a parenthesis that closes nothing, or a comment of nothing")
                done: Tree = lists.pop()
            else:
                done = self._quoted() if one == ord('"') else self._bare(one)
            if drops[-1]:
                drops[-1] -= 1
            else:
                lists[-1].append(done)

    def _next_token(self, drops: list[int], *, is_outside: bool) -> int:
        """Return the first byte of what says something, or 10 for the end of a request."""
        while True:
            one = self.get()
            if one == 10 and is_outside and not drops[0]:
                return one
            if one == ord(";"):
                self._line_comment()
            elif one == ord("#"):
                second = self.get()
                if second == ord("|"):
                    self._block_comment()
                elif second == ord(";"):
                    drops[-1] += 1
                else:
                    self.kept = second
                    return one
            elif one not in b" \t\r\n\f":
                return one

    def _line_comment(self) -> None:
        while (one := self.get()) != 10:
            pass
        self.kept = one

    def _block_comment(self) -> None:
        depth, last = 1, 0
        while depth:
            one = self.get()
            step = {(35, 124): 1, (124, 35): -1}.get((last, one), 0)
            depth, last = depth + step, 0 if step else one

    def _bare(self, first: int) -> bytes:
        found = bytearray([first])
        while (one := self.get()) not in b' \t\r\n\f()";':
            found.append(one)
        self.kept = one
        if b"#|" in found or b"|#" in found:
            raise MalformedError("an atom with the mark of a comment")
        return bytes(found)

    def _quoted(self) -> bytes:
        found = bytearray()
        while (one := self.get()) != ord('"'):
            if one != ord("\\"):
                found.append(one)
                continue
            kind = self.get()
            if kind in ESCAPES:
                found.append(ESCAPES[kind])
            elif kind in b"\r\n":
                if kind == 13 and self.get() != 10:
                    raise MalformedError("a backslash before a lone CR")
                while (one := self.get()) in b" \t":
                    pass
                self.kept = one
            else:
                found.append(self._number(kind))
        return bytes(found)

    def _number(self, kind: int) -> int:
        text = bytes([self.get(), self.get()]) if kind in b"x0123456789" else b""
        try:
            if kind == ord("x") and re.fullmatch(rb"[0-9a-fA-F]{2}", text):
                return int(text, 16)
            if text.isdigit() and int(bytes([kind]) + text) < 256:
                return int(bytes([kind]) + text)
        except ValueError:
            pass
        raise MalformedError("an escape that is none")


def word(tree: Tree, known: str) -> str:
    """Return which of some constructors an atom is; its first letter may have either case."""
    for one in known.split():
        if isinstance(tree, bytes) and tree[1:] == one[1:].encode() and tree[:1].upper() == one[:1].encode():
            return one
    raise MalformedError(f"expected one of {known}")


def text(tree: Tree) -> bytes:
    if isinstance(tree, list):
        raise MalformedError("expected an atom")
    return tree


def number(tree: Tree, least: int, most: int) -> int:
    digits = text(tree)
    if not re.fullmatch(rb"-?[0-9]{1,40}", digits) or not least <= int(digits) <= most:
        raise MalformedError(f"expected a number from {least} to {most}")
    return int(digits)


def check_time(tree: Tree) -> None:
    """Check a time: what it is does not matter here."""
    if isinstance(tree, bytes) and re.fullmatch(rb"[0-9]{1,11}", tree):
        return
    parts = tree if isinstance(tree, list) else [tree]
    if isinstance(tree, list) and len(parts) != 2:
        raise MalformedError("expected a time")
    sent = b" ".join(map(text, parts)).decode("latin-1")
    found = re.fullmatch(
        r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,6})?(?:Z|[+-]([01]\d|2[0-3]):[0-5]\d)?", sent, re.A
    )
    try:
        datetime.strptime(found[1] if found else "", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise MalformedError("expected a time") from None


def atom(value: bytes) -> bytes:
    """Write an atom, bare where that is possible."""
    if re.fullmatch(rb"[!-~]+", value) and not re.search(rb'[()";\\]|#\||\|#', value):
        return value
    return b'"' + re.sub(rb"[^ !#-\[\]-~]", lambda found: b"\\%03d" % found[0][0], value) + b'"'
