"""What is left of a history that no order explains: short, and inexplicable by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings

from tests.conformance.player.concurrency.registers import READ, Register, brute_force, history
from tests.conformance.player.concurrency.test_linearizability import histories
from wireproof.conformance.player.concurrency.history import NEVER, Operation
from wireproof.conformance.player.concurrency.history_shrinking import Shrunk, parts, shrink
from wireproof.conformance.player.concurrency.linearizability import LIMIT, SearchVerdict, check

NO = SearchVerdict.NOT_LINEARIZABLE


def shrunk(operations: list[Operation], **bounds: int) -> Shrunk:
    return shrink(operations, Register(), **{"limit": LIMIT, **bounds})


def numbers(operations: list[Operation]) -> list[int]:
    return [one.number for one in shrunk(operations).operations]


def noise(turns: int) -> list[Any]:
    """Writes and reads that have nothing to do with anything, each answered before the next is sent."""
    rows: list[Any] = []
    for at in range(turns):
        rows += [("a", ("write", at), "ok", 10 * at, 10 * at + 1), ("b", READ, at, 10 * at + 6, 10 * at + 7)]
    return rows


def test_what_was_over_before_is_reported_by_the_states_it_led_to() -> None:
    rows = [*noise(20), ("a", ("write", 50), "ok", 500, 501), ("c", READ, 19, 502, 503)]
    left = shrunk(history(*rows))

    assert [one.number for one in left.operations] == [41]
    assert (left.initial, left.beside) == ((50,), ())


def test_what_came_after_is_left_out() -> None:
    rows = [
        ("a", ("write", 1), "ok", 0, 9),
        ("b", READ, 7, 1, 2),
        ("c", ("write", 7), "ok", 3, 9),
        ("b", READ, 7, 4, 8),
    ]

    assert numbers(history(*rows)) == [1]


def test_a_write_under_way_that_would_explain_a_read_is_needed() -> None:
    rows = [("a", ("write", 7), "ok", 0, 9), ("b", READ, 7, 1, 3), ("c", READ, 0, 4, 8), ("d", READ, 0, 1, 8)]

    assert numbers(history(*rows)) == [1, 2]


def test_a_write_that_explains_nothing_is_left_out_with_a_word() -> None:
    rows = [("a", ("write", 3), "ok", 0, 9), ("b", READ, 7, 1, 2)]
    left = shrunk(history(*rows))

    assert [one.number for one in left.operations] == [1]
    assert (left.initial, [one.number for one in left.beside]) == ((0,), [0])


def test_parts_end_where_nothing_is_under_way() -> None:
    rows = [("a", READ, 0, 0, 5), ("b", READ, 0, 3, 9), ("a", READ, 0, 10, 11), ("c", READ, None, 12, NEVER)]
    rows += [("a", READ, 0, 20, 21)]

    assert [[one.number for one in part] for part in parts(history(*rows))] == [[0, 1], [2], [3, 4]]


def broken(operations: list[Operation]) -> list[Operation]:
    """Return the history, with an answer that nothing explains at its end unless there is one already."""
    end = max((max(one.invoked, one.returned) for one in operations if one.returned != NEVER), default=0)
    last = Operation(len(operations), "z", READ, end + 1, 99, end + 2)
    return [*operations, last] if brute_force(operations) else operations


@given(histories())
@settings(max_examples=200, deadline=None)
def test_what_is_left_is_inexplicable_whether_or_not_the_rest_happened(operations: list[Operation]) -> None:
    left = shrunk(broken(operations))

    assert left.operations
    assert check(left.operations, Register(), initial=left.initial).finding is NO
    assert check(merged(left), Register(), initial=left.initial).finding is NO


@given(histories())
@settings(max_examples=200, deadline=None)
def test_nothing_is_left_that_is_not_needed(operations: list[Operation]) -> None:
    left = shrunk(broken(operations))

    for number in [one.number for one in left.operations]:
        weaker = [replace(one, may=True) if one.number == number else one for one in merged(left)]
        assert check(weaker, Register(), initial=left.initial).finding is not NO


def merged(left: Shrunk) -> list[Operation]:
    return sorted((*left.operations, *left.beside), key=lambda one: one.number)


def test_it_stops_where_the_effort_ends_and_stays_inexplicable() -> None:
    rows: list[Any] = [(f"c{at}", ("write", at), "ok", at, 1000 + at) for at in range(7)]
    operations = history(*rows, ("z", READ, 99, 500, 2000), ("y", ("write", 1), "ok", 0, 3000))
    left = shrunk(operations, effort=50)

    assert len(left.operations) > len(shrunk(operations).operations) == 1
    assert check(left.operations, Register(), initial=left.initial).finding is NO
