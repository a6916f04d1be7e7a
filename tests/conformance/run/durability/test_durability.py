"""`wireproof durability` against the reference server and its mutants, over sockets."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from tests.places import ROOT
from wireproof.conformance.commands.durability import command
from wireproof.conformance.report.durability_records import durability_records, durability_run
from wireproof.conformance.run.durability.conversation import conversation
from wireproof.conformance.run.durability.promises import BrokenPromise
from wireproof.conformance.run.durability.scenarios import ScenarioResult
from wireproof.conformance.suite.cases import load_suite
from wireproof.mutants.namechan.server.durability import DURABILITY_MUTANTS, PROMISES
from wireproof.mutants.registry import durability_mutants, server_mutants, server_patch

OPTIONS = "--port {port} --data {data} --publish-command-socket {data}/hook"
SAMPLE = ("restart-begins-empty",)
"""The others are found in simulation (test_simulated.py); over sockets one of them by the test of its records."""


def durability(module: str, *arguments: str) -> Result:
    command_line = f"{sys.executable} -m wireproof.{module} {OPTIONS}"
    given = ["namechan", "--listener", "unix://{data}/hook", "--target-command", command_line, *arguments]
    return CliRunner().invoke(command, given)


def test_the_reference_server_keeps_what_it_promises(tmp_path: Path) -> None:
    done = durability("reference_server namechan", "--kills", "2", "--only", "kill", "--out", str(tmp_path))

    assert done.exit_code == 0, done.output
    assert "2 kills, 2 comparisons" in done.output
    document = json.loads((tmp_path / "durability.json").read_text())
    assert [one["breaches"] for one in document["findings"]] == [[]] * 2


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_reference_server_keeps_it_over_many_deaths_and_damages() -> None:
    done = durability("reference_server namechan", "--kills", "50")

    assert done.exit_code == 0, done.output


def test_its_verdicts_are_records_of_a_run_of_its_own(tmp_path: Path) -> None:
    more = ("--kills", "2", "--only", "kill", "--only", "torn", "--name", "mine", "--out", str(tmp_path))

    done = durability("mutants namechan --mutant restart-last-twice", *more)

    assert done.exit_code == 1, done.output
    schemas = {one: json.loads((ROOT / f"reports/schema/{one}.schema.json").read_text()) for one in ("record", "run")}
    records = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    run = json.loads((tmp_path / "run.json").read_text())
    assert list(jsonschema_rs.validator_for(schemas["run"]).iter_errors(run)) == []
    validator = jsonschema_rs.validator_for(schemas["record"])
    assert [str(error) for one in records for error in validator.iter_errors(one)] == []
    assert len(records) >= 13
    assert (run["implementation"], run["partial"], run["exit_code"]) == ("mine, durability", ["--only kill torn"], 1)
    failed = {(one["case"].rpartition("-")[2], one["blamed"]) for one in records if one["verdict"] == "fail"}
    assert all(one["exchange"] for one in records if one["verdict"] == "fail" and not one["case"].endswith("-starts"))
    promise = PROMISES["restart-last-twice"]
    assert (promise, conversation("namechan", "1", "standard").promises[promise]) in failed
    assert "NCH-DURABILITY-1" in (tmp_path / "index.html").read_text()


def test_what_could_not_be_done_is_not_judged() -> None:
    talk, suite = conversation("namechan", "1", "standard"), load_suite("namechan")
    run = durability_run(talk, "x {data}", "x", "1", only=(), kills=1, seed=1)
    lost = BrokenPromise("acknowledged", "one is lost")
    results = [
        (ScenarioResult("kill-1-random", (lost,)), 1000),
        (ScenarioResult("torn-strong", (), "no file holds it", is_done=False), 1000),
    ]

    records = list(durability_records(run, suite, talk, results, ["kill", "torn", "flip"]))

    verdicts = {one["case"].removeprefix("durability/"): one["verdict"] for one in records}
    assert verdicts["kill-acknowledged"] == "fail"
    assert verdicts["kill-seen"] == "pass"
    assert verdicts["torn-torn"] == verdicts["flip-whole"] == "untestable"
    assert next(one["got"] for one in records if one["case"] == "durability/torn-torn") == "no file holds it"


def found(name: str) -> Result:
    return durability(f"mutants namechan --mutant {name}", "--first", "--kills", "8")


@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_is_found(name: str) -> None:
    done = found(name)

    assert done.exit_code == 1, done.output
    assert f"    {PROMISES[name]}: " in done.output


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sorted(set(PROMISES) - set(SAMPLE)))
def test_each_mutant_is_found(name: str) -> None:
    done = found(name)

    assert done.exit_code == 1, done.output


def test_mutants_name_promises_and_are_served_by_name() -> None:
    talk = conversation("namechan", "1", "standard")

    assert set(PROMISES.values()) <= set(talk.promises)
    assert durability_mutants("namechan") is DURABILITY_MUTANTS
    assert not durability_mutants("throttr")
    assert not set(DURABILITY_MUTANTS) & set(server_mutants("namechan"))
    assert all(server_patch("namechan", name) is one for name, one in DURABILITY_MUTANTS.items())


@pytest.mark.parametrize(
    ("protocol", "words", "message"),
    [
        ("namechan", "x --port {port}", "expected {data}, the folder of what the server keeps"),
        ("throttr", "x --port {port} {data}", "throttr: nothing says what its servers keep over a restart"),
        ("namechan", "no-such-program {port} {data}", "cannot start 'no-such-program'"),
    ],
)
def test_wrong_usage_is_reported(protocol: str, words: str, message: str) -> None:
    done = CliRunner().invoke(command, [protocol, "--listener", "unix://{data}/hook", "--target-command", words])

    assert done.exit_code == 2
    assert message in " ".join(done.output.replace("│", "").split())
