"""A history keeps who asked what, and when each answer was read."""

from __future__ import annotations

import pytest

from wireproof.conformance.player.concurrency.history import NEVER, History, Operation, by_connection
from wireproof.protocols.throttr import OK, REFUSED
from wireproof.protocols.throttr.requests import Purge, Query

ASK, END = Query(b"k"), Purge(b"k")


def test_answers_belong_to_the_oldest_request_of_their_connection() -> None:
    history = History()
    history.sent("a", [ASK, END], 1)
    history.sent("b", [END], 2)
    history.answered("b", REFUSED, 3)
    history.answered("a", REFUSED, 4)

    assert history.operations == (
        Operation(0, "a", ASK, 1, REFUSED, 4),
        Operation(1, "a", END, 1, None, NEVER),
        Operation(2, "b", END, 2, REFUSED, 3),
    )
    assert [history.under_way(name) for name in "abc"] == [1, 0, 0]


def test_operations_of_a_connection_keep_their_order() -> None:
    history = History()
    for name in "aba":
        history.sent(name, [ASK], 0)

    assert {name: [one.number for one in chain] for name, chain in by_connection(history.operations).items()} == {
        "a": [0, 2],
        "b": [1],
    }


@pytest.mark.parametrize(("returned", "overlap"), [(2, False), (3, True), (9, True), (NEVER, True)])
def test_operations_overlap_unless_one_was_answered_before_the_other_was_sent(returned: int, overlap: bool) -> None:
    first, second = Operation(0, "a", ASK, 0, OK, returned), Operation(1, "b", ASK, 3, OK, 4)

    assert first.overlaps(second) is second.overlaps(first) is overlap
