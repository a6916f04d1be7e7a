"""Patterns: each matcher says yes and no, tables are sets of rows, and a mismatch names its field."""

from typing import Any

import pytest

from tests.conformance.scripted import make_symbols
from wireproof.conformance.model.wording import wording
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.symbolic import pattern_of
from wireproof.conformance.suite.symbols import SymbolError
from wireproof.protocols import Message
from wireproof.protocols.throttr.codec import OK, REFUSED
from wireproof.protocols.throttr.replies import (
    ChannelReply,
    ChannelsFragment,
    ChannelsReply,
    ChannelsRow,
    EventReply,
    GetReply,
    PushedEvent,
    PushedMessage,
    QueryReply,
    StatsFragment,
    StatsReply,
    StatsRow,
    Subscriber,
)

QUERY = QueryReply(quota=7, ttl_type=4, ttl=59)
GET = GetReply(ttl_type=4, ttl=59, value=b"value\0\0")


def row(key: bytes, reads: int = 0) -> StatsRow:
    return StatsRow(key=key, reads_per_minute=0, writes_per_minute=0, total_reads=reads, total_writes=0)


def stats(*parts: tuple[int, list[StatsRow]]) -> StatsReply:
    return StatsReply(tuple(StatsFragment(fragment=number, rows=tuple(rows)) for number, rows in parts))


TABLE = stats((1, [row(b"a", 1), row(b"b", 2)]), (2, [row(b"c", 2)]))


def matches(spec: Any, message: Message, **saved: Any) -> bool:
    symbols = make_symbols("7.3.2")
    symbols.saved.update(saved)
    return match(pattern_of(spec), message, symbols) is None


@pytest.mark.parametrize(
    ("matcher", "fits"),
    [
        (7, True), (8, False), ("MAX", False), ("any", True), ("seven", True), ({"is": 7}, True), ({"is": 6}, False),
        ({"at_least": 7}, True), ({"at_least": 8}, False), ({"at_most": 7}, True), ({"at_most": 6}, False),
        ({"between": [7, 7]}, True), ({"between": [1, 6]}, False), ({"between": ["N", "seven"]}, True),
        ({"one_of": [1, 7]}, True), ({"one_of": []}, False), ({"not": 7}, False), ({"not": {"at_least": 8}}, True),
        ({"at_least": 1, "at_most": 6}, False), ({"save": "x"}, True),
    ],
)  # fmt: skip
def test_each_matcher_of_numbers(matcher: Any, fits: bool) -> None:
    assert fits is matches({"QUERY_REPLY": {"quota": matcher}}, QUERY, seven=7)


@pytest.mark.parametrize(
    ("matcher", "fits"),
    [
        ({"padded": "value"}, True), ({"padded": "valu"}, False), ("value", False), ({"hex": "76616c75650000"}, True),
        ({"starts_with": "val"}, True), ({"starts_with": "al"}, False), ({"size": 7}, True), ({"size": 6}, False),
        ({"size": {"at_least": 8}}, False), ({"not": {"padded": "x"}}, True), ({"one_of": ["@v", "x"]}, True),
        ({"padded": {"fill": 0x76, "size": 1}}, False), ({"utf8": True}, True), ({"not": {"utf8": True}}, False),
    ],
)  # fmt: skip
def test_each_matcher_of_bytes(matcher: Any, fits: bool) -> None:
    assert fits is matches({"GET_REPLY": {"value": matcher}}, GET, v=GET.value)


def test_what_is_no_utf_8_is_told() -> None:
    cut = GetReply(ttl_type=4, ttl=59, value="€".encode()[:2])

    assert not matches({"GET_REPLY": {"value": {"utf8": True}}}, cut)


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ((b"abcdefgh", b"ijklmnop"), True), ((b"abcdefgh", b"abcdefgh"), False), ((b"abcdefgh", b"12efgh34"), True),
        ((b"abcdefgh", b"1defgh23"), False), ((b"abcdefg-abcdefg",), False), ((b"abcd-abcd",), True),
        ((b"aaaaaa",), False),
    ],
)  # fmt: skip
def test_values_that_are_unlike_have_no_five_bytes_in_a_row_twice(values: tuple[bytes, ...], fits: bool) -> None:
    symbols, pattern = make_symbols(), pattern_of({"GET_REPLY": {"value": {"unlike": "v"}}})

    assert fits is all(match(pattern, GetReply(ttl_type=4, ttl=59, value=value), symbols) is None for value in values)


def test_a_saved_value_can_be_used_in_the_next_pattern() -> None:
    symbols = make_symbols()

    assert match(pattern_of({"QUERY_REPLY": {"quota": {"save": "q"}}}), QUERY, symbols) is None
    assert match(pattern_of({"QUERY_REPLY": {"quota": "q"}}), QUERY, symbols) is None
    assert match(pattern_of({"QUERY_REPLY": {"quota": "q + 1"}}), QUERY, symbols) is not None


