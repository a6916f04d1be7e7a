"""S-expressions: what is read, what is refused and where, in any pieces; against a naive reader that takes its time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof.protocols.sexp import DEEPEST, Branch, Leaf, SexpError, SexpReader, quoted, read_sexp, written_atom

Tree = bytes | list["Tree"]


def tree(expression: Leaf | Branch) -> Tree:
    return expression.value if isinstance(expression, Leaf) else [tree(one) for one in expression.items]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"a", b"a"),
        (b"(a b)", [b"a", b"b"]),
        (b"(a(b)c)", [b"a", [b"b"], b"c"]),
        (b'("a b"c"d")', [b"a b", b"c", b"d"]),
        (b'("\\n\\t\\b\\r\\\\\\"\\\'")', [b"\n\t\b\r\\\"'"]),
        (b'("\\065\\x41\\xfF\\000")', [b"AA\xff\0"]),
        (b'("a\\\n  \t b")', [b"ab"]),
        (b'("a\\\r\n b")', [b"ab"]),
        (b'("a\nb")', [b"a\nb"]),
        (b'( a ; ) " #|\n b)', [b"a", b"b"]),
        (b"(#| ( #| ) |# |#a)", [b"a"]),
        (b"(a #;b c)", [b"a", b"c"]),
        (b"(a #; #; b c d)", [b"a", b"d"]),
        (b"(a #;(b #;c (d)) e)", [b"a", b"e"]),
        (b"(#;" + b"(" * 100 + b")" * 100 + b" a)", [b"a"]),
        (b"#;(x) a", b"a"),
        (b"#;x #|y|# ; z\n a", b"a"),
        (b"(#a a#b |a a| ||)", [b"#a", b"a#b", b"|a", b"a|", b"||"]),
        (b"()", []),
        (b'""', b""),
        (b"(\xc3\xa9 \x01)", [b"\xc3\xa9", b"\x01"]),
        (b"(a\x0cb\tc\r\nd)", [b"a", b"b", b"c", b"d"]),
    ],
)
def test_what_is_read(text: bytes, found: Tree) -> None:
    assert tree(read_sexp(text)) == found


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        (b")", 0, "expected an expression"),
        (b"(a))", 3, "expected an expression, got"),
        (b"(a #;)", 5, "after #;"),
        (b"(a #;(b #;) c)", 10, "after #;"),
        (b"(a #;(#; #; b) c)", 13, "after #;"),
        (b'("\\q")', 2, "an escape"),
        (b'("\\1x3")', 2, "digits"),
        (b'("\\x4g")', 2, "digits"),
        (b'("\\256")', 2, "at most 255"),
        (b"(a#|b)", 1, "quotes"),
        (b"(a|#b)", 1, "quotes"),
        (b"(" * (DEEPEST + 1), DEEPEST, "lists within lists"),
        (b"(a", 2, "whole"),
        (b"", 0, "whole"),
        (b'"a', 2, "whole"),
        (b"#| a", 4, "whole"),
        (b"a b", 2, "nothing after"),
    ],
)
def test_what_is_refused_and_where(text: bytes, at: int, why: str) -> None:
    with pytest.raises(SexpError, match=why) as error:
        read_sexp(text)

    assert error.value.at == at


def pieces(data: bytes, size: int) -> tuple[object, int]:
    """Read data that comes in pieces."""
    reader, there = SexpReader(), bytearray()
    for at in range(0, len(data), size):
        there += data[at : at + size]
        if reader.read_on(there, 0, len(there)):
            break
    return reader.found and tree(reader.found), reader.stop


SAMPLES = [
    b'(Subscribe "a\\n\\065\\x41\\\n  b"(From_message 42)) ; end\n',
    b'#| a #| b |# c |# #;(x (y)) (a#b |c "#|") #| ; |#\n',
    b" \t ; only a comment )\n",
    b'("\\\r\n a" #;#;b c d)(next)\n',
    b"#;x ; y\n(a)\r\n",
    b"a #;b\n",
    b"(a)#\n",
    b"(a) #x\n",
    b'("\\\r")',
]


@pytest.mark.parametrize("data", SAMPLES)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_do_not_matter(data: bytes, size: int) -> None:
    try:
        expected = pieces(data, len(data))
    except SexpError as error:
        with pytest.raises(SexpError, match=re.escape(error.message)):
            pieces(data, size)
    else:
        assert pieces(data, size) == expected


def test_an_expression_ends_with_its_line() -> None:
    assert pieces(b"(a) ; b\n(c)\n", 100) == ([b"a"], 8)
    assert pieces(b"(a)(c)\n", 100) == ([b"a"], 3)
    assert pieces(b"(a) #;(b)\n", 100) == ([b"a"], 4)
    assert pieces(b"  \n(a)\n", 100) == (None, 3)


@pytest.mark.parametrize(
    "data",
    [
        b"#;" * 200_000, b"#|" * 500_000, b"(" * 300_000, b'"' + b"\\\n " * 100_000, b";" * 1_000_000,
        b"#;(" + b"(" * 300_000, b"a" * 1_000_000, b"#|" + b"#" * 1_000_000, b'"' + b"\\065" * 100_000,
        b"(#;x" * 60_000, b" " * 1_000_000,
    ],
    ids=lambda data: repr(data[:6]),
)  # fmt: skip
def test_time_is_linear_in_whatever_is_sent(data: bytes) -> None:
    began, reader, there = time.process_time(), SexpReader(), bytearray()
    try:
        for at in range(0, len(data), 1000):
            there += data[at : at + 1000]
            reader.read_on(there, 0, len(there))
    except SexpError:
        assert data[0] == ord("(")

    assert time.process_time() - began < 10


def naive(text: bytes) -> Tree:
    """Read the one expression of a text, simply and slowly, as the grammar says it."""
    found, rest = _naive(_blank(text))
    if _blank(rest):
        raise ValueError(rest)
    return found


def _blank(text: bytes) -> bytes:
    while True:
        if text[:1] in (b" ", b"\t", b"\n", b"\r", b"\x0c") and text:
            text = text[1:]
        elif text[:1] == b";":
            text = text.partition(b"\n")[2]
        elif text[:2] == b"#|":
            depth, at = 1, 2
            while depth:
                if at >= len(text):
                    raise ValueError("a comment without end")
                step = {b"#|": 1, b"|#": -1}.get(text[at : at + 2], 0)
                depth, at = depth + step, at + (2 if step else 1)
            text = text[at:]
        elif text[:2] == b"#;":
            _, text = _naive(_blank(text[2:]))
        else:
            return text


def _naive(text: bytes) -> tuple[Tree, bytes]:
    if text[:1] == b"(":
        items: list[Tree] = []
        text = _blank(text[1:])
        while text[:1] != b")":
            one, text = _naive(text)
            items.append(one)
            text = _blank(text)
        return items, text[1:]
    if text[:1] == b'"':
        return _naive_quoted(text[1:])
    at = 0
    while at < len(text) and text[at : at + 1] not in (b" ", b"\t", b"\n", b"\r", b"\x0c", b"(", b")", b'"', b";"):
        at += 1
    if not at or b"#|" in text[:at] or b"|#" in text[:at]:
        raise ValueError(text[:20])
    return text[:at], text[at:]


def _naive_quoted(text: bytes) -> tuple[bytes, bytes]:
    found = b""
    simple = {b"n": b"\n", b"t": b"\t", b"b": b"\b", b"r": b"\r", b"\\": b"\\", b'"': b'"', b"'": b"'"}
    while text[:1] != b'"':
        if not text:
            raise ValueError("quotes without end")
        if text[:1] != b"\\":
            found, text = found + text[:1], text[1:]
        elif text[1:2] in simple:
            found, text = found + simple[text[1:2]], text[2:]
        elif text[1:2] == b"\n" or text[1:3] == b"\r\n":
            text = text.partition(b"\n")[2].lstrip(b" \t")
        elif text[1:4].isdigit() and len(text[1:4]) == 3:
            found, text = found + bytes([int(text[1:4])]), text[4:]
        elif text[1:2] == b"x" and len(text[2:4]) == 2:
            found, text = found + bytes.fromhex(text[2:4].decode("latin-1").replace(" ", "z")), text[4:]
        else:
            raise ValueError(text[:4])
    return found, text[1:]


ALPHABET = [
    b"(",
    b")",
    b'"',
    b";",
    b"#",
    b"|",
    b"#|",
    b"|#",
    b"#;",
    b"\\",
    b"\n",
    b" ",
    b"a",
    b"\\x4",
    b"\\06",
    b"5",
    b"\r\n",
]


@given(st.lists(st.sampled_from(ALPHABET), max_size=24).map(b"".join))
def test_a_naive_reader_reads_the_same(text: bytes) -> None:
    try:
        expected: Tree | None = naive(text)
    except ValueError:
        expected = None
    try:
        found: Tree | None = tree(read_sexp(text))
    except SexpError:
        found = None

    assert found == expected


@given(st.binary(max_size=60))
def test_an_atom_is_read_as_it_was_written(value: bytes) -> None:
    assert read_sexp(written_atom(value)) == Leaf(value, 0)
    assert read_sexp(quoted(value)) == Leaf(value, 0)
    assert b"\n" not in written_atom(value)
