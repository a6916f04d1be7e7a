"""What changed from one run to another: which plays were fixed, broken, new, gone, or do not pass in another way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from wireproof.conformance.model.verdict import GREEN, Level, Verdict
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.run_files import ReadRun, RunFileError
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.causes import Cause, causes_of
from wireproof.conformance.verdict.records import Record

__all__ = ["Change", "Changed", "RunComparison", "compare_runs"]

SAME = ("protocol", "role")
"""What two runs must agree in."""
RUN_PROPERTIES = ("profile", "variant", "implementation", "implementation_version", "wireproof_version")
"""What else may explain a change."""


class Changed(StrEnum):
    """How a play changed, in the order in which a person wants to see it."""

    BROKEN = "broken"
    """It failed no MUST or SHOULD, and does now."""
    FIXED = "fixed"
    """It did not pass, and passes now."""
    OTHERWISE = "changed in kind"
    """It still does not pass, but otherwise; or what the document leaves open is answered otherwise."""
    NEW = "new"
    """Played in the second run only."""
    GONE = "gone"
    """Played in the first run only."""


@dataclass(frozen=True, slots=True)
class Change:
    """One play that changed."""

    kind: Changed
    before: Record | None
    after: Record | None

    @property
    def shown(self) -> Record:
        """The record that describes the play: that of the second run where there is one."""
        return self.after or self.before or {}

    @property
    def is_red(self) -> bool:
        """Whether it fails a MUST or SHOULD in the second run."""
        return self.after is not None and _is_bad(self.after)

    @property
    def words(self) -> str:
        """From what to what, in one line."""
        return " → ".join("not played" if one is None else _state(one) for one in (self.before, self.after))


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs and what changed between them."""

    first: ReadRun
    second: ReadRun
    changes: tuple[Change, ...]
    same: int
    """Plays that did not change."""
    unsampled: int
    """Plays under other segmentations that only one run has: each run plays a sample of them."""
    left_out: int = 0
    """Plays that a partial run does not have: they are not compared."""

    def of(self, kind: Changed) -> list[Change]:
        """Return the changes of one kind, those that fail first."""
        return [one for one in self.changes if one.kind is kind]

    @property
    def counts(self) -> dict[str, int]:
        """How many plays changed, by kind."""
        return {kind.value: len(self.of(kind)) for kind in Changed}

    @property
    def broken_causes(self) -> list[Cause]:
        """The causes, in the second run, of what broke."""
        broken = {one.after["record_id"] for one in self.of(Changed.BROKEN) if one.after is not None}
        causes = causes_of(self.second.records)
        return [one for one in causes if any(record["record_id"] in broken for record in one.records)]

    @property
    def notes(self) -> list[str]:
        """What else differs between the runs, or is missing in one, a line each."""
        first, second = self.first.summary, self.second.summary
        found = [
            f"{name.replace('_', ' ')}: {first.get(name)} → {second.get(name)}"
            for name in RUN_PROPERTIES
            if first.get(name) != second.get(name)
        ]
        for what, run in (("first", self.first), ("second", self.second)):
            if run.partial:
                found.append(f"the {what} run is partial: {'; '.join(run.partial)}")
            if run.skipped:
                found.append(f"{number_of(run.skipped, 'line')} of the {what} run without a record")
        if self.left_out:
            found.append(f"not compared, not in a partial run: {number_of(self.left_out, 'play')}")
        return found


def compare_runs(first: ReadRun, second: ReadRun) -> RunComparison:
    """Return what changed. Raises `RunFileError` for runs of different protocols or roles."""
    for name in SAME:
        if first.summary.get(name) != second.summary.get(name):
            raise RunFileError(
                f"{name}: {first.path} has {first.summary.get(name)}, {second.path} {second.summary.get(name)}:"
                " runs of one protocol and role can be compared"
            )
    before, after = _by_play(first.records), _by_play(second.records)
    changes, same, unsampled, left_out = list[Change](), 0, 0, 0
    for play in {**after, **before}:
        one, other = before.get(play), after.get(play)
        if (one is None or other is None) and play[1] != WHOLE.name and not any(map(_is_bad, _there(one, other))):
            unsampled += 1
        elif (one is None and first.partial) or (other is None and second.partial):
            left_out += 1
        elif (kind := _kind(one, other)) is None:
            same += 1
        else:
            changes.append(Change(kind, one, other))
    return RunComparison(first, second, tuple(sorted(changes, key=_order)), same, unsampled, left_out)


def _there(*records: Record | None) -> Iterator[Record]:
    yield from (one for one in records if one is not None)


def _by_play(records: Iterable[Record]) -> dict[tuple[str, str], Record]:
    return {(one["case"], one["delivery"]): one for one in records}


def _order(change: Change) -> tuple[object, ...]:
    record = change.shown
    level, follows = list(Level).index(Level(record["level"])), record["verdict"] == Verdict.UNTESTABLE
    return list(Changed).index(change.kind), not change.is_red, follows, level, record["case"], record["delivery"]


def _kind(before: Record | None, after: Record | None) -> Changed | None:
    """Return how a play changed; None for not at all."""
    if before is None:
        return Changed.NEW
    if after is None:
        return Changed.GONE
    if _is_bad(after) and before["verdict"] in GREEN:
        return Changed.BROKEN
    if before["verdict"] not in GREEN and after["verdict"] == Verdict.PASS:
        return Changed.FIXED
    return None if _way(before) == _way(after) else Changed.OTHERWISE


def _is_bad(record: Mapping[str, Any]) -> bool:
    not_scored = record["verdict"] in GREEN or record["verdict"] == Verdict.HARNESS_ERROR
    return record["level"] != Level.MAY and not not_scored


def _way(record: Record) -> tuple[object, ...]:
    """Return how a play went: what was observed of a pass, else at which place what clause was broken."""
    if record["verdict"] == Verdict.PASS:
        return record["verdict"], record["observed"] if record["level"] == Level.MAY else None
    extra = record["extra"]
    return (
        record["verdict"],
        record["blamed"],
        record["step"],
        record["byte"],
        extra.get("field"),
        extra.get("reply_to"),
    )


def _state(record: Record) -> str:
    if record["verdict"] == Verdict.PASS and record["observed"] and record["level"] == Level.MAY:
        return f"observed {record['observed']}"
    clause = record["blamed"]
    return f"{record['verdict']} [{clause}]" if clause and record["verdict"] not in GREEN else str(record["verdict"])
