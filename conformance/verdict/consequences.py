"""Which failures are consequences: a case built on what another case shows to be broken is untestable, not failed.

Groups of clauses are ordered by dependency. A failed case of a lower group explains a failed one above it that used the
lower group's request, or that is about an aspect which rests on the lower one (`Suite.aspects`), when both stopped at
the same place (the same field of the reply to the same request; what is judged by many replies at once stops at all of
them) or when the lower one is a prerequisite. A clause may be about a field of whatever message (`fields`): what breaks
it there explains what stopped at that field of another message. A case may be about the form of several replies
(`prerequisite_of`): it stands beside the prerequisites of the first of these requests, and explains what cannot be read
once one of them was asked for. Of several prerequisites of one group the later ones, in order of their files, depend on
the earlier. Cases that the model judges, combinations say, stand above all that people wrote: one rule explains a
combination of several, and not the other way round. A failed prerequisite of all explains every other failure. What
explains always stands lower, so failures are decided from the lowest up, and what explains one is never explained
itself. What failed once and passed in each play after that (`passes_again`) explains nothing.
"""

# Strategy
#
# The problem. A server whose QUERY is wrong fails a hundred cases that read their results by QUERY. Only one sentence
# of the document is broken, and a report that blames a hundred hides it. Leaving the others out would be wrong as well:
# nobody knows whether they pass. So they are untestable, with the case that explains them.
#
# What explains what is decided by data, not by a list of pairs. Groups of clauses have an order (`Suite.ladder`), each
# failed play knows the groups it used (`FailurePlace.asked`) and where it stopped (its `reply_to` and `field`). A lower
# case explains a higher one that used its group and stopped at the same place, for there the cause is likely the same;
# a prerequisite explains any failure that used its group, since nothing of that group can be believed without it.
# Where the lower case sent the request of the higher one's group, though cases of its own group can do without, the
# cause may as well be that request: a buffer whose TTL is moved, and read by GET. Then it explains only what fails
# without that request, too, at the same place; otherwise both stand, and `causes.py` ranks them.
#
# Why decisions are final. `height` orders all cases, and only a lower one explains a higher one. So failures are
# decided from the lowest up, no cause is ever explained itself, and the result does not depend on the order in which
# cases end. Of several causes the lowest is named, and of equal ones the first that arrived.
#
# Why records wait. A record is written once, and cases end in any order. A failure waits for every case of the run that
# may explain it and is not decided (`waits_for`), and for no other: `may_explain` asks only what is known before the
# lower case ends. A case that passes, crashes or is decided releases those that waited for nothing else, and those in
# turn others (`_decided`). When the run is over, cases that were never played explain nothing, and the rest is decided
# from the lowest up. Until then the journal of the run has what waits (`report/outputs.py`).
#
# Only whole plays wait. Under another segmentation a case is played only after it passed whole, so what fails there has
# no other cause.

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from wireproof.conformance.model.outcome import ANYWHERE, FailurePlace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.suite.case_traits import parts
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.suite.values import SymbolicMessage
from wireproof.conformance.verdict.records import Record

__all__ = ["BY_ITSELF", "Consequences", "FailedPlay", "explained"]

NEARLY_ALL = 0.8
"""The share of a group's cases that send what the group cannot be asked about without."""
BY_ITSELF = frozenset({Verdict.FAIL, Verdict.LENIENT, Verdict.HANG})
"""Verdicts that may be the consequence of another failure; a crash never is, nor a hang in which nobody is served."""


@dataclass(frozen=True, slots=True)
class FailedPlay:
    """One play that failed, and where."""

    key: str
    """Names the play: one case fails once for each delivery."""
    case: Case
    place: FailurePlace
    blamed: str | None

    def as_cause(self, got: str | None) -> str:
        """Return what an explained play got, with this as its cause."""
        return f"{got}; rests on {self.case.id}, which fails ({self.blamed})"