def test_only_the_pattern_that_fits_saves() -> None:
    symbols = make_symbols()
    options = [{"QUERY_REPLY": {"quota": {"save": "q"}}}, {"QUERY_REPLY": {"ttl": {"save": "q"}}}]

    assert match(pattern_of({"any_of": options}), QUERY, symbols) is None
    assert symbols.saved["q"] == 7


@pytest.mark.parametrize(
    ("spec", "message", "fits"),
    [
        ("ok", OK, True), ("ok", REFUSED, False), ("refused", REFUSED, True), ("ok", QUERY, False),
        ("any", QUERY, True),
        ({"any_of": ["ok", "refused"]}, REFUSED, True), ({"any_of": ["ok", "QUERY_REPLY"]}, REFUSED, False),
        ("QUERY_REPLY", QUERY, True), ("GET_REPLY", QUERY, False), ({"STATUS": {"ok": True}}, OK, True),
        ({"EVENT_REPLY": {"reply": "ok"}}, EventReply(OK), True),
        ({"EVENT_REPLY": {"reply": {"QUERY_REPLY": {"quota": 8}}}}, EventReply(QUERY), False),
        ({"EVENT_REPLY": {"reply": "any"}}, EventReply(QUERY), True),
    ],
)  # fmt: skip
def test_names_and_alternatives(spec: Any, message: Message, fits: bool) -> None:
    assert fits is matches(spec, message)


def test_a_mismatch_with_every_alternative_names_the_field_of_the_one_whose_message_came() -> None:
    problem = match(
        pattern_of({"any_of": ["refused", {"QUERY_REPLY": {"ttl_type": 4, "quota": 8}}]}), QUERY, make_symbols("7.3.2")
    )

    assert problem is not None
    assert (problem.field, problem.expected) == ("quota", "STATUS(ok=False) or QUERY_REPLY.quota = 8")


def test_a_mismatch_names_the_field_what_was_expected_and_what_came() -> None:
    problem = match(pattern_of({"QUERY_REPLY": {"quota": 7, "ttl": {"between": [1, 9]}}}), QUERY, make_symbols())

    assert problem is not None
    assert (problem.field, problem.expected, problem.got) == ("ttl", "QUERY_REPLY.ttl from 1 to 9", "59")


PUSHES = [
    ("7.1.0", PushedMessage(payload=b"p"), {"channel": "ignored", "payload": "p"}, True),
    ("7.1.0", PushedMessage(payload=b"p"), {"payload": "q"}, False),
    ("7.3.2", PushedEvent(channel=b"c", payload=b"p"), {"channel": "c", "payload": "p"}, True),
    ("7.3.2", PushedEvent(channel=b"c", payload=b"p"), {"channel": "d", "payload": "p"}, False),
    ("7.3.2", OK, {"payload": "p"}, False),
]


@pytest.mark.parametrize(("profile", "message", "fields", "fits"), PUSHES)
def test_a_push_is_matched_whatever_its_form(profile: str, message: Message, fields: Any, fits: bool) -> None:
    assert fits is (match(pattern_of({"push": fields}), message, make_symbols(profile)) is None)


def test_a_field_no_push_has_is_reported() -> None:
    with pytest.raises(SymbolError, match="a push has no field chanel; it has channel, payload"):
        match(pattern_of({"push": {"chanel": "c"}}), PushedMessage(payload=b"p"), make_symbols())


TABLES: list[tuple[Any, bool]] = [
    ("any", True),
    ({"count": 3}, True), ({"count": 2}, False), ({"count": {"at_least": 4}}, False),
    ({"contains": [{"key": "b"}]}, True), ({"contains": [{"key": "d"}]}, False), ({"contains": []}, True),
    ({"contains": [{"key": "b", "total_reads": 1}]}, False), ({"contains": [{"key": "b", "total_reads": 2}]}, True),
    ({"contains": [{"total_reads": 2, "times": 2}]}, True), ({"contains": [{"total_reads": 2}]}, False),
    ({"contains": [{"key": "d", "times": 0}]}, True), ({"contains": [{"key": "a", "times": 0}]}, False),
    ({"excludes": [{"key": "d"}]}, True), ({"excludes": [{"key": "a"}]}, False),
    ({"excludes": [{"key": "a", "total_reads": 2}]}, True),
    ({"exactly": [{"key": "c"}, {"key": "a"}, {"key": "b"}]}, True), ({"exactly": [{"key": "a"}]}, False),
    ({"exactly": [{"key": "a"}, {"key": "b"}, {"key": "b"}]}, False),
    ({"exactly": [{"key": "a"}, {"total_reads": 1}, {"key": "b"}]}, False),
    ({"each": {"total_writes": 0}}, True), ({"each": {"total_reads": 2}}, False),
    ({"contains": [{"key": "b", "position": 1}]}, True), ({"contains": [{"key": "b", "position": 0}]}, False),
    ({"contains": [{"key": {"starts_with": "b"}}]}, True), ({"contains": [{"key": "any", "times": 3}]}, True),
    ({"contains": [{"key": {"starts_with": "bb"}}]}, False), ({"excludes": [{"key": {"starts_with": "d"}}]}, True),
    ({"contains": [{"key": {"starts_with": "b"}, "total_reads": 1}]}, False),
    ({"contains": [{"key": {"starts_with": "", "size": 1}, "total_reads": {"at_least": 2}, "times": 2}]}, True),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "fits"), TABLES, ids=[str(rows) for rows, _ in TABLES])
