"""A baseline: the failures a project knows of. They do not fail a run, and a baseline that is out of date says so.

One entry a line: the id of a case, or of a clause; `passes sometimes` after it for one that is not always wrong; `#`
begins the reason. Blank lines and lines of `#` alone are kept.

- A case forgives its own failures, under whatever segmentation, and those of cases that follow from it.
- A clause forgives all failures of the causes that break it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wireproof.conformance.model.verdict import GREEN, Level, Verdict
from wireproof.conformance.suite.names import near
from wireproof.conformance.verdict.causes import Cause, causes_of
from wireproof.conformance.verdict.crashes import is_unplayed
from wireproof.conformance.verdict.records import Record

__all__ = [
    "Baseline", "BaselineError", "Comparison", "Entry", "beyond", "compare", "failing", "pruned", "read_baseline",
    "written_baseline",
]  # fmt: skip

SHOWN = 10
"""Cases that a line names."""
LINE = "the id of a case or clause, then nothing, 'passes sometimes' or a # and the reason"
SOMETIMES = "passes sometimes"
HEAD = "# Known failures: a case or clause a line, `passes sometimes` after one that is not always wrong, # reason\n"


class BaselineError(ValueError):
    """Raised when a baseline cannot be read; it names the file."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that forgives something."""

    name: str
    """The id of a case or clause."""
    sometimes: bool = False
    """It passes sometimes: it is never stale."""
    reason: str = ""

    def __str__(self) -> str:
        words = f"{self.name} {SOMETIMES}" if self.sometimes else self.name
        return f"{words}  # {self.reason}" if self.reason else words


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is forgiven, by name."""

    entries: Mapping[str, Entry]

    @classmethod
    def of(cls, names: Iterable[str]) -> Baseline:
        """Return the baseline of some ids, without reasons."""
        return cls({name: Entry(name) for name in names})


NOTHING = Baseline({})


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a run shows against a baseline."""

    new: tuple[str, ...]
    """Cases that fail and that it does not forgive."""
    stale: tuple[str, ...]
    """Entries of it that were played and do not fail."""
    unknown: tuple[str, ...] = ()
    """Entries of it that are no case or clause of this version."""
    known: tuple[str, ...] = ()
    """Cases that fail and are forgiven."""
    beyond: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Why the requirement set does not ask for something -> the cases that fail it."""
    hints: tuple[str, ...] = ()
    """For each unknown entry: the names that are like it."""

    @property
    def is_out_of_date(self) -> bool:
        """Whether it has entries that forgive nothing."""
        return bool(self.stale or self.unknown)

    @property
    def lines(self) -> list[str]:
        """What is out of date, and what is forgiven, a line each."""
        found = [f"stale in the baseline: {name} no longer fails" for name in self.stale]
        hints = self.hints or ("",) * len(self.unknown)
        found += [
            f"unknown in the baseline: {name} is no case or clause of this version{hint}"
            for name, hint in zip(self.unknown, hints, strict=True)
        ]
        if found:
            found.append("wireproof baseline prune FILE RUN takes such lines out")
        if self.known:
            found.append(f"{len(self.known)} cases fail as the baseline says, {len(self.new)} others fail")
        for why, cases in self.beyond.items():
            more = ", …" if len(cases) > SHOWN else ""
            found.append(f"{len(cases)} not required ({why}): {', '.join(cases[:SHOWN])}{more}")
        return found


def read_baseline(path: Path) -> Baseline:
    """Return what the file forgives; `BaselineError` when it cannot be read, or a line is none."""
    found = [_entry(line) for line in _lines(path)]
    for number, one in enumerate(found, 1):
        if one is not None and len(one.name.split()) != 1:
            raise BaselineError(f"{path} line {number}: expected {LINE}; got {one.name!r}")
    return Baseline({one.name: one for one in found if one is not None})


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(f"cannot read the baseline {path}: {error}") from None


def _entry(line: str) -> Entry | None:
    text, _, reason = line.partition("#")
    words = text.strip()
    if not words:
        return None
    sometimes = words.endswith(SOMETIMES)
    return Entry(words.removesuffix(SOMETIMES).strip(), sometimes, reason.strip())


def failing(records: Iterable[Record]) -> list[Record]:
    """Return the records that make a run red: a MUST or SHOULD that the requirement set asks for, not green, and not
    the harness's own fault."""
    return [
        one
        for one in records
        if one["level"] != Level.MAY
        and one["verdict"] not in GREEN
        and one["verdict"] != Verdict.HARNESS_ERROR
        and not one.get("not_required")
    ]


