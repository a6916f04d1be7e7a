"""Steps made concrete: where fields begin, how bytes are cut, and tables written in few words."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.conformance.run.selection import applicable
from wireproof.conformance.sdk.play.reply_script import ReplyPiece, ReplyScript, field_at, segments
from wireproof.conformance.sdk.play.sdk_suite import load_sdk_suite
from wireproof.conformance.suite.case_forms import FORMS
from wireproof.conformance.suite.case_reader import CaseReader
from wireproof.conformance.suite.sdk_steps import CutAt, ScriptedItem, answer_of
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.protocols import protocol
from wireproof.protocols.throttr.requests import Insert, Query, Set


def script(variant: str = "uint16", profile: str = "7.3.2", **variables: Any) -> ReplyScript:
    return ReplyScript(Symbols(protocol("throttr"), profile, variant, case="c", namespace="n", variables=variables))


def sent(node: Any) -> tuple[ScriptedItem, ...]:
    found: Any = CaseReader(FORMS).read(tuple[ScriptedItem, ...], node, ())
    return found


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
def test_the_marks_of_every_answer_in_the_cases_end_where_its_bytes_do(profile: str) -> None:
    seen = 0
    for case in applicable(load_sdk_suite("throttr"), profile, "uint16"):
        symbols = Symbols(protocol("throttr"), profile, "uint16", case=case.id, namespace="n", variables=case.variables)
        for step in symbols.here(case.script):
            for piece in ReplyScript(symbols).pieces(answer_of(step)):
                if piece.fields:
                    seen += 1
                    assert max(piece.fields) == len(piece.data), case.id
                    assert list(piece.fields) == sorted(piece.fields), case.id
    assert seen > 200


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (Query(b"ab"), ["type", "key_size", "key", "key"]),
        (Insert(1, 4, 2, b"k"), ["type", "quota", "quota", "ttl_type", "ttl", "ttl", "key_size", "key"]),
        (Set(4, 1, b"k", b"v"), ["type", "ttl_type", "ttl", "ttl", "key_size", *["value_size"] * 2, "key", "value"]),
    ],
)  # fmt: skip
def test_each_byte_of_a_request_belongs_to_a_field(message: Any, fields: list[str]) -> None:
    codec = script().codec

    assert [field_at(codec, message, at) for at in range(len(codec.encode(message)))] == fields


def test_a_push_is_one_that_sdks_hand_on_and_its_fields_begin_after_its_length() -> None:
    symbols = Symbols(protocol("namechan"), "1", "standard", case="c", namespace="n", variables={})
    pushed, answer = ReplyScript(symbols).pieces(
        sent([{"push": {"id": 1, "topic": 3, "body": "ab"}}, {"SUBSCRIBED": {"id": 3, "topic": "t"}}])
    )

    assert pushed.data.hex() == "0000000f020000000000000001000000036162"
    assert sorted(set(pushed.fields)) == [4, 5, 13, 17, 19]
    assert answer.data[5:] == b"((id 3)(topic t))"
    assert sorted(set(answer.fields)) == [10, 11, 19, 20]


@pytest.mark.parametrize(
    ("cut", "sizes"),
    [
        ("whole", [7]),
        ("bytes", [1] * 7),
        ("apart", [4, 3]),
        ("fields", [1, 3, 2, 1]),
        (3, [3, 3, 1]),
        (CutAt(2), [2, 5]),
        (CutAt(-1), [6, 1]),
        (CutAt(99), [7]),
    ],
)
def test_bytes_are_cut_as_asked_and_none_is_lost(cut: Any, sizes: list[int]) -> None:
    pieces = [ReplyPiece(b"abcd", fields=(1, 4)), ReplyPiece(b"efg", fields=(2,))]

    found = segments(pieces, cut)

    assert (b"".join(found), [len(one) for one in found]) == (b"abcdefg", sizes)


@pytest.mark.parametrize("cut", ["somehow", 0, -1, None, CutAt("x")])
def test_a_cut_that_is_none_is_refused(cut: Any) -> None:
    with pytest.raises(SymbolError, match="cut: expected"):
        segments([ReplyPiece(b"abc")], cut)


def test_tables_and_requests_are_written_in_few_words() -> None:
    made = script()
    (piece,) = made.pieces(sent(
        {"STATS_REPLY": {"fragments": [{"each": {"f": [1, 2]}, "of": {"fragment": "f", "rows": [
            {"each": {"i": [1, 3]}, "of": {"key": "k{f}{i}", "*": "i"}}]}}]}}
    ))  # fmt: skip
    fragments = piece.message.fragments  # type: ignore[union-attr]

    assert [[(row.key, row.total_reads) for row in one.rows] for one in fragments] == [
        [(b"k11", 1), (b"k12", 2), (b"k13", 3)],
        [(b"k21", 1), (b"k22", 2), (b"k23", 3)],
    ]
    assert made.requests(sent({"times": 2, "of": {"QUERY": {"key": "k"}}})) == [Query(b"k")] * 2


def test_numbers_counted_up_differ_from_each_other() -> None:
    (piece,) = script().pieces(sent({"INFO_REPLY": {"*": {"from": 9}, "version": "1"}}))
    values = [getattr(piece.message, name) for name in piece.message.__struct_fields__]  # type: ignore[union-attr]

    assert values[:3] == [9, 10, 11]
    assert len(set(values)) == len(values)


def test_a_message_sent_slowly_is_one_message_in_two_pieces() -> None:
    pieces = script().pieces(sent({"slowly": {"push": {"channel": "c", "payload": "p"}}, "at": 2, "pause": 0.5}))

    assert [(one.data.hex(), one.message is None, one.pause) for one in pieces] == [
        ("1901", True, None),
        ("", True, 0.5),
        ("01006370", False, None),
    ]
