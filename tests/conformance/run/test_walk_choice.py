"""Walks that are chosen: the same each time, those that there are kept, what shows most first, all judged right."""

from __future__ import annotations

import pytest

from wireproof.conformance.run.walk_choice import WalkError, choose, drawn
from wireproof.conformance.suite.cases import load_suite, vectors_root
from wireproof.conformance.suite.walks import WalkSet, moves_of, read_walks
from wireproof.reference_server.tmqp.oracle.deliveries import Deliveries

CONTEXT = load_suite("tmqp").context


@pytest.fixture(scope="module")
def rooms() -> WalkSet:
    file = read_walks(vectors_root() / "tmqp" / "walks.yaml")
    assert file is not None
    return file.sets["rooms"]


def test_a_number_stands_for_one_walk(rooms: WalkSet) -> None:
    first, again, other = drawn(rooms, 1), drawn(rooms, 1), drawn(rooms, 2)

    assert first == again != other
    assert len(moves_of(rooms, first)) == rooms.length
    assert [name for name, _ in moves_of(rooms, first)][:5] == ["channel", "queue", "queue", "join", "join"]


def test_the_same_candidates_give_the_same_walks_and_those_there_are_stay(rooms: WalkSet) -> None:
    one = choose("rooms", rooms, CONTEXT, first=[], candidates=4, keep=2)
    again = choose("rooms", rooms, CONTEXT, first=[], candidates=4, keep=2)
    more = choose("rooms", rooms, CONTEXT, first=[drawn(rooms, 99)], candidates=4, keep=2)

    assert one == again
    assert (len(one.walks), one.shown < one.of) == (2, True)
    assert (len(more.walks), more.walks[0]) == (2, drawn(rooms, 99))


def test_where_server_and_model_disagree_the_walk_is_named(rooms: WalkSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Deliveries, "confirm", lambda *given, **named: None)

    with pytest.raises(WalkError, match=r"push.*gets Confirmation"):
        choose("rooms", rooms, CONTEXT, first=[], candidates=8, keep=1)
