"""Which failures are consequences: a case built on what another case shows to be broken is untestable, not failed.

Groups of clauses stand on a ladder. A failed case of a lower group explains a failed one above it that used the lower
group's request, when both stopped at the same place (the same field of the reply to the same request; what is judged by
many replies at once stops at all of them) or when the lower one is a foundation. Of several foundations of one group
the later ones, in order of their files, rest on the earlier. A failed bedrock case explains every other failure.
Pure: the failures of one run in, the cause of each explained one out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wireproof.conformance.model.outcome import ANYWHERE, Place
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.records import Record

__all__ = ["BY_ITSELF", "Failure", "explained", "settled"]

BY_ITSELF = frozenset({Verdict.FAIL, Verdict.LENIENT, Verdict.HANG})
"""Verdicts that may be the consequence of another failure; a crash never is."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One play that failed, and where."""

    key: str
    """Names the play: one case fails once for each delivery."""
    case: Case
    place: Place
    blamed: str | None

    def told(self, got: str | None) -> str:
        """Return what an explained play got, with this as its cause."""
        return f"{got}; rests on {self.case.id}, which fails ({self.blamed})"


def explained(suite: Suite, failures: Iterable[Failure]) -> Mapping[str, Failure]:
    """Return key -> cause for the failures that others explain; what explains is never explained itself."""
    rungs = {group: rung for rung, group in enumerate(suite.ladder)}
    foundations = {case.id: place for place, case in enumerate(suite.cases) if case.foundation or case.bedrock}

    def group_of(one: Failure) -> str:
        return suite.clauses[one.case.clauses[0]].group

    def height(one: Failure) -> tuple[int, int]:
        rung = -1 if one.case.bedrock else rungs.get(group_of(one), len(rungs))
        return rung, foundations.get(one.case.id, len(suite.cases))

    def explains(low: Failure, high: Failure) -> bool:
        if low.case.bedrock and height(low) < height(high):
            return True
        if height(low) >= height(high) or group_of(low) not in {group_of(high), *high.place.asked}:
            return False
        same = (low.place.reply_to, low.place.field) == (high.place.reply_to, high.place.field)
        meets = same or high.place.reply_to == ANYWHERE
        return low.case.foundation or (meets and height(low)[0] < height(high)[0])

    causes: list[Failure] = []
    found: dict[str, Failure] = {}
    for one in sorted(failures, key=height):
        cause = next((low for low in causes if explains(low, one)), None)
        if cause is None:
            causes.append(one)
        else:
            found[one.key] = cause
    return found


def settled(suite: Suite, records: Sequence[Record]) -> list[Record]:
    """Return the records of a whole run with consequences made untestable; all others are the same objects."""
    cases = {case.id: case for case in suite.cases}
    failures = [
        Failure(one["record_id"], cases[one["case"]], Place.of(one["extra"]), one["blamed"])
        for one in records
        if one["verdict"] in BY_ITSELF and one["delivery"] == WHOLE.name and "asked" in one["extra"]
    ]
    causes = explained(suite, failures)
    return [_consequence(one, causes[one["record_id"]]) if one["record_id"] in causes else one for one in records]


def _consequence(record: Record, cause: Failure) -> Record:
    return {
        **record,
        "verdict": Verdict.UNTESTABLE.value,
        "guilty": Guilty.TARGET.value,
        "got": cause.told(record["got"]),
        "extra": {**record["extra"], "rests_on": cause.case.id},
    }
