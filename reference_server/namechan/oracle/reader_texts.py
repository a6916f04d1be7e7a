"""Texts of requests, right and wrong, that spell what the document allows in ways that no codec writes."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["TEXTS"]

TIMES = (
    b"0", b"253402300799", b"253402300800", b'"2013-01-01 12:00:00"', b'"2013-01-01 12:00:00Z"',
    b'"2013-01-01 12:00:00.5"', b'"2013-01-01 12:00:00.000001-01:30"', b'"2013-01-01 12:00:00.1234567"',
    b'"2013-01-01 12:00:00+23:59"', b'"2013-01-01 12:00:00-00:60"', b'"2013-01-01 12:00:00+24:00"',
    b"(2013-01-01 12:00:00.25+01:00)", b'(2013-01-01 "12:00:00")', b'"2000-02-29 00:00:00"',
    b'"1900-02-29 00:00:00"',
    b'"2013-04-31 00:00:00"', b'"0001-01-01 00:00:00+00:01"', b'"9999-12-31 23:59:59-00:01"', b'"2013-01-01T12:00:00"',
    b'"2013-01-01 24:00:00"', b'"2013-01-01 12:60:00"', b'"2013-01-01 12:00:60"',
)  # fmt: skip
ATOMS = (
    rb'"\n\t\b\r\\\"\'"', rb'"\x41\x7F\xff"', rb'"\065\255"', rb'"\256"', rb'"\x4"', rb'"\a"', b'"a\\\n \t b"',
    b'"a\\\r\n  b"', b"a|#b", b"a#|b", b"a#b", b"a|b", b"#b", b"a'b", b"a\\nb", b'""', b'"a""b"', b'a"b"',
)  # fmt: skip
COMMENTS = (
    b"(Unsubscribe #; a b)\n", b"(Unsubscribe #; #; a b c)\n", b"#; #; a b (Unsubscribe c)\n", b"(Unsubscribe a #;)\n",
    b"#;(a (b) #; c) (Unsubscribe d)\n", b"#| a #| b |# c |# (Unsubscribe d)\n", b"(Unsubscribe ; a)\n b)\n",
    b"; a\n\n(Unsubscribe b) ; c\n", b"(Unsubscribe #| a |# b)(Unsubscribe c)\n", b"(Unsubscribe a) #| b\n |#\n",
    b"(Unsubscribe a))\n", b"(Unsubscribe (a))\n", b"(Unsubscribe)\n", b"(Unsubscribe a b)\n", b"Unsubscribe a\n",
    b"()\n",
    b"(Unsubscribe\na)\n", b"(Unsubscribe a)\r\n", b" \t\r\f(Unsubscribe a)\n", b"(" * 16 + b"\n", b"(" * 17 + b"\n",
)  # fmt: skip
WORDS = (
    b"(connect 1 a)\n", b"(Connect -9223372036854775808 a)\n", b"(Connect 9223372036854775808 a)\n",
    b"(Connect +1 a)\n",
    b"(Connect 007 a)\n", b"(Connect -0 a)\n", b"(CONNECT 1 a)\n", b"(subscribe t from_beginning)\n",
    b"(Subscribe t (From_beginning))\n", b"(Subscribe t from_current)\n", b"(Subscribe t (from_message 0))\n",
    b"(Subscribe t (From_message 18446744073709551615))\n", b"(Subscribe t (From_message 18446744073709551616))\n",
    b"(Subscribe t (From_message -1))\n", b"(Subscribe t From_message)\n", b"(Subscribe t (From_message 1 2))\n",
    b"(publish t (b))\n", b"(publish t b)\n", b"(Publish t)\n",
)  # fmt: skip
HOOK = (
    b"(create t broadcast transient)\n", b"(Create t Round_robin (persistent weak))\n",
    b"(Create t Round_robin (Persistent async))\n", b"(Create t Broadcast (Persistent Strong Weak))\n",
    b"(Create t Broadcast Persistent)\n", b"(Create t Broadcast (Transient))\n", b"(Create t Transient Broadcast)\n",
    b"(Create t round_Robin Transient)\n", b"(publish t b)(Create t Broadcast Transient)\n",
)  # fmt: skip
TEXTS: Mapping[str, tuple[bytes, ...]] = {
    "lines": (
        *(b"(Ack %s)\n" % one for one in TIMES),
        *(b"(Unsubscribe %s)\n" % one for one in ATOMS),
        *COMMENTS,
        *WORDS,
    ),
    "hook": HOOK,
}
"""Link -> texts that a client may send."""
