"""Records: one JSON line a case, the only contract between the suite and whatever reads its results.

A record stands alone (who, which version, which clause, what was expected, what came, every byte that crossed).
Schemas: `reports/schema/record.schema.json` and `run.schema.json`.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version

from wireproof.conformance.model import exchange
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import GREEN, Level, Verdict
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.requirement_sets import RequirementCheck
from wireproof.conformance.suite.segmentation import SEGMENTATIONS, WHOLE
from wireproof.conformance.verdict.causes import causes_of
from wireproof.protocols.json_values import JsonDict, JsonObject

RECORD_SCHEMA = "wireproof.record/1"
RUN_SCHEMA = "wireproof.run/1"
MOST_TITLE = 56
"""Characters of the title of a pass, whose evidence nobody asked for; the case has all of it."""
LARGEST_PASS = 600
"""Bytes of the line of a pass: of the title there is as much as fits, but always `LEAST_TITLE` characters."""
LEAST_TITLE = 12
Record = JsonDict
LEFT_OUT: JsonObject = {
    **dict.fromkeys(("blamed", "guilty", "observed", "step", "byte", "expected", "got", "run_cases", "partial")),
    "exchange": (),
    "extra": {},
}
"""Fields that a line of a pass need not have -> what they are then."""


def now_text() -> str:
    """Return this instant as RFC 3339, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def wireproof_version() -> str:
    """Return the installed version of the suite."""
    try:
        return version("wireproof")
    except PackageNotFoundError:
        return "0+checkout"


@dataclass
class Run:
    """Who is tested, how, since when; what every record of a run shares."""

    protocol: str
    profile: str
    variant: str
    target: str
    implementation: str
    implementation_version: str = "unknown"
    role: str = "server"
    options: JsonObject = field(default_factory=dict)
    partial: list[str] = field(default_factory=list)
    """Why the run does not hold all cases, as far as it is known yet: a selection, an end before the last case."""
    cases: int | None = None
    """How many cases a complete run has, played whole; None where nobody counted."""
    asked: RequirementCheck | None = None
    """The requirement set that decides the exit code; None: every MUST and SHOULD does."""
    namespace: str = field(default_factory=lambda: secrets.token_hex(3))
    run_id: str = field(default_factory=lambda: secrets.token_hex(8))
    started_at: str = field(default_factory=now_text)

    def summary(self, records: Iterable[Record], exit_code: int, *, complete: bool = True) -> JsonDict:
        """Return run.json, with cases by level, plays under other deliveries apart, and what did not pass by cause.

        A run that is not `complete` was cut short, or is still under way.
        """
        records = list(records)
        counts: dict[str, Counter[str]] = {}
        segmentations: dict[str, Counter[str]] = {}
        for record in records:
            whole = record["delivery"] == WHOLE.name
            counted, by = (counts, record["level"]) if whole else (segmentations, record["delivery"])
            counted.setdefault(by, Counter())[record["verdict"]] += 1
        return {
            "schema": RUN_SCHEMA,
            "run_id": self.run_id,
            "started_at": self.started_at,
            "finished_at": now_text() if complete else None,
            "partial": list(self.partial),
            "cases": self.cases,
            "wireproof_version": wireproof_version(),
            "implementation": self.implementation,
            "implementation_version": self.implementation_version,
            "target": self.target,
            "protocol": self.protocol,
            "profile": self.profile,
            "variant": self.variant,
            "role": self.role,
            "machine": {
                "system": platform.system(),
                "machine": platform.machine(),
                "python": platform.python_version(),
                "cpus": os.cpu_count() or 1,
            },
            "options": dict(self.options),
            "counts": {level: dict(counts[level]) for level in Level if level in counts},
            "deliveries": {name: dict(segmentations[name]) for name in SEGMENTATIONS if name in segmentations},
            "causes": [one.as_json() for one in causes_of(records)],
            **_peers(records),
            "namespace": self.namespace,
            "exit_code": exit_code,
        }


def _peers(records: Iterable[Record]) -> dict[str, list[dict[str, str]]]:
    """Return, as a field of run.json, the implementations that were at the other end; none where wireproof was."""
    found = sorted({(one["peer"], one["peer_version"]) for one in records if "peer" in one})
    return {"peers": [{"implementation": name, "version": version} for name, version in found]} if found else {}


def level_of(case: Case, suite: Suite, profile: str) -> Level:
    """Return the level a case is weighed by: its own, or that of its first clause in this profile.

    Under another delivery than whole it weighs no more than the clause that asks for the same verdict there.
    """
    own = case.level or suite.clauses[case.clauses[0]].levels[profile]
    asked = suite.clauses[case.asked_by].levels.get(profile, own) if case.asked_by else own
    return max(own, asked, key=list(Level).index)


def levels_of(suite: Suite, profile: str) -> dict[str, tuple[Case, Level]]:
    """Return case id -> case and level, of those of a profile."""
    return {one.id: (one, level_of(one, suite, profile)) for one in suite.cases if profile in one.profiles}


