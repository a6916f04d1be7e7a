"""A drawing shows who asked what at the same time, and nothing that was not so."""

from __future__ import annotations

from itertools import pairwise

import pytest

from wireproof.conformance.player.concurrency.diagram import WIDEST, HistoryDescriber, draw
from wireproof.conformance.player.concurrency.history import Operation
from wireproof.protocols import protocol
from wireproof.protocols.throttr import OK, REFUSED, Attribute, Change, TTLType
from wireproof.protocols.throttr.replies import QueryReply
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Update
from wireproof.reference_server.registry import model_of

KEY = b"v-k1"
INCREASE = Update(Attribute.QUOTA, Change.INCREASE, 5, KEY)


def describer(key: bytes = KEY) -> HistoryDescriber:
    return HistoryDescriber(key, model_of("throttr", profile="7.1.0", variant="uint16"), protocol("throttr").names)


def test_lines_are_grouped_by_connection_and_the_needed_ones_are_marked() -> None:
    first = Operation(3, "p2", INCREASE, 10, OK, 40)
    second = Operation(4, "p1", Query(KEY), 20, QueryReply(10, TTLType.HOURS, 60), 30)
    last = Operation(5, "p2", Purge(KEY), 50)

    assert draw([second], [first, last], describer()) == [
        "> p1     ├───┤           #4 QUERY -> QUERY_REPLY(quota=10, ttl_type=hours, ttl=60)",
        "  p2 ├───────────┤       #3 UPDATE(attribute=quota, change=increase, value=5) -> ok",
        "  p2                 ├?  #5 PURGE -> no answer",
    ]


def test_bars_keep_the_order_of_instants() -> None:
    operations = [Operation(at, "p1", Query(KEY), 10 * at, REFUSED, 10 * at + 5) for at in range(5)]
    bars = [line.split("#")[0] for line in draw(operations, (), describer())]
    edges = [(bar.index("├"), bar.index("┤")) for bar in bars]

    assert all(one < other for (_, one), (other, _) in pairwise(edges))


def test_many_operations_still_fit_on_a_line() -> None:
    operations = [Operation(at, "p1", Query(KEY), 2 * at, REFUSED, 2 * at + 1) for at in range(400)]

    assert max(line.index("#") for line in draw(operations, (), describer())) <= WIDEST + 10


@pytest.mark.parametrize(
    ("key", "detail"), [(b"v-k1", "'v-k1'"), (b"", ""), (b"\x00\xff", "00ff"), ("é".encode(), "c3a9")]
)
def test_keys_are_reported_as_text_where_they_are_text(key: bytes, detail: str) -> None:
    assert describer(key).key.startswith(detail)


def test_messages_are_reported_without_their_key_and_statuses_in_one_word() -> None:
    detail = describer()

    assert detail.message(Insert(7, TTLType.SECONDS, 60, KEY)) == "INSERT(quota=7, ttl_type=seconds, ttl=60)"
    assert detail.message(Insert(7, 99, 60, KEY)) == "INSERT(quota=7, ttl_type=99, ttl=60)"
    assert (detail.message(Get(KEY)), detail.message(OK), detail.message(REFUSED)) == ("GET", "ok", "refused")


def test_states_beyond_a_few_are_counted() -> None:
    assert describer().states([None]) == "no record"
    assert describer().states([None] * 6) == "no record or no record or no record or no record or 2 others"
