"""A history is linearizable exactly when some order of its operations explains every answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.player.concurrency.registers import READ, Register, brute_force, history
from wireproof.conformance.player.concurrency.history import NEVER, Operation
from wireproof.conformance.player.concurrency.linearizability import SearchVerdict, check

YES, NO = SearchVerdict.LINEARIZABLE, SearchVerdict.NOT_LINEARIZABLE


def write(number: int) -> tuple[str, int]:
    return "write", number


KNOWN: dict[str, tuple[SearchVerdict, list[tuple[str, Any, Any, int, int]]]] = {
    "a read sees the write before it": (YES, [("a", write(1), "ok", 0, 1), ("b", READ, 1, 2, 3)]),
    "a read misses the write before it": (NO, [("a", write(1), "ok", 0, 1), ("b", READ, 0, 2, 3)]),
    "a read may see either side of a write at the same time": (
        YES,
        [("a", write(1), "ok", 0, 9), ("b", READ, 0, 1, 2), ("c", READ, 1, 3, 4)],
    ),
    "a write seen stays seen": (NO, [("a", write(1), "ok", 0, 9), ("b", READ, 1, 1, 2), ("c", READ, 0, 3, 4)]),
    "pipelined reads of one connection keep their order": (
        NO,
        [("a", write(1), "ok", 0, 9), ("b", READ, 1, 1, 8), ("b", READ, 0, 2, 8)],
    ),
    "the same reads on two connections need no order": (
        YES,
        [("a", write(1), "ok", 0, 9), ("b", READ, 1, 1, 8), ("c", READ, 0, 2, 8)],
    ),
    "one of two additions is lost": (NO, [("a", ("add", 1), 1, 0, 9), ("b", ("add", 1), 1, 1, 8)]),
    "two additions count": (YES, [("a", ("add", 1), 2, 0, 9), ("b", ("add", 1), 1, 1, 8)]),
    "an unanswered write may have happened": (YES, [("a", write(1), None, 0, NEVER), ("b", READ, 1, 5, 6)]),
    "an unanswered write may not have happened": (YES, [("a", write(1), None, 0, NEVER), ("b", READ, 0, 5, 6)]),
    "an unanswered write happens once": (
        NO,
        [("a", write(1), None, 0, NEVER), ("b", READ, 1, 5, 6), ("b", READ, 0, 7, 8)],
    ),
    "of unanswered writes on one connection the first happen": (
        NO,
        [("a", write(1), None, 0, NEVER), ("a", write(2), None, 1, NEVER), ("b", READ, 2, 5, 6), ("b", READ, 1, 7, 8)],
    ),
    "an unanswered write happens after it was sent": (
        NO,
        [("b", READ, 1, 0, 1), ("a", write(1), None, 2, NEVER)],
    ),
    "nothing happened": (YES, []),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_histories(name: str) -> None:
    finding, rows = KNOWN[name]

    assert check(history(*rows), Register()).finding is finding


requests = st.one_of(
    st.just(READ),
    st.tuples(st.just("write"), st.integers(0, 2)),
    st.tuples(st.just("add"), st.integers(0, 2)),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    """Small histories with any answers, right ones more often."""
    rows: list[Operation] = []
    clock = {name: 0 for name in "abc"}
    back = dict(clock)
    state: int = 0
    for number in range(draw(st.integers(1, 6))):
        name, request = draw(st.sampled_from("abc")), draw(requests)
        state = state if request == READ else request[1] if request[0] == "write" else state + request[1]
        reply: Any = draw(st.sampled_from([state, state, state, draw(st.integers(0, 3)), None]))
        reply = "ok" if reply is not None and request[0] == "write" else reply
        invoked = clock[name] = clock[name] + draw(st.integers(0, 4))
        returned = NEVER if reply is None else max(back[name], invoked) + draw(st.integers(1, 6))
        if back[name] == NEVER:
            reply, returned = None, NEVER
        back[name] = returned
        rows.append(Operation(number, name, request, 2 * invoked, reply, min(NEVER, 2 * returned + 1)))
    return [replace(one, may=draw(st.booleans()) if draw(st.booleans()) else False) for one in rows]


@given(histories())
@settings(max_examples=400, deadline=None)
def test_it_finds_what_trying_every_order_finds(operations: list[Operation]) -> None:
    expected = YES if brute_force(operations) else NO

    assert check(operations, Register()).finding is expected


@given(histories())
@settings(max_examples=200, deadline=None)
def test_the_order_it_gives_explains_the_answers(operations: list[Operation]) -> None:
    search, model, state = check(operations, Register()), Register(), 0
    placed = [one.operation for one in search.order]

    for one in search.order:
        assert one.state in model.step(state, one.operation.request, one.operation.reply)
        state = one.state  # type: ignore[assignment]
    for at, one in enumerate(placed):
        assert not any(later.returned < one.invoked for later in placed[at:])
    if search.finding is YES:
        left = [one for one in operations if one not in placed]
        assert all(one.may or one.reply is None for one in left)


def test_it_says_so_when_the_limit_comes_first() -> None:
    rows = [(name, ("add", 1 << at), None, 0, NEVER) for at, name in enumerate("abcdefghijkl")]
    impossible = history(*rows, ("z", READ, -1, 100, 101))

    search = check(impossible, Register(), limit=500)

    assert (search.finding, search.explored) == (SearchVerdict.UNKNOWN, 500)
    assert check(impossible, Register()).finding is NO


def test_many_operations_that_commute_are_few_configurations() -> None:
    rows = [(f"c{at}", ("write", at), "ok", 0, 1000) for at in range(12)]
    rows += [(f"c{at}", READ, 11, 1001 + at, 2000) for at in range(12)]

    search = check(history(*rows), Register())

    assert search.finding is YES
    assert search.explored < 200


@pytest.mark.parametrize("length", [1, 3])
def test_the_longest_order_is_reported_when_none_explains_everything(length: int) -> None:
    rows: list[Any] = [("a", write(at), "ok", 10 * at, 10 * at + 1) for at in range(1, length + 1)]
    search = check(history(*rows, ("b", READ, 99, 100, 101)), Register())

    assert search.finding is NO
    assert [one.operation.number for one in search.order] == list(range(length))
    assert search.order[-1].state == length
