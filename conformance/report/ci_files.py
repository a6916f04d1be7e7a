"""What a CI job takes from a run: JUnit XML, SARIF, a badge, the step summary and annotations, all from records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wireproof.conformance.model.verdict import GREEN, Level
from wireproof.conformance.report.clause_sentences import sentence_of
from wireproof.conformance.report.console import cause_lines, named, score
from wireproof.conformance.report.outputs import reporting_file_errors, write_junit, write_step_summary
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.causes import Cause, CauseKind, causes_of
from wireproof.conformance.verdict.records import Record, Run, wireproof_version

__all__ = ["badge", "github_annotations", "run_sarif", "write_ci_files"]

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
MOST = 10
"""Annotations that GitHub shows of one step."""
OURS = frozenset({CauseKind.HARNESS, CauseKind.UNDECIDED})
"""Causes that say nothing of the target."""


def write_ci_files(options: Mapping[str, Any], run: Run, records: Sequence[Record]) -> None:
    """Write each file that is asked for, and the summary of a GitHub step. Raises `OutputError`."""
    if options["junit"]:
        write_junit(options["junit"], run, records)
    for name, made in (("sarif", run_sarif), ("badge", badge)):
        path: Path | None = options[name]
        if path is not None:
            with reporting_file_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                text = json.dumps(made(run, records, options["out"]), indent=1) + "\n"
                path.write_text(text, encoding="utf-8", errors="backslashreplace")
    write_step_summary(run, records)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in github_annotations(records):
            print(line.encode(errors="replace").decode())


def _shown(records: Sequence[Record]) -> list[Cause]:
    """Return the causes that are the target's."""
    return [one for one in causes_of(records) if one.kind not in OURS and one.first["level"] != Level.MAY]


def run_sarif(run: Run, records: Sequence[Record], out: Path | None) -> dict[str, object]:
    """Return the causes of a run as SARIF: a result a cause, a rule a clause. `out`: the folder of the run."""
    causes = _shown(records)
    rules = list(dict.fromkeys(one.clause for one in causes))
    driver = {
        "name": "wireproof",
        "semanticVersion": wireproof_version(),
        "rules": [{"id": one, "shortDescription": {"text": sentence_of(run.protocol, one) or one}} for one in rules],
    }
    results = [_result(one, rules, out) for one in causes]
    return {
        "$schema": SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _result(cause: Cause, rules: Sequence[str], out: Path | None) -> dict[str, object]:
    first = cause.first
    where = f"{out.as_posix()}/records.jsonl" if out is not None and not out.is_absolute() else "records.jsonl"
    return {
        "ruleId": cause.clause,
        "ruleIndex": rules.index(cause.clause),
        "level": "note" if cause.not_required else "error" if first["level"] == Level.MUST else "warning",
        "message": {"text": f"{named(first)}: {'; '.join(cause_lines(cause, named_in='run.json'))}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": where}},
                "logicalLocations": [{"name": first["case"], "kind": "function"}],
            }
        ],
        "partialFingerprints": {"wireproofRecord/v1": first["record_id"]},
        "properties": {"record": first["record_id"], "plays": len(cause.records), "kind": cause.kind.value},
    }


def badge(run: Run, records: Sequence[Record], out: Path | None = None) -> dict[str, object]:
    """Return a badge for shields.io (an endpoint's JSON): k of n for each level."""
    parts, bad = list[str](), set[Level]()
    for level in (Level.MUST, Level.SHOULD):
        mine = [one for one in records if one["level"] == level and one["delivery"] == WHOLE.name]
        mine = [one for one in mine if not one.get("not_required")]
        if mine:
            parts.append(f"{level} {score(mine).split(' ')[0]}")
            bad |= {level} if any(one["verdict"] not in GREEN for one in mine) else set()
    color = "red" if Level.MUST in bad else "yellow" if bad else "brightgreen"
    label = f"{run.protocol} {run.profile} {run.variant}"
    return {"schemaVersion": 1, "label": label, "message": ", ".join(parts) or "nothing played", "color": color}


def github_annotations(records: Sequence[Record]) -> Iterator[str]:
    """Yield a GitHub annotation for each of the first causes."""
    for cause in _shown(records)[:MOST]:
        kind = "notice" if cause.not_required else "error" if cause.first["level"] == Level.MUST else "warning"
        title = _property(f"{cause.clause} {named(cause.first)}")
        yield f"::{kind} title={title}::{_escaped('; '.join(cause_lines(cause)))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
