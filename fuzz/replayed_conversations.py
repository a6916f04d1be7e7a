"""Plays a conversation of the vectors on a server and its model, each step in one of many ways."""

from __future__ import annotations

from typing import Protocol

from wireproof.fuzz.conversation_steps import with_ids
from wireproof.fuzz.decisions import until_due
from wireproof.fuzz.drawn_requests import RequestDrawing, in_other_case
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.restarting import restart
from wireproof.fuzz.store_steps import AdvanceStep, EndStep, RequestStep, RestartStep, Step, TogetherStep
from wireproof.reference_server.model import LastingModel

__all__ = [
    "CHANGED",
    "ENDS",
    "ENDS_HELD",
    "KILLED_FIRST",
    "LACKING",
    "MANY",
    "OTHER_CASE",
    "RESTARTED_FIRST",
    "TOGETHER",
    "WITH_NEXT",
    "replay",
]

LEFT_OUT, TWICE, WAITS_FIRST, CHANGED, RESTARTED_FIRST, KILLED_FIRST, OTHER_CASE, LACKING, MANY = range(1, 10)
"""What a byte says of a step of a conversation; any other byte: it is done as it is."""
ENDS, ENDS_HELD, WITH_NEXT, TOGETHER = range(10, 14)
"""Our side ends with it, maybe while the client takes nothing; it is one write with the next step; the next step comes
on another connection before the server has another turn."""
MANY_TIMES = 64
"""How often the last request of a step is sent there."""


class Variations(Protocol):
    """What an input says of the steps."""

    drawing: RequestDrawing

    def conversation(self) -> tuple[Step, ...]:
        """Return the conversation."""

    def variation(self) -> int:
        """Return how the next step is done."""

    def changed(self, step: RequestStep) -> RequestStep:
        """Return a step with another value in a field."""

    def lacking(self, step: RequestStep) -> RequestStep:
        """Return a step without one of its requests."""


def replay(found: StoreCheck, steps: Variations) -> None:
    """Play a conversation of the vectors; a byte for each step says how. Raises `InvariantError`."""
    before: RequestStep | None = None
    join = _joined
    for step in steps.conversation():
        how = steps.variation()
        if before is not None:
            if (both := join(found, steps, before, step)) is None:
                _do(found, steps, before, 0)
            step, before = both or step, None
        if isinstance(step, RequestStep) and how in (WITH_NEXT, TOGETHER) and _may_wait(found, step, how):
            before, join = step, _joined if how == WITH_NEXT else _together
        else:
            _do(found, steps, step, how)
    if before is not None:
        _do(found, steps, before, 0)


def _may_wait(found: StoreCheck, step: RequestStep, how: int) -> bool:
    """Say whether a step can wait for the next one.

    Requests of one write take effect one after another only where answers are in order: a pull of TMQP goes on beside
    later ones. Those of two connections do where a model follows requests when they are sent. What a greeting is
    answered with, later requests may name.
    """
    if step.connection not in found.connections:
        return False
    link = found.link_of(step.connection)
    if how == WITH_NEXT:
        return found.context.symbols.protocol.link_of(link).answers_in_order
    greeting = {type(one) for one in found.model.greeting(link)}
    return found.model.expects_answers and not any(type(one) in greeting for one in step.requests)


def _joined(found: StoreCheck, steps: Variations, before: RequestStep, step: Step) -> Step | None:
    """Return the step that sends both in one write; None where the second one is for another connection."""
    if isinstance(step, RequestStep) and step.connection == before.connection:
        return RequestStep(step.connection, before.requests + step.requests)
    return None


def _together(found: StoreCheck, steps: Variations, before: RequestStep, step: Step) -> Step | None:
    """Return the step that sends the last request of one and the other in one turn; None for two of one connection."""
    if not isinstance(step, RequestStep) or step.connection == before.connection:
        return None
    if before.requests[:-1]:
        _do(found, steps, RequestStep(before.connection, before.requests[:-1]), 0)
    last = _known(found, steps, RequestStep(before.connection, before.requests[-1:]))
    return TogetherStep(last, _known(found, steps, step))


def _known(found: StoreCheck, steps: Variations, step: RequestStep) -> RequestStep:
    """Return a step with the ids that the server has made; its names are drawn again later."""
    steps.drawing.note(step.requests)
    return with_ids(step, found.known_ids, found.context.symbols.codec)


def _do(found: StoreCheck, steps: Variations, step: Step, how: int) -> None:
    """Do a step of a conversation in one of the ways."""
    if how == WAITS_FIRST and not isinstance(step, AdvanceStep):
        found.do(AdvanceStep(until_due(found, 0, 0)))
    if how in (RESTARTED_FIRST, KILLED_FIRST) and isinstance(found.model, LastingModel):
        restart(found, RestartStep(how == KILLED_FIRST))
    if isinstance(step, RequestStep):
        step = with_ids(step, found.known_ids, found.context.symbols.codec)
        step = steps.changed(step) if how == CHANGED else steps.lacking(step) if how == LACKING else step
        step = many_times(step) if how == MANY else step
        if how == OTHER_CASE:
            step = RequestStep(step.connection, tuple(map(in_other_case, step.requests)))
        steps.drawing.note(step.requests)
        step = EndStep(step, how == ENDS_HELD) if how in (ENDS, ENDS_HELD) else step
    for _ in range({LEFT_OUT: 0, TWICE: 2}.get(how, 1)):
        found.do(step)


def many_times(step: RequestStep) -> RequestStep:
    """Return a step that sends its last request many times: what is wrong with one message of many is seen then."""
    return RequestStep(step.connection, step.requests + step.requests[-1:] * (MANY_TIMES - 1))
