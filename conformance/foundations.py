"""Which failures are consequences: a case built on what another case shows to be broken is untestable, not failed.

Groups of clauses stand on a ladder. A failed case of a lower group explains a failed one above it that used the lower
group's request, when both stopped at the same place (the same field of the reply to the same request) or when the lower
one is a foundation. Pure: the outcomes of one run in, the same with the explained ones marked out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from conformance.cases import Case, Suite
from conformance.outcome import Outcome
from conformance.verdicts import Guilty, Verdict

__all__ = ["explained"]

FAILED = frozenset({Verdict.FAIL, Verdict.HANG})


@dataclass(frozen=True, slots=True)
class _Failure:
    """One failed case and where it stands."""

    case: Case
    outcome: Outcome
    group: str
    rung: int

    def explains(self, other: _Failure) -> bool:
        """Say whether `other` failed because this did."""
        here, there = self.outcome.place, other.outcome.place
        beneath = (self.rung, not self.case.foundation) < (other.rung, not other.case.foundation)
        if here is None or there is None or not beneath or self.group not in there.asked:
            return False
        if self.rung < other.rung and (here.reply_to, here.field) == (there.reply_to, there.field):
            return True
        return self.case.foundation


def explained(suite: Suite, played: Iterable[tuple[Case, Outcome]]) -> Mapping[str, Outcome]:
    """Return case id -> outcome for the failures that others explain; those that explain them stay failures."""
    rungs = {group: rung for rung, group in enumerate(suite.ladder)}
    failures = []
    for case, outcome in played:
        if outcome.verdict in FAILED:
            group = suite.clauses[case.clauses[0]].group
            failures.append(_Failure(case, outcome, group, rungs.get(group, len(rungs))))
    failures.sort(key=lambda one: (one.rung, not one.case.foundation))
    roots: list[_Failure] = []
    found: dict[str, Outcome] = {}
    for one in failures:
        cause = next((root for root in roots if root.explains(one)), None)
        if cause is None:
            roots.append(one)
        else:
            found[one.case.id] = _consequence(one.outcome, cause)
    return found


def _consequence(outcome: Outcome, cause: _Failure) -> Outcome:
    told = f"{outcome.got}; rests on {cause.case.id}, which fails ({cause.outcome.blamed})"
    return replace(outcome, verdict=Verdict.UNTESTABLE, guilty=Guilty.TARGET, got=told)
