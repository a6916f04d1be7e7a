"""What can be told of a case without playing it: whether it waits, what it asks last, how it may be delivered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from wireproof.conformance.model.expressions import ExpressionError, evaluate
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import Delivery
from wireproof.conformance.suite.symbols import DEFAULT_PARAMETERS
from wireproof.protocols import Protocol

CHOICES = frozenset({"by_profile", "by_variant"})
WRITING = frozenset({"send", "silent", "alive", "concurrent"})
"""Verbs that send requests."""
LISTENING = frozenset({"expect", "push"})
TIMED = frozenset({"concurrent", "measure"})
"""Verbs whose outcome is a matter of time, or of what a process takes."""
ALTERNATIVES = ("any_of", "by_profile", "by_variant")
ALIASES: Mapping[str, Mapping[str, Any]] = {"ok": {"STATUS": {"ok": True}}, "refused": {"STATUS": {"ok": False}}}
MANY = 50
BESIDE = frozenset({"on", "clause", "given"})


def _holds(spec: Any, keys: Collection[str]) -> bool:
    """Say whether a mapping in `spec`, however deep, has one of these keys."""
    return not _keys(spec).isdisjoint(keys)


def _keys(spec: Any) -> set[str]:
    """Return the keys of all mappings in `spec`, however deep."""
    return {key for one in _mappings(spec) for key in one}


def _mappings(spec: Any) -> Iterator[dict[str, Any]]:
    """Yield all mappings in `spec`, however deep."""
    left = [spec]
    while left:
        one = left.pop()
        if type(one) is dict:
            yield one
            left.extend(one.values())
        elif type(one) is list or type(one) is tuple:
            left.extend(one)


def waits(case: Case) -> bool:
    """Say whether a case lets time pass."""
    return _holds(case.steps, frozenset({"wait", "wait_until"}))


def patience(case: Case) -> float:
    """Return about how many seconds a case lets pass; what only a play can tell counts as one."""
    waited, names = 0.0, {**DEFAULT_PARAMETERS, **case.variables}
    for one in _mappings(case.steps):
        until = one.get("wait_until")
        for spec in (one.get("wait"), until["plus"] if type(until) is dict else None):
            number = 0.0 if spec is None else _number(spec, names)
            waited += 1.0 if number is None else number
    return waited


def reads_tables(case: Case) -> bool:
    """Say whether a case looks at the rows of a table."""
    return _holds(case.steps, frozenset({"rows"}))


def longest(case: Case) -> int:
    """Return the bytes of the longest filled field that a case names, as far as that can be told."""
    sizes = [_number(one["size"], case.variables) for one in _mappings(case.steps) if "fill" in one and "size" in one]
    return int(max((one for one in sizes if one is not None), default=0))


def keeps_to_itself(case: Case) -> bool:
    """Say whether every request with fields names something of the case's own (`$…`), so that plays never meet."""
    return all(_names_own(asked) for one in _mappings(case.steps) if "send" in one for asked in _listed(one["send"]))


def _listed(spec: Any) -> list[Any]:
    return spec if isinstance(spec, list) else [spec]


def _names_own(spec: Any) -> bool:
    """Say whether any text in a message, however deep, begins with `$`; a message without fields needs none."""
    if isinstance(spec, str):
        return True
    texts = [value for one in _mappings(spec) for value in one.values()]
    texts += [text for value in texts if isinstance(value, list) for text in value]
    return any(isinstance(one, str) and one.startswith("$") for one in texts)


def is_concurrent(case: Case) -> bool:
    """Say whether what a case's connections are answered depends on how the target mixes their requests."""
    return _holds(case.steps, frozenset({"concurrent"}))


def requests(case: Case) -> int:
    """Return about how many requests a case sends: what only a play can tell counts as 50."""
    return sum(_requests(step, case.variables) for step in case.steps)


def _requests(spec: Any, names: Mapping[str, Any]) -> int:
    match spec:
        case {"repeat": {"each": each, "steps": steps}}:
            return _times(each, names) * sum(_requests(one, names) for one in steps)
        case {"send": asked}:
            return _messages(asked, names)
        case Mapping():
            return int(not WRITING.isdisjoint(spec)) or sum(_requests(one, names) for one in spec.values())
    return 0