def test_a_table_is_a_set_of_rows_over_all_fragments(rows: Any, fits: bool) -> None:
    assert fits is matches({"STATS_REPLY": {"rows": rows}}, TABLE)


def test_what_is_saved_from_a_row_is_of_the_row_that_fits() -> None:
    symbols = make_symbols()
    wanted = {"key": "b", "total_reads": {"save": "reads"}, "position": {"save": "place"}}

    assert match(pattern_of({"STATS_REPLY": {"rows": {"contains": [wanted]}}}), TABLE, symbols) is None
    assert symbols.saved == {"reads": 2, "place": 1}


def test_a_saved_value_within_a_row_pattern_is_of_the_same_row() -> None:
    table = stats((1, [row(b"a", 1), row(b"b", 2)]))
    wanted = {"total_reads": {"save": "r"}, "total_writes": {"at_most": "@r"}, "times": 2}

    assert matches({"STATS_REPLY": {"rows": {"contains": [wanted]}}}, table)


@pytest.mark.parametrize(
    ("numbers", "wanted", "fits"),
    [
        ([1, 2, 3], "contiguous", True), ([0, 1], "contiguous", True), ([5, 6], "contiguous", True),
        ([1, 3], "contiguous", False), ([2, 1], "contiguous", False), ([1, 1], "contiguous", False),
        ([], "contiguous", True), ([1, 2], "from_one", True), ([0, 1], "from_one", False), ([2, 3], "from_one", False),
        ([], "from_one", True), ([1, 2], [1, "N"], True), ([1, 2], [1], False),
    ],
)  # fmt: skip
def test_fragment_numbers(numbers: list[int], wanted: Any, fits: bool) -> None:
    table = stats(*[(number, [row(b"k")]) for number in numbers])

    assert fits is matches({"STATS_REPLY": {"numbering": wanted}}, table)


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [({"each": {"at_most": 2}}, True), ({"each": {"at_most": 1}}, False), ({"count": 2}, True), ([2, 1], True)],
)
def test_rows_of_each_fragment(wanted: Any, fits: bool) -> None:
    assert fits is matches({"STATS_REPLY": {"per_part": wanted}}, TABLE)


def test_the_other_tables_are_judged_likewise() -> None:
    subscriber = Subscriber(connection_id=bytes(16), subscribed_at=5, read_bytes=0, write_bytes=0)
    channels = ChannelsRow(channel=b"c", read_bytes=0, write_bytes=0, subscribed_connections=2)

    assert matches(
        {"CHANNEL_REPLY": {"subscribers": {"contains": [{"subscribed_at": 5}]}}}, ChannelReply((subscriber,))
    )
    assert not matches({"CHANNEL_REPLY": {"subscribers": {"count": 0}}}, ChannelReply((subscriber,)))
    reply = ChannelsReply((ChannelsFragment(fragment=1, rows=(channels,)),))
    assert matches({"CHANNELS_REPLY": {"rows": {"exactly": [{"channel": "c", "subscribed_connections": 2}]}}}, reply)


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        ({"QUERY_REPLY": {"quotta": 1}}, "no field 'quotta'; it has quota, ttl_type, ttl"),
        ({"QUERY_REPLY": {"quota": {"atleast": 1}}}, r"unknown key 'atleast' \(did you mean at_least\?\)"),
        ({"QUERY_REPLIES": {}}, "no message 'QUERY_REPLIES'"),
    ],
)
def test_a_pattern_that_is_none_is_reported_with_what_there_is(spec: Any, detail: str) -> None:
    with pytest.raises(SymbolError, match=detail):
        match(pattern_of(spec), QUERY, make_symbols())


@pytest.mark.parametrize("rows", [{"holds": []}, 7, {"contains": [{"kee": "a"}]}])
def test_a_table_pattern_that_is_none_is_reported(rows: Any) -> None:
    with pytest.raises(SymbolError, match=r"contains|no field 'kee'"):
        match(pattern_of({"STATS_REPLY": {"rows": rows}}), TABLE, make_symbols())


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("ok", "ok"), ({"QUERY_REPLY": {"quota": 7}}, "QUERY_REPLY(quota=7)"), ({"LIST_REPLY": None}, "LIST_REPLY"),
        ({"any_of": ["ok", {"push": {"payload": "p"}}]}, "ok or a push(payload=p)"), (7, "7"),
        ("any", "a message of any kind"), ("push", "a push"),
        ({"any_of": ["refused", "any"]}, "refused or a message of any kind"),
    ],
)  # fmt: skip
def test_a_pattern_in_words(spec: Any, words: str) -> None:
    assert words == wording(spec)
