"""The gate: last time's killing case comes first, what survives or is failed wrongly is a complaint."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.mutation import command
from wireproof.conformance.mutation.gate import GateResult, run_gate
from wireproof.conformance.mutation.last_kills import read_last_kills, shipped_kills, write_last_kills
from wireproof.conformance.mutation.mutation_run import MutationRun
from wireproof.conformance.suite.cases import load_suite
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.registry import server_mutants
from wireproof.mutants.throttr.server import MUTANTS

SUITE = load_suite("throttr")
FEW = replace(SUITE, cases=tuple(case for case in SUITE.cases if case.topic in ("query", "whoami")))
LOW_BYTE, CONFORMING = MUTANTS["quota-low-byte"], next(one for one in MUTANTS.values() if one.is_legal)


def gate(*mutants: Mutant, last: dict[str, str] | None = None) -> list[GateResult]:
    return run_gate(MutationRun(FEW, "7.1.0", "uint16", jobs=1), mutants, last or {})


def test_a_mutant_is_run_until_its_first_kill() -> None:
    (found,) = gate(LOW_BYTE)

    assert found.killer.startswith("query/")
    assert not found.is_wrong
    assert found.played < len(FEW.cases)


def test_the_last_killing_case_comes_first_and_others_follow_when_it_kills_no_more() -> None:
    (found,) = gate(LOW_BYTE)
    (again,) = gate(LOW_BYTE, last={LOW_BYTE.name: found.killer})
    (other,) = gate(LOW_BYTE, last={LOW_BYTE.name: "whoami/it-is-not-killed-by|whole"})

    assert (again.killer, again.played) == (found.killer, 1)
    assert other.killer == found.killer


def test_other_segmentations_of_cases_that_cite_its_clauses_come_before_cases_of_others() -> None:
    topics = ("robustness", "query", "get", "set", "list")
    suite = replace(SUITE, cases=tuple(case for case in SUITE.cases if case.topic in topics))
    run = MutationRun(suite, "7.3.2", "uint16", jobs=1)
    (found,) = run_gate(run, [MUTANTS["channel-unanswered-at-half-close"]], {})

    assert found.killer == "robustness/each-kind-by-itself|half-closed"
    assert found.played < len(run.recorded.plan.cases)


def test_a_mutant_that_survives_and_a_conforming_variant_that_is_failed_are_complaints() -> None:
    elsewhere = next(
        one for one in MUTANTS.values() if one.clauses and all(clause.startswith("THR-PURGE") for clause in one.clauses)
    )
    survivor, conforming = gate(elsewhere, CONFORMING)

    assert (survivor.killer, survivor.is_wrong) == ("", True)
    assert (conforming.killer, conforming.is_wrong) == ("", False)
    assert GateResult(CONFORMING, "query/x|whole", 1).is_wrong
    assert GateResult(LOW_BYTE, "query/x|whole", 0, error="KeyError: 1").is_wrong


def test_a_mutant_that_cannot_be_made_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ValueError("expected once, found 0 times")

    monkeypatch.setattr("wireproof.conformance.run.reference_target.create_service", refuse)
    (found,) = gate(LOW_BYTE)

    assert (found.killer, found.is_wrong) == ("", True)
    assert "found 0 times" in found.error


def test_last_kills_are_kept_by_combination_and_a_damaged_file_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "kills.json"
    write_last_kills(file, "one", {"a": "x|whole"})
    write_last_kills(file, "one", {"b": "y|whole"})
    write_last_kills(file, "two", {"a": "z|whole"})

    assert read_last_kills(file, "one") == {"a": "x|whole", "b": "y|whole"}
    assert read_last_kills(file, "three") == {}
    for damaged in ("{half", "[]", '{"one": 1}'):
        file.write_text(damaged)
        assert read_last_kills(file, "one") == {}


@pytest.mark.parametrize(
    ("name", "combination"),
    [
        ("throttr", "throttr 7.3.2 uint64"),
        ("psrt", "psrt 1 standard"),
        ("tmqp", "tmqp doc standard"),
        ("namechan", "namechan 1 standard"),
    ],
)
def test_most_killing_cases_are_in_the_repository(name: str, combination: str) -> None:
    """`wireproof mutation NAME --gate --previous mutants/NAME/last-kills.json` writes them again."""
    _, profile, variant = combination.split()
    mutants = {
        one.name
        for one in server_mutants(name).values()
        if not one.is_legal and profile in (one.profiles or [profile]) and variant in (one.variants or [variant])
    }

    assert len(mutants & shipped_kills(name, combination).keys()) > 0.9 * len(mutants) > 0
    assert shipped_kills(name, f"{name} none none") == {}


def test_the_command_keeps_what_killed_and_prints_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof.conformance.commands.mutation.load_suite", lambda name: FEW)
    monkeypatch.setattr("wireproof.conformance.commands.mutation_gate.shipped_kills", lambda *_: {})
    file = tmp_path / "kills.json"
    arguments = ["throttr", "--gate", "--previous", str(file), "--mutant", LOW_BYTE.name, "--mutant", CONFORMING.name]
    first, second = CliRunner().invoke(command, arguments), CliRunner().invoke(command, arguments)

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert list(json.loads(file.read_text())["throttr 7.1.0 uint16"]) == [LOW_BYTE.name]
    assert "the last killing case is known of 0 mutants" in first.output
    assert "the last killing case is known of 1 mutants and kills 1 of them again" in second.output
    assert "0 mutants needed more than one case" in second.output
    assert "plays on 1 conforming variant (one of 16 cases on each)" in second.output