def beyond(records: Iterable[Record]) -> dict[str, list[str]]:
    """Return why the requirement set does not ask for something -> the cases that fail it, each once."""
    found: dict[str, dict[str, None]] = {}
    for one in records:
        if one.get("not_required") and failing([{**one, "not_required": ""}]):
            found.setdefault(one["not_required"], {})[one["case"]] = None
    return {why: list(cases) for why, cases in found.items()}


def compare(
    baseline: Baseline, records: Iterable[Record], known_cases: Iterable[str], known_clauses: Collection[str] = ()
) -> Comparison:
    """Return what is new, known, stale and unknown. `known_cases`, `known_clauses`: all that there are."""
    records, names, cases = list(records), set(baseline.entries), set(known_cases)
    bad = {one["case"] for one in failing(records)}
    causes = causes_of(records) if names else []
    forgiven = {one["case"] for cause in causes for one in _forgiven(cause, names)} | (names & bad)
    played = {one["case"] for one in records if one["verdict"] != Verdict.UNSUPPORTED and not is_unplayed(one)}
    asked = {
        clause
        for one in records
        if one["verdict"] != Verdict.UNSUPPORTED and not is_unplayed(one)
        for clause in one["clauses"]
    }
    broken = {cause.clause for cause in causes}
    lasting = {name for name in names if not baseline.entries[name].sometimes}
    stale = (lasting & played) - bad | (lasting & asked & set(known_clauses)) - broken
    unknown = sorted(names - cases - set(known_clauses))
    return Comparison(
        tuple(sorted(bad - forgiven)),
        tuple(sorted(stale)),
        tuple(unknown),
        tuple(sorted(bad & forgiven)),
        beyond(records),
        tuple(near(name, [*cases, *known_clauses]) for name in unknown),
    )


def _forgiven(cause: Cause, names: Collection[str]) -> Sequence[Record]:
    if cause.clause in names:
        return cause.records
    shows, follow = cause.records[: cause.shown_by], cause.records[cause.shown_by :]
    return [*(one for one in shows if one["case"] in names), *(follow if _is_known(shows, names) else ())]


def _is_known(shows: Sequence[Record], names: Collection[str]) -> bool:
    return any(one["case"] in names for one in shows)


def written_baseline(runs: Sequence[Sequence[Record]], before: Baseline = NOTHING, *, by_clause: bool = False) -> str:
    """Return the text of a baseline that forgives what fails in some runs, with the reasons of the one before it.

    What does not fail in all of them passes sometimes. Consequences have no line: they follow from a case that has one.
    """
    seen: dict[str, list[Cause]] = {}
    for records in runs:
        for cause in causes_of(records):
            bad = {one["case"] for one in failing(cause.records[: cause.shown_by])}
            for name in [cause.clause] if by_clause and bad else sorted(bad):
                seen.setdefault(name, []).append(cause)
    lines = list[str]()
    for name, causes in seen.items():
        old = before.entries.get(name)
        sometimes = len(causes) < len(runs) or (old is not None and old.sometimes)
        lines.append(str(Entry(name, sometimes, old.reason if old and old.reason else _reason(causes[0]))))
    return HEAD + "".join(f"{line}\n" for line in lines)


def _reason(cause: Cause) -> str:
    first = cause.first
    return " ".join(f"{cause.kind} [{cause.clause}] expected {first['expected']}; got {first['got']}".split())[:160]


def pruned(path: Path, comparison: Comparison) -> tuple[str, list[str]]:
    """Return the text of a baseline without what is stale or unknown, and the names that went."""
    gone, kept = list[str](), list[str]()
    for line in _lines(path):
        entry = _entry(line)
        if entry is not None and entry.name in (*comparison.stale, *comparison.unknown):
            gone.append(entry.name)
        else:
            kept.append(line)
    return "".join(f"{line}\n" for line in kept), gone
