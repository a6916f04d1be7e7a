"""What is left of a history that no order explains: short, and inexplicable by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import assume, given, settings

from conformance.concurrency.history import Operation
from conformance.concurrency.linearizability import LIMIT, Finding, check
from conformance.concurrency.shrink import shrink
from tests.conformance.concurrency.registers import READ, Register, history
from tests.conformance.concurrency.test_linearizability import histories


def shrunk(operations: list[Operation], **bounds: int) -> list[int]:
    return [one.number for one in shrink(operations, Register(), **{"limit": LIMIT, **bounds})]


def stale_read(noise: int) -> list[Operation]:
    """A write that a later read misses, at the end of `noise` operations that have nothing to do with it."""
    rows: list[Any] = [("a", ("write", 1), "ok", 10 * at, 10 * at + 5) for at in range(noise)]
    rows += [("b", READ, 1, 10 * at + 6, 10 * at + 7) for at in range(noise)]
    at = 10 * noise
    return history(*rows, ("a", ("write", 2), "ok", at, at + 1), ("c", READ, 1, at + 2, at + 3))


def test_what_has_nothing_to_do_with_it_is_left_out() -> None:
    operations = stale_read(20)

    assert shrunk(operations) == [40, 41]


@given(histories())
@settings(max_examples=300, deadline=None)
def test_what_is_left_is_needed_and_inexplicable_whether_or_not_the_rest_happened(operations: list[Operation]) -> None:
    assume(check(operations, Register()).finding is Finding.NOT_LINEARIZABLE)

    kept = set(shrunk(operations))
    weakened = [one if one.number in kept else replace(one, may=True) for one in operations]

    assert check(weakened, Register()).finding is Finding.NOT_LINEARIZABLE
    for number in kept:
        weaker = [replace(one, may=True) if one.number == number else one for one in weakened]
        assert check(weaker, Register()).finding is Finding.LINEARIZABLE


def test_it_stops_where_the_effort_ends_and_stays_inexplicable() -> None:
    operations = stale_read(20)
    left = shrink(operations, Register(), limit=LIMIT, effort=200)

    assert 2 < len(left) <= len(operations)
    assert check(left, Register()).finding is Finding.NOT_LINEARIZABLE