def _messages(spec: Any, names: Mapping[str, Any]) -> int:
    match spec:
        case list():
            return sum(_messages(one, names) for one in spec)
        case {"each": each, "of": one}:
            return _times(each, names) * _messages(one, names)
        case {"times": times, "of": one}:
            return _times({"": [1, times]}, names) * _messages(one, names)
    return 1


def sends_fields(case: Case) -> bool:
    """Say whether a case sends any request that has fields, so that there is something to cut."""
    return any(_sends_fields(step) for step in case.steps)


def _sends_fields(spec: Any) -> bool:
    match spec:
        case {"send": list(asked)}:
            return not all(isinstance(one, str) for one in asked)
        case {"send": asked}:
            return not isinstance(asked, str)
        case Mapping():
            return not WRITING.isdisjoint(spec) or any(_sends_fields(one) for one in spec.values())
        case list():
            return any(_sends_fields(one) for one in spec)
    return False


def _times(each: Mapping[str, Any], names: Mapping[str, Any]) -> int:
    ((first, last),) = each.values()
    numbers = [_number(one, names) for one in (first, last)]
    return MANY if None in numbers else int(numbers[1] - numbers[0] + 1)  # type: ignore[operator]


def _number(spec: Any, names: Mapping[str, Any]) -> float | None:
    try:
        return evaluate(str(spec), names)
    except ExpressionError:
        return None


def last_request(steps: Sequence[Any]) -> int | None:
    """Return the number of the step behind whose request our side may end, when there is one.

    Nothing is asked after it on any connection, and on its own only replies come.
    """
    later: list[Mapping[str, Any]] = []
    for number in reversed(range(len(steps))):
        step = steps[number]
        if not isinstance(step, Mapping) or not CHOICES.isdisjoint(step):
            return None
        verbs = step.keys() - BESIDE
        if WRITING.isdisjoint(verbs):
            if not verbs <= LISTENING:
                return None
            later.append(step)
        else:
            return number if _only_replies_follow(step, verbs, later) else None
    return None


def _only_replies_follow(step: Mapping[str, Any], verbs: frozenset[str] | set[str], later: list[Any]) -> bool:
    if not (verbs <= {"send", "expect"} or verbs in ({"silent"}, {"alive"})):
        return False
    on = step["silent"] if "silent" in step else step.get("on", "a")
    heard = [step.get("expect"), *(one for one in later if "alive" not in step and one.get("on", "a") == on)]
    return not _holds(heard, frozenset({"push"}))


def applies(case: Case, delivery: Delivery, spoken: Protocol) -> bool:
    """Say whether a case can be played under a delivery: neither its question nor its answer changes with it."""
    if delivery.plain:
        return True
    keys = _keys(case.steps)
    if case.pristine or case.budget or not keys.isdisjoint(TIMED) or keys.isdisjoint(WRITING):
        return False
    if delivery.joins:
        timed_out = waits(case) and "closed" in keys
        return not case.exclusive and not timed_out and keys.isdisjoint(spoken.neighbour_moves)
    if delivery.half_closes:
        return all(link.half_closes for link in spoken.links.values()) and last_request(case.steps) is not None
    if case.exclusive and not keys.isdisjoint(spoken.time_moves):
        return False
    return not (delivery.slow and (case.slow or case.heavy or case.exclusive or waits(case)))


def options(spec: Any) -> list[Any]:
    """Return what `any_of`, `by_profile` or `by_variant` leaves to choose from."""
    return list(spec.values()) if isinstance(spec, dict) else list(spec)


def patterns(spec: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (reply, fields) of every pattern in an `expect` or `answer`."""
    if isinstance(spec, list):
        for one in spec:
            yield from patterns(one)
    elif isinstance(spec, str):
        yield from ALIASES.get(spec, {spec: {}}).items()
    elif isinstance(spec, dict) and ("times" in spec or "each" in spec):
        yield from patterns(spec.get("of"))
    elif isinstance(spec, dict):
        for key, value in spec.items():
            if key in ALTERNATIVES:
                yield from patterns(options(value))
            elif isinstance(value, dict):
                yield key, value
