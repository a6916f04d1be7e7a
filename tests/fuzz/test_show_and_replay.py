"""`wireproof show` and `wireproof replay` take the ids that consoles, JUnit and pages print."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from wireproof.cli import command
from wireproof.fuzz.findings.finding import FuzzFinding

CASE = "query/missing"
PLAYED = ["test", "throttr", "simulation", "--profile", "7.3.2", "--variant", "uint8", "-k", CASE]


def printed(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(command, list(words))
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    printed(*PLAYED, "--segmentation", "whole", "--evidence", "all", "--out", "runs/mine")
    return tmp_path / "runs"


def record(runs: Path) -> dict[str, str]:
    (line,) = (runs / "mine" / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return dict(json.loads(line))


def test_a_record_is_shown_with_its_exchange(runs: Path) -> None:
    found = record(runs)
    text = printed("show", found["record_id"])

    assert f"record {found['record_id']}: pass {CASE} MUST" in text
    assert "THR-QUERY-9: " in text
    assert "QUERY(key=" in text
    assert json.loads(printed("show", found["record_id"], "--json"))["case"] == CASE


def test_clauses_are_shown_too(runs: Path) -> None:
    assert "clause THR-QUERY-9 of throttr" in printed("show", "THR-QUERY-9")
    assert "no record 0123456789ab below runs: --runs DIR" in printed("show", "0123456789ab", code=2)


def test_a_record_and_a_case_are_played_again(runs: Path) -> None:
    found = record(runs)

    assert f"GONE {found['record_id']}" in printed("replay", found["record_id"])
    assert "--profile 7.3.2 --variant uint8 -k query/missing" in printed("replay", CASE)
    assert "simulation -k query/missing" in printed("replay", CASE, "simulation")


def test_a_record_of_a_server_that_was_started_is_played_on_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = f"{sys.executable} -m wireproof mutant throttr quota-low-byte --port {{port}}"
    case = ("-k", "query/fields-of-the-answer", "--segmentation", "whole")
    printed("test", "throttr", "--target-command", command, *case, "--out", "runs/mine", code=1)
    found = record(tmp_path / "runs")

    text = printed("replay", found["record_id"], code=1)

    assert f"REPRODUCED {found['record_id']}" in text
    assert "--target-command" in text


def test_a_record_is_played_again_with_the_features_and_limits_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    declared = ("--feature", "replay", "--limit", "PING_INTERVAL=1")
    printed("test", "namechan", "simulation", *declared, "-k", "handshake/unsupported", "--out", "runs/mine")
    found = json.loads((tmp_path / "runs/mine/records.jsonl").read_text(encoding="utf-8").splitlines()[0])

    text = printed("replay", found["record_id"])

    assert "namechan simulation --feature replay --limit PING_INTERVAL=1 --profile" in text


def test_what_cannot_be_played_again_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert "names like it: query/missing" in printed("replay", "query/missin", code=2)
    assert "name a target" in printed("replay", CASE, code=2)
    assert "nothing to test at" in printed("replay", CASE, "tcp://127.0.0.1:1", code=2)


def test_a_finding_is_shown_in_words_with_its_clause_and_its_exchange(tmp_path: Path) -> None:
    finding = FuzzFinding(
        engine="server",
        oracle="the process stays",
        detail="the server died",
        shape="died",
        protocol="throttr",
        profile="7.1.0",
        variant="uint16",
        clause="THR-QUERY-4",
        reproduced=(2, 3),
    )
    folder = tmp_path / finding.id
    folder.mkdir()
    (folder / "finding.json").write_text(json.dumps(finding.to_json()))
    (folder / "exchange.txt").write_text("the process stays: it died\n\n" + "  a > 02\n" * 30)

    shown = printed("show", str(folder))

    assert "what was seen: the server died" in shown
    assert "clause THR-QUERY-4: The answer to QUERY starts with a status byte" in shown
    assert "seen again in 2 of 3 tries" in shown
    assert shown.count("a > 02") == 20
    assert "… and 10 lines more in" in shown
