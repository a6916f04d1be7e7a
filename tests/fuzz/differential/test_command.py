"""`wireproof fuzz diff`: live servers beside the reference, tables, findings that are replayed on one server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.conformance.servers import answers_only_the_probe
from tests.conformance.threads import in_thread
from tests.fuzz.differential.kept_sources import kept_sources
from tests.fuzz.live import wrong_server
from tests.places import ROOT
from wireproof.conformance.model.actions import Open, Shut, Write
from wireproof.conformance.suite.cases import Suite
from wireproof.fuzz.commands import diff
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.commands.replay_finding import command as replay
from wireproof.fuzz.differential import diff_campaign
from wireproof.fuzz.differential.conversations import Source
from wireproof.fuzz.findings.findings_folder import load_all
from wireproof.fuzz.live.context import FuzzContext
from wireproof.mutants.registry import server_mutants

REFERENCE = f"{sys.executable} -m reference_server throttr --profile 7.1.0 --width uint16"
SPOKEN = ("--profile", "7.1.0", "--variant", "uint16")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(context: FuzzContext, suite: Suite) -> Iterator[Source]:
        some = [one for one in kept_sources(context, suite) if one.requests == {"INSERT", "QUERY"} and one.waited == 0]
        return iter(some[::4])

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(diff_campaign, "sources", chosen)
    monkeypatch.setattr(diff_campaign, "SHRINK_TRIES", 8)
    monkeypatch.setattr(diff_campaign, "SETTLED", 0.03)
    monkeypatch.setattr(diff_campaign, "clause_by_cases", lambda *arguments: None)


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(fuzz, ["diff", "throttr", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_a_live_reference_and_the_simulation_are_alike(tmp_path: Path) -> None:
    result = run("simulation", "--target-command", REFERENCE, "--runs", "25", "--findings", str(tmp_path), *SPOKEN)

    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1].startswith("25 executions")
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_falls_silent_is_no_likeness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_campaign, "SERVED", 0.3)
    monkeypatch.setattr(diff, "TIMEOUT", 0.3)
    with in_thread(answers_only_the_probe) as address:
        result = run("simulation", str(address), "--runs", "25", "--findings", str(tmp_path), *SPOKEN)

    assert result.exit_code == 1, result.output
    assert f"{address} no longer serves anybody and cannot be restarted from here" in result.output
    (kept,) = load_all(tmp_path)
    assert (kept.state, kept.reproduced) == ("the process: ", (0, 3))


def test_a_server_that_dies_is_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Open("a"), Write("a", wrong_server.TRIGGER), Shut("a", "close")  # no answer shows it
    source = Source(ends, (), False, {}, 0.0, frozenset(), (), frozenset())
    monkeypatch.setattr(diff_campaign, "sources", lambda context, suite: [source])
    dies = f"{sys.executable} {wrong_server.__file__} dies {{port}}"
    result = run("simulation", "--target-command", dies, "--runs", "2", "--findings", str(tmp_path), *SPOKEN)

    assert result.exit_code == 1, result.output
    dead = [one for one in load_all(tmp_path) if one.state == "the process: "]
    assert [(one.reproduced, one.clause) for one in dead] == [((3, 3), "THR-ROBUSTNESS-1")]
    assert "ended or served nobody" in result.output
    again = CliRunner().invoke(replay, [str(tmp_path / dead[0].id), "--target-command", dies])
    assert (again.exit_code, again.output.split()[0]) == (1, "REPRODUCED"), again.output


def test_a_dead_server_cannot_be_compared(tmp_path: Path) -> None:
    result = run("simulation", "tcp://127.0.0.1:1", "--runs", "25", "--findings", str(tmp_path), *SPOKEN)

    assert result.exit_code == 2
    assert "nothing to fuzz at tcp://127.0.0.1:1: Connection refused" in result.output


@pytest.mark.nightly
def test_a_mutant_is_reported_by_clause_kept_and_replayed(tmp_path: Path) -> None:
    wrong = f"{REFERENCE} --fault quota-low-byte"
    result = run("simulation", "--target-command", wrong, "--runs", "25", "--findings", str(tmp_path), *SPOKEN)

    assert result.exit_code == 1, result.output
    (found,) = load_all(tmp_path)
    assert (found.engine, found.reproduced) == ("differential", (3, 3))
    assert found.clause in server_mutants("throttr")["quota-low-byte"].clauses
    assert found.clause in result.output
    assert "B differs from the reference" in result.output
    again = CliRunner().invoke(replay, [str(tmp_path / found.id), "--target-command", wrong])
    assert (again.exit_code, again.output.split()[0]) == (1, "REPRODUCED"), again.output
    right = CliRunner().invoke(replay, [str(tmp_path / found.id), "--target-command", REFERENCE])
    assert (right.exit_code, right.output.split()[0]) == (0, "GONE"), right.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulation",), "expected two or more of TARGET and --target-command; got 1"),
        (("simulation", "tcp://192.0.2.1:9000"), "is no loopback address: give --allow-remote"),
        (("simulation", "simulation", "--profile", "9"), "there is no 9 uint16"),
        (("simulation", "tcp://127.0.0.1:1"), "nothing to fuzz at"),
        (("simulation", "nowhere"), "expected tcp://HOST:PORT"),
    ],
)
def test_what_cannot_be_compared_is_reported(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert message in result.output
