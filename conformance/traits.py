"""What can be told of a case without playing it: whether it waits, what it asks last, how it may be delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.cases import Case
from conformance.delivery import Delivery

CHOICES = frozenset({"by_profile", "by_variant"})
WRITING = frozenset({"send", "silent", "alive", "concurrent"})
"""Verbs that send requests."""
LISTENING = frozenset({"expect", "push"})
BESIDE = frozenset({"on", "clause", "given"})


def _holds(spec: Any, keys: frozenset[str]) -> bool:
    """Say whether a mapping in `spec`, however deep, has one of these keys."""
    if isinstance(spec, Mapping):
        return not keys.isdisjoint(spec) or any(_holds(one, keys) for one in spec.values())
    return isinstance(spec, list | tuple) and any(_holds(one, keys) for one in spec)


def waits(case: Case) -> bool:
    """Say whether a case lets time pass."""
    return _holds(case.steps, frozenset({"wait", "wait_until"}))


def is_concurrent(case: Case) -> bool:
    """Say whether what a case's connections are answered depends on how the target mixes their requests."""
    return _holds(case.steps, frozenset({"concurrent"}))


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


def applies(case: Case, delivery: Delivery) -> bool:
    """Say whether a case can be played under a delivery: neither its question nor its answer changes with it."""
    if delivery.plain:
        return True
    if case.pristine or case.budget or not _holds(case.steps, WRITING):
        return False
    if delivery.joins:
        return not (case.exclusive or case.counted)
    if delivery.half_closes:
        return last_request(case.steps) is not None
    return not (delivery.slow and (case.slow or case.heavy or waits(case)))
