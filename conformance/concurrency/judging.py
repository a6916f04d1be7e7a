"""Judges a history key by key: linearizable, not (and what shows it), unknown, or vacuous.

Keys are judged one by one: a history is linearizable when it is so for each record (Herlihy and Wing, 1990). Vacuous is
one that could not have shown anything: nothing that changed a record overlapped anything else on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from conformance.concurrency.drawing import Names, draw, told
from conformance.concurrency.history import NEVER, Operation
from conformance.concurrency.linearizability import LIMIT, Finding, Placed, Search, check
from conformance.concurrency.shrink import shrink
from conformance.wording import describe
from reference_server.model import Model


class Word(StrEnum):
    """The verdicts on a history."""

    LINEARIZABLE = "linearizable"
    NOT_LINEARIZABLE = "not linearizable"
    UNKNOWN = "unknown"
    VACUOUS = "vacuous"


class Rule(StrEnum):
    """What a history that is not linearizable breaks: the least that would have to be given up to explain it."""

    IN_TURN = "requests of one connection act in the order they were sent"
    SEEN = "what was answered is seen by whatever is asked later"
    AT_ONCE = "each request acts at one instant, wholly or not at all"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be said about a history."""

    word: Word
    told: str
    """One line."""
    rule: Rule | None = None
    """What is broken."""
    drawing: tuple[str, ...] = ()
    """The shrunk history and where no order goes on."""
    unexplained: Operation | None = None
    """An operation of it whose answer does not fit."""


def judge(operations: Sequence[Operation], model: Model, names: Names, *, limit: int = LIMIT) -> Judgement:
    """Return the judgement on a history; `names` are the enums its numbers are told by."""
    keys: dict[bytes, list[Operation]] = {}
    for one in operations:
        keys.setdefault(model.key(one.request), []).append(one)
    searches = {key: check(mine, model, limit=limit) for key, mine in keys.items()}
    for key, search in searches.items():
        if search.finding is Finding.NOT_LINEARIZABLE:
            return _broken(key, keys[key], model, names, limit)
    for key, search in searches.items():
        if search.finding is Finding.UNKNOWN:
            count = f"{search.explored} configurations of {len(keys[key])} operations"
            return Judgement(Word.UNKNOWN, f"unknown: no order of those on {describe(key)} was found in {count}")
    return _explained(keys, searches, model)


def _explained(keys: Mapping[bytes, Sequence[Operation]], searches: Mapping[bytes, Search], model: Model) -> Judgement:
    """Return that every answer is explained, unless nothing else was to be expected."""
    pairs = fruitful = 0
    for key, operations in keys.items():
        changing = _changing(searches[key].order, model)
        for one, other in combinations(operations, 2):
            if one.connection != other.connection and one.overlaps(other):
                pairs += 1
                fruitful += one.number in changing or other.number in changing
    count = f"{sum(map(len, keys.values()))} operations on {len(keys)} keys, {pairs} pairs at the same time"
    if not pairs:
        return Judgement(Word.VACUOUS, f"vacuous: {count}")
    if not fruitful:
        return Judgement(Word.VACUOUS, f"vacuous: {count}, none of which changed anything")
    return Judgement(Word.LINEARIZABLE, f"linearizable: {count}, {fruitful} of them with a change")


def _changing(order: Sequence[Placed], model: Model) -> set[int]:
    """Return the numbers of the operations that changed a record."""
    before, found = model.initial, set()
    for one in order:
        if one.state != before:
            found.add(one.operation.number)
        before = one.state
    return found


def _broken(key: bytes, operations: Sequence[Operation], model: Model, names: Names, limit: int) -> Judgement:
    left = shrink(operations, model, limit=limit)
    rule = _rule(left, model, limit)
    search = check(left, model, limit=limit)
    placed = {one.operation.number for one in search.order}
    stuck = [one for one in left if one.number not in placed and one.reply is not None]
    unexplained = min(stuck, key=lambda one: one.returned, default=None)
    lines = [f"{describe(key)}: {len(left)} of {len(operations)} operations; no order explains their answers,"]
    lines += ["whether the others happened or not." if len(left) < len(operations) else ""]
    lines += ["", *draw(left, key, names), "", f"broken: {rule}"]
    lines += [f"explained: #{one.operation.number}, then {model.tell(one.state)}" for one in search.order]
    lines += [f"not explained: {told(one, key, names)}" for one in stuck]
    what = f"; {told(unexplained, key, names)}" if unexplained else ""
    state = model.tell(search.order[-1].state if search.order else model.initial)
    return Judgement(
        Word.NOT_LINEARIZABLE,
        f"not linearizable: no order explains {len(left)} operations on {describe(key)}{what} where there is {state}",
        rule,
        tuple(line for line in lines if line or line is not lines[1]),
        unexplained,
    )


def _rule(operations: Sequence[Operation], model: Model, limit: int) -> Rule:
    """Return the least of what was asked of an order that none fulfils."""
    apart = [replace(one, connection=f"{one.connection}/{one.number}") for one in operations]
    if check(apart, model, limit=limit).finding is Finding.LINEARIZABLE:
        return Rule.IN_TURN
    timeless = [replace(one, invoked=0, returned=NEVER) for one in operations]
    if check(timeless, model, limit=limit).finding is Finding.LINEARIZABLE:
        return Rule.SEEN
    return Rule.AT_ONCE
