"""Clause coverage: holes are found, reasons excuse, runs are folded to the latest, open questions are listed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.clauses import command
from wireproof.conformance.report.clause_coverage import Runs, coverage, holes, open_questions, read_runs
from wireproof.conformance.suite.cases import Case, Suite, load_suite
from wireproof.mutants.mutant import Mutant

REAL = load_suite("throttr")
BINDING, OPEN = REAL.clauses["THR-QUERY-6"], next(one for one in REAL.clauses.values() if "MAY" in one.levels.values())
CASE: Case = replace(REAL.cases[0], id="one/case", clauses=(BINDING.id, OPEN.id))
MUTANT = Mutant(name="wrong", description="Is wrong.", clauses=(BINDING.id,))


def suite(*clauses: Any, cases: tuple[Case, ...] = (CASE,)) -> Suite:
    return Suite("throttr", {one.id: one for one in clauses}, cases, (), {})


def record(clause: str, who: str = "a", run: str = "r1", at: str = "2026", **changes: Any) -> dict[str, Any]:
    return {
        "implementation": who, "implementation_version": "1", "protocol": "throttr", "profile": "7.1.0",
        "variant": "uint8", "role": "server", "run_id": run, "run_started_at": at, "clauses": [clause],
        "verdict": "pass", "observed": None, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("found", "mutants", "expected"),
    [
        (suite(BINDING), [MUTANT], []),
        (suite(BINDING), [], ["THR-QUERY-6 has no mutant"]),
        (suite(BINDING, cases=()), [MUTANT], ["THR-QUERY-6 has no case"]),
        (suite(replace(BINDING, no_fault="a duty of clients"), cases=()), [], []),
        (suite(OPEN), [], []),
        (suite(OPEN, cases=()), [], [f"{OPEN.id} has no case"]),
    ],
)
def test_holes(found: Suite, mutants: list[Mutant], expected: list[str]) -> None:
    lines = list(holes(coverage(found, mutants, Runs())))

    assert [line.partition(" that")[0].partition(":")[0] for line in lines] == expected


def test_what_implementations_do_where_the_document_is_silent() -> None:
    runs = Runs([
        record(OPEN.id, "a", observed="closed"),
        record(OPEN.id, "b", observed="silent"),
        record(BINDING.id, "a"),
        record(BINDING.id, "b", verdict="fail"),
        record(OPEN.id, "c", verdict="untestable"),
    ])  # fmt: skip
    entries = coverage(suite(BINDING, OPEN), [MUTANT], runs)

    (question,) = open_questions(entries)
    assert question.clause is OPEN
    assert question.seen == {"a 1 (7.1.0)": "closed", "b 1 (7.1.0)": "silent"}
    assert entries[0].seen == {"a 1 (7.1.0)": "pass", "b 1 (7.1.0)": "fail"}


def test_the_latest_run_of_each_implementation_counts_and_other_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    lines = [record("x", run="old", at="2025"), record("x", run="new"), record("y", run="new"), record("x", "b", "r2")]
    text = "\n".join([*map(json.dumps, lines), "{half a", "[]", '{"foreign": 1}'])
    (tmp_path / "deep" / "records.jsonl").write_text(text)

    found = read_runs([tmp_path])

    assert [one["run_id"] for one in found.records] == ["new", "new", "r2"]
    assert found.skipped == 3


def test_the_command_lists_holes_and_knows_its_groups(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text(json.dumps(record("THR-QUERY-6")) + "\nnone\n")
    result = CliRunner().invoke(command, ["throttr", "--group", "QUERY", "--runs", str(tmp_path)])
    brief = CliRunner().invoke(command, ["throttr", "--brief"])
    wrong = CliRunner().invoke(command, ["throttr", "--group", "NONE"])
    printed = json.loads(CliRunner().invoke(command, ["throttr", "--json"]).output)

    assert "1 record read, 1 line of another kind" in result.output
    assert brief.output.count("\n") < len(printed["clauses"])
    assert wrong.exit_code == 2
    assert "no clause in NONE: the groups are INSERT, QUERY" in wrong.output
    assert [one["id"] for one in printed["clauses"]] == list(REAL.clauses)
    assert all("quota-low-byte" in one["faults"] for one in printed["clauses"] if one["id"] == "THR-QUERY-6")
