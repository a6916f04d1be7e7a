"""Which cases a run over sockets plays alone, although they allow others beside them.

Some faults show only where nothing else is asked meanwhile: an answer that is kept until another request comes, a
message, an end or a time-out that is seen to with the next bytes of anybody. So of each clause the plainest case is
played while nothing else is under way, then the next plainest, as long as the time goes that is meant for it: ASKED
seconds for cases that let no time pass, WAITED for those that do, too few for time-outs of seconds: of each clause
about these the plainest is played alone where slow cases are played, too. The choice is a pure function of the cases
and of how far the target is, so two runs choose alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.case_traits import is_concurrent, leaves_unread, patience, requests, waits
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.records import level_of

__all__ = ["played_alone"]

ASKED, WAITED = 1.8, 1.2
"""Seconds that the cases may take that let no time pass, and those that do."""
WAITED_SLOWLY = 90.0
"""The same for those that do, where slow cases are played."""
PLAY, REQUEST = 0.004, 0.0006
"""Seconds that a play takes near the target, and each of its requests."""
A_WHILE = 0.2
"""Seconds below which time that passes is a pause between pieces, and no time-out."""
MOST_REQUESTS = 20
"""Requests beyond which a case is not plain."""
Seconds = Callable[[Case], float]


def played_alone(
    cases: Sequence[Case], suite: Suite, profile: str, parameters: Mapping[str, float] | None, far: Seconds
) -> list[Case]:
    """Return what is played alone, in the order of the plays.

    `parameters`: the target's, where they are not the usual ones; `far`: how many seconds round trips take in a case.
    """
    waited = partial(patience, declared=parameters)
    plain = [case for case in cases if _is_plain(case) and level_of(case, suite, profile) is not Level.MAY]
    found = []
    quick = [one for one in plain if not waits(one)], lambda one: one.clauses, ASKED
    others = [one for one in plain if waits(one)], lambda one: (suite.clauses[one.clauses[0]].group,), WAITED
    if any(case.slow for case in cases):
        others = others[0], lambda one: one.clauses[:1], WAITED_SLOWLY
    for some, subjects, most in (quick, others):
        spent = 0.0
        for case in _in_turn(some, subjects, waited):
            takes = PLAY + REQUEST * requests(case) + waited(case) + far(case)
            if spent + takes <= most:
                spent += takes
                found.append(case)
    return found


def _is_plain(case: Case) -> bool:
    if case.segmentation != WHOLE.name or case.exclusive or case.budget or case.slow or case.heavy:
        return False
    return requests(case) <= MOST_REQUESTS and not (is_concurrent(case) or leaves_unread(case))


def _in_turn(cases: Sequence[Case], subjects: Callable[[Case], Iterable[str]], waited: Seconds) -> Iterator[Case]:
    """Yield the plainest case of each subject, plain ones first; then the next plainest of each, and so on."""
    by_subject: dict[str, list[Case]] = {}
    for case in sorted(cases, key=partial(_plainness, waited=waited)):
        for subject in subjects(case):
            by_subject.setdefault(subject, []).append(case)
    taken: set[str] = set()
    while any(by_subject.values()):
        for some in by_subject.values():
            while some and some[0].id in taken:
                del some[0]
            if some:
                taken.add(some[0].id)
                yield some[0]


def _plainness(case: Case, waited: Seconds) -> tuple[bool, bool, bool, float, int, str]:
    seconds = waited(case)
    pauses = waits(case) and seconds < A_WHILE
    return case.modelled, pauses, not case.prerequisite, round(seconds, 3), requests(case), case.id
