"""What CI takes from a run: SARIF, a badge, annotations; and the examples name options that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.conformance.report.test_outputs import RUN, record
from wireproof.cli import command
from wireproof.conformance.commands import test as of_servers
from wireproof.conformance.report.ci_files import badge, github_annotations, run_sarif
from wireproof.conformance.suite.cases import load_suite

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PLACE: dict[str, Any] = {"role": "server", "protocol": "throttr", "expected": "01", "got": "00\n%", "extra": {}}
BAD = [
    record("insert/status", "fail", blamed="THR-INSERT-1", **PLACE),
    record("insert/later", "lenient", "SHOULD", blamed="THR-INSERT-2", **PLACE),
    record("insert/open", "fail", "MAY", clauses=["THR-INSERT-3"], **PLACE),
    record("insert/ours", "harness_error", clauses=["THR-INSERT-4"], **PLACE),
    record("insert/fine", **PLACE),
]


def test_sarif_has_a_result_for_each_cause_of_the_target() -> None:
    (run,) = run_sarif(RUN, BAD, Path("runs/mine"))["runs"]  # type: ignore[misc, attr-defined]
    rules = run["tool"]["driver"]["rules"]

    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("THR-INSERT-1", "error"), ("THR-INSERT-2", "warning"),
    ]  # fmt: skip
    assert rules[0]["shortDescription"]["text"] == load_suite("throttr").clauses["THR-INSERT-1"].text
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "runs/mine/records.jsonl"


@pytest.mark.parametrize(
    ("records", "message", "color"),
    [
        (BAD, "MUST 1/2, SHOULD 0/1", "red"),
        (BAD[1:3], "SHOULD 0/1", "yellow"),
        (BAD[4:], "MUST 1/1", "brightgreen"),
        ([], "nothing played", "brightgreen"),
    ],
)
def test_a_badge_reports_k_of_n_a_level(records: list[dict[str, Any]], message: str, color: str) -> None:
    found = badge(RUN, records)

    assert (found["message"], found["color"]) == (message, color)


def test_annotations_are_one_line_each() -> None:
    first, second = github_annotations(BAD)

    assert first.startswith("::error title=THR-INSERT-1 insert/status::failure [THR-INSERT-1] expected 01; got 00 %25")
    assert second.startswith("::warning title=THR-INSERT-2")


def test_the_command_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    files = ("--sarif", str(tmp_path / "a" / "run.sarif"), "--badge", str(tmp_path / "badge.json"))
    done = CliRunner().invoke(command, ["test", "throttr", "simulation", "-k", "query/missing", *files])

    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "badge.json").read_text())["message"] == "MUST 1/1"
    assert json.loads((tmp_path / "a" / "run.sarif").read_text())["runs"][0]["results"] == []


@pytest.mark.parametrize("name", ["github-action/action.yml", "github-action/workflow.yml", "gitlab/.gitlab-ci.yml"])
def test_examples_are_yaml_and_name_options_that_exist(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    known = {one for parameter in of_servers.command.params for one in parameter.opts}
    used = set(re.findall(r"(?<![\w-])--(?!port)[a-z][a-z-]+", text))

    assert yaml.safe_load(text)
    assert used <= known
