"""`--effort`: how much is played, printed with its time; what the user names goes before it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from wireproof.cli import command
from wireproof.conformance.commands.selection_options import EFFORTS, of_effort
from wireproof.conformance.suite.case_traits import waits
from wireproof.conformance.suite.cases import load_suite


def test_smoke_plays_a_case_a_clause_and_waits_for_nothing() -> None:
    cases = load_suite("throttr").cases
    found = of_effort(cases, "smoke")

    assert len({one.clauses[0] for one in found}) == len(found)
    assert not any(waits(one) or one.exclusive for one in found)
    assert of_effort(cases, "pr") == of_effort(cases, None) == list(cases)


def test_an_effort_prints_its_time_and_is_partial(tmp_path: Path) -> None:
    words = ["test", "throttr", "simulation", "--effort", "smoke", "-k", "query/", "--out", str(tmp_path)]
    done = CliRunner().invoke(command, words)
    run = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))

    assert done.exit_code == 0, done.output
    assert f"--effort smoke: {EFFORTS['smoke'].description}" in done.stderr
    assert "it ends after 10 s" in done.stderr
    assert "--effort smoke" in run["partial"]
    assert (run["options"]["max_time"], run["options"]["delivery"]) == ("10.0", "whole")


@pytest.mark.parametrize(("words", "level"), [((), "must"), (("--level", "should"), "should")])
def test_what_the_user_names_goes_before_the_effort(words: tuple[str, ...], level: str, tmp_path: Path) -> None:
    called = ["test", "throttr", "simulation", "--effort", "smoke", "-k", "query/missing", "-q", *words]
    assert CliRunner().invoke(command, [*called, "--out", str(tmp_path)]).exit_code == 0

    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["options"]["level"] == level


def test_several_selections_play_what_any_of_them_does() -> None:
    words = ["test", "throttr", "simulation", "--list", "-k", "query/status", "-k", "get/status and not query"]
    done = CliRunner().invoke(command, words)

    assert done.exit_code == 0, done.output
    assert [line.split()[1] for line in done.stdout.splitlines() if "/" in line] == ["get/status", "query/status"]
