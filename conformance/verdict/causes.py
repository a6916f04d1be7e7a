"""The causes of a run: everything that did not pass, grouped by what it comes from. A pure function of the records.

A cause is a death, a hang or a failure, with the smallest play that shows it and the plays that follow from it. What
was found to be a consequence while the run was judged (`rests_on`, `held_back`) follows its cause. Besides, these come
from one cause: deaths with the same end and the same last words; waits in vain for the reply to the same request, busy
or idle; failures that break the same clause at the same place; failures where the same large number was read at the
same place; what `sdk_causes` says of SDKs. A combination, and a step that only prepares, follow what stopped at their
place. What fails only under another segmentation has one cause for each clause that asks for the same verdict there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wireproof.conformance.model.outcome import AT_END
from wireproof.conformance.model.verdict import Level, Verdict
from wireproof.conformance.suite.generated_cases import is_generated
from wireproof.conformance.suite.segmentation import SPELLED
from wireproof.conformance.verdict.cause_groups import grouped
from wireproof.conformance.verdict.crashes import is_unplayed
from wireproof.conformance.verdict.record_facts import (
    CauseKind,
    asked_in,
    extra_of,
    follows,
    is_modelled,
    process_of,
    signature,
    size_of,
    stays_open,
)
from wireproof.conformance.verdict.sdk_causes import with_spoiled
from wireproof.protocols.json_values import JsonDict, JsonObject

if TYPE_CHECKING:
    from wireproof.conformance.verdict.records import Record

__all__ = ["Cause", "CauseKind", "causes_of", "signature"]
RARE = 5
"""How many times more ideas a failure shows than a hang that stands behind it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: the smallest play that shows it first."""

    kind: CauseKind
    records: tuple[Record, ...]
    """Those that show it, the smallest first, then those that follow from it."""
    shown_by: int
    """How many of them show it by themselves."""

    @property
    def first(self) -> Record:
        """The smallest play that shows it."""
        return self.records[0]

    @property
    def clause(self) -> str:
        """The clause that is broken; the one about large numbers where nothing else is read wrong."""
        extremes = {extra_of(one).get("extreme") for one in self.records[: self.shown_by]}
        if len(extremes) == 1 and (extreme := extremes.pop()) is not None:
            return str(extreme)
        return str(self.first["blamed"] or self.first["clauses"][0])

    @property
    def not_required(self) -> str:
        """Why none of its plays decides the exit code (a requirement set does not ask for them); "" where one does."""
        reasons = [str(one.get("not_required") or "") for one in self.records]
        return reasons[0] if all(reasons) else ""

    @property
    def process(self) -> JsonObject:
        """What is known of the process that died or answered nobody; empty for all others."""
        return process_of(self.first) or {}

    @property
    def following(self) -> list[str]:
        """The ids of the other cases, each once."""
        others = dict.fromkeys(one["case"] for one in self.records)
        return [one for one in others if one != self.first["case"]]

    @property
    def common(self) -> list[str]:
        """What was sent in every play that shows it, and for which others were held back; empty where that is much."""
        if held := {str(extra_of(one)["sends"]) for one in self.records if "sends" in extra_of(one)}:
            return sorted(held)
        asked = [asked_in(one) for one in self.records[: self.shown_by] if asked_in(one)]
        found = sorted(frozenset.intersection(*asked)) if len(asked) > 1 else []
        return found if len(found) <= 2 else []

    def as_json(self) -> JsonDict:
        """Return the cause as run.json has it."""
        first = self.first
        hang = extra_of(first).get("hang") or self.process.get("hang")
        words = {name: self.process[name] for name in ("death", "said", "frame") if self.process.get(name)}
        return {
            "kind": self.kind.value,
            "case": first["case"],
            "delivery": first["delivery"],
            "record_id": first["record_id"],
            "verdict": first["verdict"],
            "level": first["level"],
            "clause": self.clause,
            "expected": first["expected"],
            "got": first["got"],
            **words,
            **({"hang": dict(hang)} if hang else {}),
            **({"not_required": self.not_required} if self.not_required else {}),
            **({"requests": self.common} if self.common else {}),
            "following": self.following,
        }


def causes_of(records: Iterable[Record]) -> list[Cause]:
    """Return the causes, deaths first, then hangs and failures; of one kind those of a MUST and with most plays first.

    What combinations alone show, or cases that the model of the document judges, comes after what a case shows whose
    steps say what is expected, of a SHOULD as well, and so does what came only after the last step, or fails in another
    spelling alone: their clause says little. A hang that combinations alone show, or few cases beside a failure of
    many, or one case of a SHOULD beside any, stands among failures, and so does a connection that the target does not
    close: nobody waits for an answer.
    What decides nothing (`not_required`) is last.
    Each record that neither passed nor is unsupported is in one cause, apart from cases that were not begun because the
    run or the target ended: nothing is known of them.
    """
    bad = [
        one
        for one in records
        if one["verdict"] not in (Verdict.PASS, Verdict.UNSUPPORTED) and (follows(one) or not is_unplayed(one))
    ]
    groups = grouped(with_spoiled(bad))
    causes = [Cause(one.kind, (*one.shows, *one.follow), len(one.shows)) for one in groups]
    most = max((_ideas(one) for one in causes if one.kind is CauseKind.FAILURE and not one.not_required), default=0)
    return sorted(causes, key=lambda one: _rank(one, most))


def _ideas(cause: Cause) -> int:
    return len({_idea(one) for one in cause.records})


def _rank(cause: Cause, most: int) -> tuple[object, ...]:
    shows = cause.records[: cause.shown_by]
    level = min(list(Level).index(Level(one["level"])) for one in shows)
    kind = list(CauseKind).index(cause.kind)
    is_vague = all(_is_vague(one) for one in shows)
    ideas = _ideas(cause)
    is_single = ideas == 1 and most > 0 and level == list(Level).index(Level.SHOULD)
    is_rare = ideas * RARE <= most or is_single or all(map(stays_open, shows))
    if cause.kind is CauseKind.HANG and (is_vague or is_rare) and not cause.process:
        kind = list(CauseKind).index(CauseKind.FAILURE)
    is_optional = level == list(Level).index(Level.MAY)
    return bool(cause.not_required), kind, is_optional, is_vague, level, -ideas, size_of(cause.first)


def _idea(record: Record) -> str:
    """Return what is the same of cases that differ in a value alone, or that are combinations of one request."""
    name = str(record["case"])
    return name.rpartition("-")[0] if is_generated(name) else name.partition(".")[0]


def _is_vague(record: Record) -> bool:
    judged_by_model = is_generated(record["case"]) or is_modelled(record)
    return judged_by_model or extra_of(record).get("field") == AT_END or record["delivery"] == SPELLED.name