class _Order:
    """Which case of a suite may be the cause of which failure."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._rungs = {group: rung for rung, group in enumerate(suite.ladder)}
        self._prerequisites = {
            one.id: at
            for at, one in enumerate(suite.cases)
            if one.prerequisite or one.prerequisite_of or one.prerequisite_of_all
        }

    @cached_property
    def _usual(self) -> Mapping[str, frozenset[str]]:
        return _usual(self._suite, self._group)

    def height(self, case: Case) -> tuple[int, int]:
        """Return where a case stands: only a lower one explains it."""
        rung = -1 if case.prerequisite_of_all else self._rungs.get(self._group(case), len(self._rungs))
        if case.prerequisite_of:
            rung = min(self._rungs.get(name, rung) for name in case.prerequisite_of)
        if case.modelled:
            rung += len(self._rungs) + 1
        return rung, self._prerequisites.get(case.id, len(self._suite.cases))

    def may_explain(self, low: Case, high: FailedPlay) -> bool:
        """Say whether `low`, if it fails, explains a failure: somewhere, or only if both stopped at the same place."""
        if self.height(low) >= self.height(high.case):
            return False
        is_lower = self.height(low)[0] < self.height(high.case)[0]
        if is_lower and any(high.place.field in self._suite.clauses[one].fields for one in low.clauses):
            return True
        if _is_unread(low, high):
            return True
        uses = self._group(low) in {self._group(high.case), *high.place.asked, *self._below(high.case)}
        return low.prerequisite_of_all or (uses and (low.prerequisite or is_lower))

    def explains(self, low: FailedPlay, high: FailedPlay, failed: Iterable[FailedPlay] = ()) -> bool:
        """Say whether a failure explains another; `failed`: what failed before, explained or not."""
        if not self.may_explain(low.case, high):
            return False
        if low.case.prerequisite_of_all or low.case.prerequisite or _is_unread(low.case, high):
            return True
        same = _place(low) == _place(high)
        meets = same or high.place.reply_to == ANYWHERE or self._is_of_field(low, high.place.field)
        return meets and not self._may_come_from(high, low, failed)

    def _may_come_from(self, high: FailedPlay, low: FailedPlay, failed: Iterable[FailedPlay]) -> bool:
        """Say whether the request of the higher group may be the cause of both: all that stopped there had sent it."""
        group, own = self._group(high.case), self._group(low.case)
        if group not in low.place.asked or group in {own, *self._usual[own]}:
            return False
        there = (one for one in failed if _place(one) == _place(low) and self.may_explain(one.case, high))
        return all(group in one.place.asked for one in there)

    def _is_of_field(self, low: FailedPlay, field: str) -> bool:
        """Say whether a failure breaks a clause about this field of whatever message, in that field."""
        clause = self._suite.clauses.get(low.blamed or "")
        return clause is not None and low.place.field == field and field in clause.fields

    def _below(self, case: Case) -> tuple[str, ...]:
        """Return the aspects that the group of a case rests on, where it is one."""
        aspects, group = self._suite.aspects, self._group(case)
        return aspects[: aspects.index(group)] if group in aspects else ()

    def _group(self, case: Case) -> str:
        return self._suite.clauses[case.clauses[0]].group


def _place(failure: FailedPlay) -> tuple[str, str]:
    return failure.place.reply_to, failure.place.field


def _is_unread(low: Case, high: FailedPlay) -> bool:
    """Say whether no field was read of a reply whose form `low` is about, or of one that carries it or follows it."""
    return not high.place.field and not high.place.asked.isdisjoint(low.prerequisite_of)


def _sent(case: Case) -> set[str]:
    return {one.name for one in parts(case.steps) if isinstance(one, SymbolicMessage)}


def _usual(suite: Suite, group_of: Callable[[Case], str]) -> Mapping[str, frozenset[str]]:
    """Return group -> the requests that nearly all of its cases send, so that it cannot be asked about without them."""
    cases: dict[str, list[Case]] = {}
    for case in suite.cases:
        if not case.modelled:
            cases.setdefault(group_of(case), []).append(case)
    found = {}
    for group, mine in cases.items():
        sent = Counter(name for case in mine for name in _sent(case))
        found[group] = frozenset(name for name, count in sent.items() if count >= NEARLY_ALL * len(mine))
    return defaultdict(frozenset, found)


def explained(suite: Suite, failures: Iterable[FailedPlay]) -> Mapping[str, FailedPlay]:
    """Return key -> cause for the failures that others explain; what explains is never explained itself."""
    order = _Order(suite)
    causes: list[FailedPlay] = []
    failed: list[FailedPlay] = []
    found: dict[str, FailedPlay] = {}
    for one in sorted(failures, key=lambda failure: order.height(failure.case)):
        cause = next((low for low in causes if order.explains(low, one, failed)), None)
        failed.append(one)
        if cause is None:
            causes.append(one)
        else:
            found[one.key] = cause
    return found


@dataclass(slots=True)
class _Undecided:
    """A failure whose cause may still be found."""

    number: int
    record: Record
    failure: FailedPlay
    waits_for: set[str]
    """The cases that may explain it and have no final verdict yet."""


class Consequences:
    """Takes the records of one run as they are made; returns each once, when it cannot change any more.

    Everything but a failure is final at once. A failure is held back until every case that may explain it is decided.
    """

    def __init__(self, suite: Suite, cases: Iterable[Case]) -> None:
        """`cases` are those of the run."""
        self._order = _Order(suite)
        self._cases = {case.id: case for case in suite.cases}
        self._open = {case.id: case for case in cases}
        self._held: dict[str, _Undecided] = {}
        self._causes: list[tuple[tuple[int, int], int, FailedPlay]] = []
        """Failures that nothing explains, with where they stand and their number in order of arrival."""
        self._failed: list[FailedPlay] = []
        """All failures that are decided."""
        self._count = 0

    def add(self, record: Record) -> list[Record]:
        """Take a record; return those that are final now."""
        self._count += 1
        if record["delivery"] != WHOLE.name:
            return [record]
        name = record["case"]
        if record["verdict"] not in BY_ITSELF or "asked" not in record["extra"] or "hang" in record["extra"]:
            return [record, *self._decided(name)]
        failure = FailedPlay(record["record_id"], self._cases[name], FailurePlace.of(record["extra"]), record["blamed"])
        waits_for = {other for other, case in self._open.items() if self._order.may_explain(case, failure)}
        self._held[name] = _Undecided(self._count, record, failure, waits_for)
        return [] if waits_for else self._decided(name)

    def rest(self) -> list[Record]:
        """Return what is still held back, decided by what was played; the run is over or was cut short."""
        for name in [name for name in self._open if name not in self._held]:
            del self._open[name]
        found: list[Record] = []
        while self._held:
            lowest = min(self._held.values(), key=lambda one: self._order.height(one.failure.case))
            found += self._decided(lowest.failure.case.id)
        return found

    def _decided(self, name: str) -> list[Record]:
        """Decide a case, and then those that waited for nothing but it; return the records held back of them."""
        found: list[Record] = []
        due = [name]
        while due:
            name = due.pop(0)
            self._open.pop(name, None)
            if (held := self._held.pop(name, None)) is not None:
                found.append(self._decide(held))
            for other, one in self._held.items():
                if name in one.waits_for:
                    one.waits_for.discard(name)
                    due += [] if one.waits_for else [other]
        return found

    def _decide(self, held: _Undecided) -> Record:
        causes = (one for _, _, one in self._causes if self._order.explains(one, held.failure, self._failed))
        cause = next(causes, None)
        self._failed.append(held.failure)
        if cause is not None:
            return consequence(held.record, cause)
        if held.record["extra"].get("passes_again"):
            return held.record
        self._causes.append((self._order.height(held.failure.case), held.number, held.failure))
        self._causes.sort(key=lambda one: one[:2])
        return held.record


def consequence(record: Record, cause: FailedPlay) -> Record:
    """Return the record of a failure that another one explains."""
    return {
        **record,
        "verdict": Verdict.UNTESTABLE.value,
        "guilty": Guilty.TARGET.value,
        "got": cause.as_cause(record["got"]),
        "extra": {**record["extra"], "rests_on": cause.case.id},
    }
