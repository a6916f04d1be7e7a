"""What a replay breaks of what a queue promised."""

from __future__ import annotations

import pytest

from wireproof.conformance.run.durability.promises import Keeps, KnownMessages, Replayed, broken_by, damaged_in


def known_messages() -> KnownMessages:
    known = KnownMessages(published=dict.fromkeys((b"a", b"b", b"c", b"d"), 0), acknowledged={b"a": None, b"c": None})
    known.saw(1, b"a")
    known.saw(2, b"b")
    return known


@pytest.mark.parametrize(
    ("found", "keeps", "broken"),
    [
        ([(1, b"a"), (2, b"b"), (3, b"c")], Keeps.SEEN, []),
        ([(1, b"a"), (2, b"b"), (3, b"c"), (4, b"d")], Keeps.SEEN, []),
        ([(1, b"a"), (2, b"c")], Keeps.SEEN, ["seen"]),
        ([(1, b"a"), (2, b"b")], Keeps.SEEN, ["acknowledged"]),
        ([(1, b"a")], Keeps.SOME, []),
        ([], Keeps.SOME, []),
        ([(1, b"a"), (2, b"b"), (3, b"c"), (5, b"d")], Keeps.SEEN, ["ids"]),
        ([(2, b"b"), (1, b"a"), (3, b"c")], Keeps.SEEN, ["ids"]),
        ([(1, b"a"), (2, b"b"), (3, b"c"), (4, b"c")], Keeps.SEEN, ["once"]),
        ([(1, b"a"), (2, b"b"), (3, b"c"), (4, b"d"[:0])], Keeps.SEEN, ["whole"]),
        ([(1, b"a"), (2, b"half")], Keeps.SOME, ["whole"]),
    ],
)
def test_each_promise(found: Replayed, keeps: Keeps, broken: list[str]) -> None:
    assert [one.promise for one in broken_by(known_messages(), found, keeps)] == broken


def test_two_subscribers_that_saw_one_id_with_two_bodies_break_the_ids() -> None:
    known = known_messages()
    known.saw(2, b"c")

    found = broken_by(known, [(1, b"a"), (2, b"b"), (3, b"c")], Keeps.SEEN)

    assert [(one.promise, one.detail) for one in found] == [("ids", "id 2 is 'b' and 'c'")]


def test_after_damage_only_what_is_delivered_counts() -> None:
    assert not damaged_in(known_messages(), [(3, b"c")])
    assert [one.promise for one in damaged_in(known_messages(), [(3, b"c!")])] == ["whole"]


def test_a_comparison_takes_what_was_replayed_for_the_next_one() -> None:
    known = known_messages()
    known.replayed([(1, b"a"), (2, b"b"), (3, b"c")])

    assert [one.promise for one in broken_by(known, [(1, b"a"), (2, b"b")], Keeps.SEEN)] == ["seen", "acknowledged"]
