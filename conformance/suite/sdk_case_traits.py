"""What is known of a case for SDKs without playing it: what it asks for, pushes and ends."""

from __future__ import annotations

import msgspec

from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.case_traits import parts
from wireproof.conformance.suite.sdk_steps import AskStep, CloseStep, ResetStep, ScriptedChoice, ScriptedMessage


def ends_connections(case: Case, how: str) -> bool:
    """Say whether a case for SDKs ends a connection while the SDK waits for an answer; `how`: "close" or "reset"."""
    return any(_ends(one, how) for one in parts(case.script))


def _ends(step: msgspec.Struct, how: str) -> bool:
    if getattr(step, "fails", None) is None:
        return False
    if isinstance(step, CloseStep if how == "close" else ResetStep):
        return True
    return any(isinstance(one, ScriptedMessage) and one.name == how for one in parts(step))


def asked_in_turn(case: Case) -> tuple[str, ...]:
    """Return the requests of a case for SDKs that asks for one after the other, each answered whole; else nothing."""
    names: list[str] = []
    for one in case.script:
        if not isinstance(one, AskStep) or len(one.ask) != 1 or one.fails is not None or one.refused:
            return ()
        if one.cut != "whole" or not all(isinstance(each, ScriptedMessage) for each in one.answer or ()):
            return ()
        if has_pushes(one):
            return ()
        names += _names_asked(case, one)[:1]
    return tuple(names)


def answered_right(case: Case) -> frozenset[str]:
    """Return the requests of a case for SDKs that get an answer which must be reported as it is."""
    steps = (one for one in case.script if isinstance(one, AskStep))
    right = (one for one in steps if one.answer and not (one.refused or one.fails or one.or_fails))
    return frozenset(name for one in right for name in _names_asked(case, one))


def asks_at_once(case: Case, step: int | None) -> bool:
    """Say whether several requests were under way when a case for SDKs stopped at a step, by its number."""
    under_way = 0
    for one in case.script[: (step or 0) + 1]:
        if isinstance(one, AskStep):
            plain = all(isinstance(each, ScriptedMessage) for each in one.ask) or _is_choice_of_one(one)
            if one.batch or not plain or under_way + len(one.ask) > 1:
                return True
            under_way += len(one.ask) if one.open else 0
    return False


def _is_choice_of_one(step: AskStep) -> bool:
    """Say whether one request is asked for, another under each profile or variant."""
    (only,) = step.ask if len(step.ask) == 1 else (None,)
    return isinstance(only, ScriptedChoice) and all(isinstance(one, ScriptedMessage) for one in only.options.values())


def may_fail(case: Case, step: int | None) -> bool:
    """Say whether a case for SDKs lets what is asked in a step end with an error: then no right answer comes."""
    asking = case.script[step] if step is not None and step < len(case.script) else None
    return any(getattr(asking, name, None) for name in ("or_fails", "fails", "refused"))


def is_answering(case: Case, step: int | None) -> bool:
    """Say whether a step of a case for SDKs asks for something and answers it, pushes beside the answer perhaps."""
    return step is not None and step < len(case.script) and isinstance(case.script[step], AskStep)


def is_answered_by_name(case: Case) -> bool:
    """Say whether the first answer of a case for SDKs is written as a name alone: it has no fields of its own."""
    step = case.script[0] if case.script else None
    first = step.answer[0] if isinstance(step, AskStep) and step.answer else None
    return isinstance(first, ScriptedMessage) and first.is_name


def _names_asked(case: Case, step: AskStep) -> list[str]:
    """Return the names of what a step asks for, each once for every time."""
    names = [part.name for part in parts(step.ask) if isinstance(part, ScriptedMessage)]
    return [str(case.variables.get(name.strip("{}"), name)) if "{" in name else name for name in names]


def pushes(case: Case) -> bool:
    """Say whether a case for SDKs pushes a message that they must report."""
    return any(
        isinstance(part, ScriptedMessage) and part.name == "push"
        for step in case.script
        if getattr(step, "events", None) != "any"
        for part in parts(step)
    )


def has_pushes(spec: object) -> bool:
    """Say whether anything in a case for SDKs, or in a step of it, is a push."""
    return any(isinstance(part, ScriptedMessage) and part.name == "push" for part in parts((spec,)))


def breadth(case: Case) -> int:
    """Return for how many different requests a case for SDKs asks."""
    asked = tuple(one.ask for one in parts(case.script) if isinstance(one, AskStep))
    return len({one.name for one in parts(asked) if isinstance(one, ScriptedMessage)})
