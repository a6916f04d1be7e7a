"""Seeded bugs: the quickest are found in this process, and the table shows which were found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.places import ROOT
from wireproof.fuzz import coverage_guided, parser_input
from wireproof.fuzz.commands.group import command as group
from wireproof.fuzz.commands.seeded_bugs import command
from wireproof.fuzz.seeded_bugs import bug_engines, catalogue, table
from wireproof.fuzz.seeded_bugs.bug_engines import ENGINES, Engine, EngineResult, Task, seeded
from wireproof.fuzz.seeded_bugs.catalogue import all_bugs
from wireproof.fuzz.seeded_bugs.seeded_bug import BugEntry
from wireproof.fuzz.seeds import requests
from wireproof.mutants.registry import seeded_bugs, server_mutants
from wireproof.protocols import protocol_names

PAGE = ROOT / "docs" / "seeded-bugs.md"
MUTANTS = {(one.engine, one.mutant): one for one in all_bugs("throttr")}


@pytest.mark.parametrize(
    ("engine", "mutant"),
    [
        ("parser", "blob-over-read"),
        ("scheduler", "delivered-twice"),
        ("machine", "list-names-the-expired"),
        ("server", "one-request-at-a-time"),
    ],
)
def test_the_quickest_are_found_without_atheris(engine: str, mutant: str) -> None:
    outcome = ENGINES[engine](Task("throttr", MUTANTS[engine, mutant], 500, 1, guided=False))

    assert outcome.executions is not None
    assert ": " in outcome.detail


@pytest.mark.parametrize("mutant", ["nop-behind-publish-unanswered", "datagram-reply-of-4-bytes"])
def test_the_quickest_on_lines_of_several_kinds_are_found(mutant: str) -> None:
    (bug,) = (one for one in all_bugs("psrt") if one.mutant == mutant)

    assert ENGINES["server"](Task("psrt", bug, bug.budget, 1)).executions is not None


@pytest.mark.parametrize("engine", ["parser", "scheduler"])
def test_nothing_is_found_without_a_bug(engine: str) -> None:
    assert ENGINES[engine](Task("throttr", None, 500, 1, guided=False)).executions is None


@pytest.mark.skipif(not coverage_guided.is_available(), reason="no atheris here")
@pytest.mark.parametrize(
    ("engine", "mutant"),
    [pytest.param("parser", "header-check-short-by-one", marks=pytest.mark.nightly), ("scheduler", "delivered-twice")],
)
def test_a_bug_is_seeded_in_the_fuzzers_process(engine: str, mutant: str) -> None:
    outcome = ENGINES[engine](Task("throttr", MUTANTS[engine, mutant], 2000, 1))

    assert outcome.executions is not None
    assert outcome.executions < 2000
    assert outcome.by == "atheris"


@pytest.mark.skipif(not coverage_guided.is_available(), reason="no atheris here")
def test_what_breaks_nothing_by_itself_was_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bug_engines, "_by_atheris", lambda *given: (b"\0", 7))

    assert ENGINES["parser"](Task("throttr", MUTANTS["parser", "size-signed"], 9, 1)).executions is None


def test_a_bug_does_not_change_the_requests_that_seeds_hold() -> None:
    parser_input.decode_seeds("throttr")
    drawn = {(one.profile, one.variant): one.known for one in parser_input.combinations("throttr")}
    requests.cache_clear()

    with seeded(MUTANTS["parser", "size-signed"].edits, "throttr"):
        assert requests.cache_info().currsize >= len(drawn), "requests would be read with the bug, and without end"
        assert {(one.profile, one.variant): one.known for one in parser_input.combinations("throttr")} == drawn


def test_every_bug_has_an_engine_and_a_name_of_its_own() -> None:
    by_protocol = {name: all_bugs(name) for name in filter(seeded_bugs, protocol_names())}
    mutants = [one for some in by_protocol.values() for one in some]

    assert all(len(some) == len({(one.engine, one.mutant) for one in some}) >= 10 for some in by_protocol.values())
    assert {one.engine for one in mutants} == {*ENGINES}
    assert {one.part for one in mutants} == {"parser", "scheduler", "store", "transport"}
    for name, some in by_protocol.items():
        assert all(one.edits or not server_mutants(name)[one.mutant].is_legal for one in some)


def with_two_bugs(monkeypatch: pytest.MonkeyPatch, finding: dict[str | None, int | None]) -> None:
    def engine(task: Task) -> EngineResult:
        done = finding[task.mutant]
        return EngineResult(done, "in|variant: detail" if done else "", "nobody")

    mutants = [
        BugEntry(mutant=name, description="Does wrong.", part="store", engine="parser", budget=100)
        for name in ("one", "two")
    ]
    monkeypatch.setattr(catalogue, "all_bugs", lambda name: mutants)
    monkeypatch.setattr("wireproof.fuzz.commands.seeded_bugs.all_bugs", lambda name: mutants)
    monkeypatch.setattr(table, "ENGINES", {"parser": engine})


@pytest.mark.parametrize(
    ("finding", "code", "summary"),
    [
        ({"one": 7, "two": 50, None: None}, 0, "2 of 2 bugs found"),
        ({"one": 7, "two": None, None: None}, 1, "not within 100"),
        ({"one": 7, "two": 101, None: None}, 1, "1 of 2 bugs found"),
        ({"one": 7, "two": 50, None: 3}, 1, "2 of 2 bugs found"),
    ],
)
def test_the_exit_code_says_whether_all_were_found_and_nothing_else(
    finding: dict[str | None, int | None], code: int, summary: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_two_bugs(monkeypatch, finding)
    out, page = tmp_path / "table.json", tmp_path / "table.md"

    result = CliRunner().invoke(command, ["--out", str(out), "--markdown", str(page), "--seed", "5"])

    assert result.exit_code == code, result.output
    assert summary in result.output
    document = json.loads(out.read_text())
    assert document["rows"][0]["executions"] == 7
    assert [row["fault"] for row in document["rows"]] == ["one", "two", "nothing"]
    assert "seed 5" in page.read_text()
    assert "| one | store | parser (nobody) | 7 | 100 | Does wrong. | in\\|variant |" in page.read_text()


def test_several_seeds_stand_in_one_row_of_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_two_bugs(monkeypatch, {"one": 7, "two": None, None: None})
    page = tmp_path / "table.md"

    result = CliRunner().invoke(command, ["--markdown", str(page), "--seed", "5", "--seed", "6"])

    assert result.exit_code == 1
    text = page.read_text()
    assert "--seed 5 --seed 6`" in text
    assert "2 of 4 bugs, counted once a seed (2), are found" in text
    assert "| parser (nobody) | 7 / 7 | 100 |" in text
    assert "| not within 100 / not within 100 | 100 |" in text


def test_a_run_that_is_interrupted_keeps_what_it_has_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_two_bugs(monkeypatch, {"one": 7, "two": 50, None: None})
    out, page, engine, asked = tmp_path / "table.json", tmp_path / "table.md", table.ENGINES["parser"], list[Task]()

    def interrupted(task: Task) -> EngineResult:
        asked.append(task)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return engine(task)

    monkeypatch.setattr(table, "ENGINES", {"parser": interrupted})
    result = CliRunner().invoke(command, ["--out", str(out), "--markdown", str(page), *("--seed", "5", "--seed", "6")])

    assert result.exit_code == 130, result.output
    assert "interrupted: 4 runs of 6 missing" in result.output
    document, text = json.loads(out.read_text()), page.read_text()
    assert [row["executions"] for row in document["rows"]] == [7, 50]
    missing = ["nothing (seed 5)", "one (seed 6)", "two (seed 6)", "nothing (seed 6)"]
    assert document["missing"] == [f"parser {one}" for one in missing]
    assert "**Not complete:** 4 of 6 runs are missing." in text
    assert f"Not measured: {', '.join(missing)}." in text
    assert "| two | store | parser (nobody) | 50 | 100 |" in text


def test_budgets_are_multiplied_and_unknown_bugs_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with_two_bugs(monkeypatch, {"one": 60, "two": None, None: None})

    assert "not within 50" in CliRunner().invoke(command, ["--bug", "one", "--budget-factor", "0.5"]).output
    assert CliRunner().invoke(command, ["--bug", "three"]).exit_code == 2


def test_control_runs_are_made_alone_where_that_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_two_bugs(monkeypatch, {None: 3})
    page = tmp_path / "page.md"

    given = ["--control", "--engine", "parser", "--budget-factor", "0.5", "--markdown", str(page)]
    result = CliRunner().invoke(command, given)

    assert (result.exit_code, "0 of 1 control run found nothing" in result.output) == (1, True)
    assert "| nothing | control | parser (nobody) | 3 | 50 |" in page.read_text()
    assert "--budget-factor 0.5 --control`" in page.read_text()


@pytest.mark.parametrize("name", ["psrt", "tmqp", "namechan"])
def test_control_runs_are_of_every_engine_where_no_bug_is_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[str, str]] = []

    def noted(engine: str) -> Engine:
        def run(task: Task) -> EngineResult:
            tried.append((engine, task.protocol))
            return EngineResult(None)

        return run

    monkeypatch.setattr(table, "ENGINES", {one: noted(one) for one in table.ENGINES})
    result = CliRunner().invoke(command, ["--control", "--protocol", name])

    assert (result.exit_code, "5 of 5 control runs found nothing" in result.output) == (0, True)
    assert tried == [(one, name) for one in ("parser", "store", "machine", "server", "live")]


def test_old_names_are_accepted_with_a_hint_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    with_two_bugs(monkeypatch, {"one": 60, "two": None, None: None})

    result = CliRunner().invoke(group, ["seeded-bugs", "--fault=one"])

    assert (result.exit_code, "1 of 1 bugs found" in result.stdout) == (0, True)
    hints = [line for line in result.stderr.splitlines() if "is now called" in line]
    assert [line.split(";")[0] for line in hints] == [
        "wireproof: --fault is now called --bug",
    ]


def test_the_page_in_docs_has_every_bug_found_under_most_seeds() -> None:
    lines = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = {(cells[2].split()[0], cells[0].removeprefix("| ")): cells[3] for cells in lines if cells[0] != "| bug"}

    assert {key for key in rows if key[1] != "nothing"} == set(MUTANTS)
    missed = {key: result.split(" / ") for key, result in rows.items() if "not within" in result}
    assert all(sum("not within" in one for one in results) * 2 < len(results) for results in missed.values())
    assert all(result.startswith("nothing in") for key, result in rows.items() if key[1] == "nothing")
