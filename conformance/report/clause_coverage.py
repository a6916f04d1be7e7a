"""Clause coverage: the cases and mutants of each clause, and what implementations were observed to do about it.

A MUST or SHOULD clause that no case plays, or that no mutant breaks, is a hole in the suite. A clause on which the
document is silent and implementations differ is a question for the next edition of the document.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.report.outputs import is_incomplete
from wireproof.conformance.suite.cases import Clause, Suite
from wireproof.protocols.json_values import JsonDict

__all__ = ["AnyMutant", "ClauseEntry", "Runs", "coverage", "holes", "open_questions", "read_runs"]

Seen = Mapping[str, str]
"""Implementation (with version and profile) -> what it was seen to do."""


class AnyMutant(Protocol):
    """A mutant of a server or of a client."""

    @property
    def name(self) -> str:
        """Its name, unique for its protocol and role."""

    @property
    def clauses(self) -> tuple[str, ...]:
        """Ids of the clauses it breaks."""


@dataclass(frozen=True)
class ClauseEntry:
    """One clause with its cases, its mutants and what was observed."""

    clause: Clause
    cases: Sequence[str]
    """Ids of the cases and frames that cite it."""
    mutants: Sequence[str]
    seen: Seen

    @property
    def binds(self) -> bool:
        """Whether it is a MUST or SHOULD anywhere."""
        return any(level is not Level.MAY for level in self.clause.levels.values())

    @property
    def is_silent(self) -> bool:
        """Whether the document leaves it open, or only an erratum says it."""
        return not self.binds or bool(self.clause.errata)


@dataclass
class Runs:
    """The latest run of each implementation: its records, how many lines were no record, and which runs were cut."""

    records: list[JsonDict] = field(default_factory=list)
    skipped: int = 0
    incomplete: list[Path] = field(default_factory=list)
    """Folders of runs that were cut short."""


def coverage(suite: Suite, known_mutants: Iterable[AnyMutant], runs: Runs) -> list[ClauseEntry]:
    """Return an entry for each clause, in the order of the list."""
    cases, mutants = defaultdict(list), defaultdict(list)
    for name, cited in [(one.id, one.clauses) for one in suite.cases] + [(one.id, one.clauses) for one in suite.frames]:
        for clause in cited:
            cases[clause].append(name)
    for mutant in known_mutants:
        for clause in mutant.clauses:
            mutants[clause].append(mutant.name)
    seen = _seen(suite, runs)
    return [ClauseEntry(one, cases[one.id], mutants[one.id], seen.get(one.id, {})) for one in suite.clauses.values()]


def holes(entries: Iterable[ClauseEntry]) -> Iterator[str]:
    """Yield what is missing, a line each."""
    for one in entries:
        if not one.cases and not one.clause.no_fault:
            yield f"{one.clause.id} has no case: {one.clause.text}"
        if one.binds and not one.mutants and not one.clause.no_fault:
            yield f"{one.clause.id} has no mutant that breaks it, and gives no reason: {one.clause.text}"


def open_questions(entries: Iterable[ClauseEntry]) -> list[ClauseEntry]:
    """Return the clauses on which the document is silent and implementations differ."""
    return [one for one in entries if one.is_silent and len(set(one.seen.values())) > 1]


def _seen(suite: Suite, runs: Runs) -> dict[str, dict[str, str]]:
    """Return clause -> implementation -> what it did: observations where it may choose, else the worst verdict."""
    observed: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in runs.records:
        who = f"{record['implementation']} {record['implementation_version']} ({record['profile']})"
        for clause in record["clauses"][:1]:
            if clause in suite.clauses and record["verdict"] not in ("untestable", "unsupported", "harness_error"):
                observed[clause][who].add(record["observed"] or record["verdict"])
    return {clause: {who: _summed_up(found) for who, found in by_who.items()} for clause, by_who in observed.items()}


def _summed_up(found: set[str]) -> str:
    return ", ".join(sorted(found - {"pass"} or found))


def read_runs(folders: Iterable[Path]) -> Runs:
    """Return the latest run of each implementation, version, profile and variant below `folders`; raises `OSError`."""
    found, latest = Runs(), dict[tuple[str, ...], tuple[str, str]]()
    by_run: dict[str, list[JsonDict]] = defaultdict(list)
    for path in (path for folder in folders for path in sorted(folder.rglob("records.jsonl"))):
        if is_incomplete(path.parent):
            found.incomplete.append(path.parent)
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                record = _record(line)
                if record is None:
                    found.skipped += 1
                    continue
                by_run[record["run_id"]].append(record)
                who = tuple(record[key] for key in WHO)
                latest[who] = max(latest.get(who, ("", "")), (record["run_started_at"], record["run_id"]))
    for _, run in latest.values():
        found.records += by_run[run]
    return found


WHO = ("implementation", "implementation_version", "protocol", "profile", "variant", "role")
NEEDED = frozenset({*WHO, "run_id", "run_started_at", "clauses", "verdict", "observed"})


def _record(line: str) -> JsonDict | None:
    """Return the record of a line; None when the line is no record."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and record.keys() >= NEEDED else None
