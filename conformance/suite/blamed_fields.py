"""Which fields a step may have clauses for (`blame`): those of the messages that it expects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from wireproof.conformance.suite.case_traits import message_patterns
from wireproof.conformance.suite.pattern_types import MessagePattern
from wireproof.conformance.suite.steps import NOTHING, Expect, ExpectPush, Step


def blamable(step: Step, layouts: Callable[[str], Sequence[Mapping[str, object]]]) -> frozenset[str] | None:
    """Return the fields that a step may blame, `NOTHING` among them; None where a message is not known before a play.

    `layouts`: name of a message -> its fields in each profile. What stands inside a field, as members of JSON in a
    payload do, differs as that field.
    """
    awaited = [layouts(one.name) for one in _awaited(step)]
    return frozenset({NOTHING, *(name for each in awaited for one in each for name in one)}) if all(awaited) else None


def _awaited(step: Step) -> Iterator[MessagePattern]:
    for verb in step.verbs:
        if isinstance(verb, Expect):
            yield from message_patterns(verb.expect)
        elif isinstance(verb, ExpectPush):
            yield from message_patterns(verb.push)