def weigh(outcome: Outcome, level: Level) -> Verdict:
    """Return the verdict of an outcome under a level: a missed SHOULD is lenient, a MAY is observed, never failed."""
    if outcome.verdict is Verdict.FAIL and level is Level.SHOULD:
        return Verdict.LENIENT
    if outcome.verdict in (Verdict.FAIL, Verdict.HANG) and level is Level.MAY:
        return Verdict.PASS
    return outcome.verdict


def record_id(case: str, segmentation: str, profile: str, variant: str) -> str:
    """Return the id that names this cell in the console, HTML, JUnit, JSON lines and Parquet."""
    return sha256(f"{case}|{segmentation}|{profile}|{variant}".encode()).hexdigest()[:12]


def completed(line: JsonObject) -> Record:
    """Return a record with every field, of a line that left out those that say nothing."""
    empty: Record = {**LEFT_OUT, "exchange": [], "extra": {}}
    return {**line, **{name: value for name, value in empty.items() if name not in line}}


def compact(record: Record) -> Record:
    """Return what is written of a record without evidence: of a pass nothing that is empty, and the first words of a
    long title; of everything else all fields.
    """
    if record.get("verdict") != Verdict.PASS:
        return record
    kept = {name: value for name, value in record.items() if name not in LEFT_OUT or value not in (None, [], {})}
    title = str(kept.get("title", ""))
    beyond = len(line_of(kept)) - LARGEST_PASS
    most = min(MOST_TITLE, max(LEAST_TITLE, len(title) - beyond - len("…".encode()))) if beyond > 0 else MOST_TITLE
    if len(title) > most:
        kept["title"] = title[:most].rstrip() + "…"
    return kept


def line_of(record: Record) -> bytes:
    """Return a record as its line of `records.jsonl`."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
    return text.encode(errors="backslashreplace")


def _why_not(run: Run, case: Case, outcome: Outcome) -> dict[str, str]:
    """Return, as a field of a record, why a play decides nothing; empty where it does.

    What stands for ends of the target decides nothing where only such cases were under way at each of them.
    """
    if run.asked is None:
        return {}
    ends = outcome.extra.get("ends")
    why = run.asked.why_not(case.id, case.segmentation)
    if not why and ends:
        reasons = [run.asked.why_none(one["under_way"]) for one in ends]
        why = reasons[0] if all(reasons) else ""
    return {"not_required": why} if why else {}


def _level(profile: str, suite: Suite, case: Case, outcome: Outcome) -> Level:
    """Return the level of one play: that of its case, unless the clause that is blamed weighs something else.

    A server that ends, or serves nobody any more, weighs what the clause says that it breaks, in a case of a MAY too.
    Where the model names a clause that only recommends something, the failure is that of a SHOULD.
    """
    level = level_of(case, suite, profile)
    if outcome.blamed is None or outcome.blamed not in suite.clauses:
        return level
    of_clause = suite.clauses[outcome.blamed].levels.get(profile)
    if case.modelled and level is Level.MUST:
        level = Level.MUST if of_clause is Level.MUST else Level.SHOULD
    if outcome.verdict is Verdict.CRASH:
        level = min(level, of_clause or level, key=list(Level).index)
    return level


def record(
    run: Run, suite: Suite, case: Case, outcome: Outcome, *, duration_us: int, with_passes: bool = True
) -> Record:
    """Return the record of one play; without `with_passes`, the exchange of a play that passes is left out."""
    level = _level(run.profile, suite, case, outcome)
    verdict = weigh(outcome, level)
    if verdict is Verdict.CRASH and "hang" in outcome.extra:
        verdict = Verdict.HANG
    observed = outcome.observed
    if verdict is Verdict.PASS and outcome.verdict is not Verdict.PASS:
        observed = f"other: {outcome.got}"
    return {
        "schema": RECORD_SCHEMA,
        "run_id": run.run_id,
        "run_started_at": run.started_at,
        "record_id": record_id(case.id, case.segmentation, run.profile, run.variant),
        "role": run.role,
        "implementation": run.implementation,
        "implementation_version": run.implementation_version,
        "protocol": run.protocol,
        "profile": run.profile,
        "variant": run.variant,
        "case": case.id,
        "title": case.title,
        "group": suite.clauses[case.clauses[0]].group,
        "level": level.value,
        "clauses": list(case.clauses) if level is Level.MAY or not case.asked_by else [case.asked_by],
        "verdict": verdict.value,
        "blamed": None if verdict is Verdict.PASS else outcome.blamed,
        "guilty": None if verdict is Verdict.PASS or outcome.guilty is None else outcome.guilty.value,
        "observed": observed,
        "delivery": case.segmentation,
        "step": outcome.step,
        "byte": outcome.byte,
        "expected": outcome.expected,
        "got": outcome.got,
        "exchange": exchange.written(outcome.trace) if with_passes or verdict not in GREEN else [],
        "duration_us": duration_us,
        "run_cases": run.cases,
        "partial": "; ".join(run.partial) or None,
        **_why_not(run, case, outcome),
        "extra": {**(outcome.place.fields if outcome.place else {}), **outcome.extra},
    }
