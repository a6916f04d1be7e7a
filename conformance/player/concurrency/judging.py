"""Judges a history key by key: linearizable, not (and what shows it), unknown, or vacuous.

Keys are judged one by one: a history is linearizable when it is so for each record (Herlihy and Wing, 1990). Vacuous is
one that could not have shown anything: nothing that changed a record overlapped anything else on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from wireproof.conformance.player.concurrency.diagram import HistoryDescriber, Names, draw
from wireproof.conformance.player.concurrency.history import NEVER, Operation, by_connection
from wireproof.conformance.player.concurrency.history_shrinking import Shrunk, shrink
from wireproof.conformance.player.concurrency.linearizability import LIMIT, Placed, Search, SearchVerdict, check
from wireproof.reference_server.model import Model

SHOWN_OPERATIONS = 20
"""Operations beside those needed are drawn, too, up to so many in all."""


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
    """The judgement on a history."""

    word: Word
    detail: str
    """One line."""
    rule: Rule | None = None
    """What is broken."""
    drawing: tuple[str, ...] = ()
    """The shrunk history and where no order goes on."""
    unexplained: Operation | None = None
    """The first operation of it whose answer does not fit."""


def judge(operations: Sequence[Operation], model: Model, names: Names, *, limit: int = LIMIT) -> Judgement:
    """Return the judgement on a history; `names` are the enums that name its numbers."""
    keys: dict[bytes, list[Operation]] = {}
    for one in operations:
        keys.setdefault(model.key(one.request), []).append(one)
    searches = {key: check(mine, model, limit=limit) for key, mine in keys.items()}
    broken = {key: keys[key] for key, search in searches.items() if search.finding is SearchVerdict.NOT_LINEARIZABLE}
    if broken:
        key = min(broken, key=lambda key: searches[key].explored)
        rule = _rule(broken.values(), model, limit // 2)
        return _broken(keys[key], HistoryDescriber(key, model, names), limit, rule)
    for key, search in searches.items():
        if search.finding is SearchVerdict.UNKNOWN:
            count = f"{search.explored} configurations of {len(keys[key])} operations"
            where = HistoryDescriber(key, model, names).key
            return Judgement(Word.UNKNOWN, f"unknown: no order of those on {where} was found in {count}")
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
    where = f"{len(keys)} key{'s' * (len(keys) != 1)}"
    count = f"{sum(map(len, keys.values()))} operations on {where}, {pairs} pairs at the same time"
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


def _broken(operations: Sequence[Operation], describer: HistoryDescriber, limit: int, rule: Rule) -> Judgement:
    model = describer.model
    left = shrink(operations, model, limit=limit)
    search = check(left.operations, model, limit=limit, initial=left.initial)
    placed = {one.operation.number for one in search.order}
    stuck = _next([one for one in left.operations if one.number not in placed])
    where = describer.state(search.order[-1].state if search.order else search.start)
    count = f"{len(left.operations)} operation{'s' * (len(left.operations) > 1)}"
    failed = f"{describer.operation(stuck[0])} where {where} is"
    line = f"not linearizable: no order explains {count} on {describer.key}; {failed}"
    fitted = _fitted(stuck[0], operations, left, model, limit)
    return Judgement(Word.NOT_LINEARIZABLE, line, rule, tuple(_story(left, search, stuck, describer, fitted)), stuck[0])


def _story(
    left: Shrunk, search: Search, stuck: Sequence[Operation], describer: HistoryDescriber, fitted: str
) -> Iterator[str]:
    """Yield the lines that show what no order explains."""
    yield f"before: {describer.states(left.initial)}"
    beside = left.beside if len(left.operations) + len(left.beside) <= SHOWN_OPERATIONS else ()
    yield from draw(left.operations, beside, describer)
    if left.beside:
        drawn = "without >" if beside else "not drawn"
        yield f"{len(left.beside)} of the same time, {drawn}: whether they happened or not, the others have no order"
    if search.order:
        yield f"one order begins with {describer.state(search.start)}"
    yield from (f"  {describer.operation(one.operation)}: {describer.state(one.state)}" for one in search.order)
    yield from (f"  then cannot come {describer.operation(one)}" for one in stuck)
    if fitted:
        yield fitted


def _next(left: Sequence[Operation]) -> list[Operation]:
    """Return which operations could come next, the most urgent first."""
    heads = [chain[0] for chain in by_connection(left).values()]
    first = min(one.returned for one in heads)
    return sorted((one for one in heads if one.invoked <= first), key=lambda one: one.returned)


def _fitted(stuck: Operation, operations: Sequence[Operation], left: Shrunk, model: Model, limit: int) -> str:
    """Say when a reading would have been right, where it is one of the past."""
    if not model.reads(stuck.request, stuck.reply):
        return ""
    begun = min(one.invoked for one in (*left.operations, *left.beside))
    past = check([one for one in operations if one.returned < begun], model, limit=limit).order
    states = [model.initial, *(one.state for one in past)]
    for at in reversed(range(len(past))):
        if model.step(states[at], stuck.request, stuck.reply):
            return f"the answer of #{stuck.number} was right before #{past[at].operation.number}, not after it"
    return ""


def _rule(broken: Collection[Sequence[Operation]], model: Model, limit: int) -> Rule:
    """Return the least that has to be given up to explain all answers."""

    def explains(given_up: Callable[[Operation], Operation]) -> bool:
        searches = (check([given_up(one) for one in mine], model, limit=limit) for mine in broken)
        return all(search.finding is SearchVerdict.LINEARIZABLE for search in searches)

    if explains(lambda one: replace(one, connection=f"{one.connection}/{one.number}")):
        return Rule.IN_TURN
    if explains(lambda one: replace(one, invoked=0, returned=NEVER)):
        return Rule.SEEN
    return Rule.AT_ONCE
