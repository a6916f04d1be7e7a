"""The self-check itself: tapes agree exactly when the server does, and every complaint can be made."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner

from tests.places import ROOT
from wireproof.conformance.commands.mutation import command
from wireproof.conformance.model.verdict import Level, Verdict
from wireproof.conformance.mutation import kill_matrix_page
from wireproof.conformance.mutation.applicable import applicable, profiles_of
from wireproof.conformance.mutation.kill_matrix import Complaint, KillMatrix, Trial
from wireproof.conformance.mutation.mutant_result import Finding, factory_of
from wireproof.conformance.mutation.mutation_run import Check, FaultlessError
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.symbolic import steps_of
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.registry import server_mutants
from wireproof.reference_server.clock import VirtualClock

SUITE = load_suite("throttr")
FEW = replace(SUITE, cases=tuple(case for case in SUITE.cases if case.topic in ("query", "whoami")))
SCHEMA = ROOT / "reports" / "schema" / "kill-matrix.schema.json"
LOW_BYTE = server_mutants("throttr")["quota-low-byte"]
CASES = [replace(SUITE.cases[0], id=name, no_fault="") for name in ("one", "two", "three")]


def matrix(*trials: Trial, levels: tuple[Level, Level, Level] = (Level.MUST, Level.SHOULD, Level.MAY)) -> KillMatrix:
    named = {case.id: level for case, level in zip(CASES, levels, strict=True)}
    return KillMatrix("7.1.0", "uint16", SUITE, CASES, named, trials)


def trial(*kills: tuple[str, str], clauses: tuple[str, ...] = ("THR-QUERY-6",), error: str | None = None) -> Trial:
    findings = [Finding(case, Verdict.FAIL, blamed, "x") for case, blamed in kills]
    return Trial(Mutant(name="wrong", description="Is wrong.", clauses=clauses), findings, error)


GOOD = (("one", "THR-QUERY-6"), ("two", "THR-QUERY-6"))


@pytest.mark.parametrize(
    ("trials", "complaint"),
    [
        ([trial(*GOOD)], None),
        ([trial(*GOOD), trial()], "wrong survives: Is wrong. (THR-QUERY-6)"),
        ([trial(*GOOD), trial(("one", "x"), clauses=())], "wrong is legal and failed by one: x"),
        ([trial(*GOOD), trial(error="KeyError: 1")], "wrong could not be tried: KeyError: 1"),
        ([trial(("one", "THR-QUERY-6"))], "two kills nothing and does not say why (no_fault)"),
        ([trial(("one", "THR-QUERY-6"), ("two", "other"))], "only 1 of 2 kills blame a broken clause; wanted 95%"),
    ],
)
def test_each_complaint(trials: list[Trial], complaint: str | None) -> None:
    assert [one.told for one in matrix(*trials).complaints()] == ([complaint] if complaint else [])


def test_a_case_may_say_why_it_kills_nothing_and_complaints_keep_to_their_groups() -> None:
    found = matrix(trial(("one", "THR-QUERY-6")))
    group = SUITE.clauses[CASES[0].clauses[0]].group

    assert [case.id for case in found.toothless] == ["two"]
    assert not list(found.complaints(groups=["NONE"]))
    assert len(list(found.complaints(groups=[group]))) == 1
    told = [CASES[0], replace(CASES[1], no_fault="for a reason"), CASES[2]]
    assert not replace(found, cases=told).toothless


def test_what_is_untestable_is_no_kill() -> None:
    found = trial(*GOOD)
    found = replace(found, findings=[*found.findings, Finding("three", Verdict.UNTESTABLE, "other", "x")])

    assert [one.case for one in found.kills] == ["one", "two"]
    assert not found.misblamed


def test_two_runs_differ_by_one_finding() -> None:
    assert matrix(trial(*GOOD)).differs_from(matrix(trial(*GOOD))) == ""
    assert matrix(trial(*GOOD)).differs_from(matrix(trial(GOOD[0]))) == "wrong"


def test_a_tape_agrees_with_the_same_server_and_not_with_another() -> None:
    ground = Check(FEW, "7.1.0", "uint16").ground

    right = [tape.agrees(factory_of(ground.plan, None)) for _, tape in ground.tapes]
    wrong = {case.id for case, tape in ground.tapes if not tape.agrees(factory_of(ground.plan, "quota-low-byte"))}

    assert all(right)
    assert wrong
    assert {one.case for one in ground.try_out("quota-low-byte")} <= wrong


def test_only_tapes_that_ask_what_a_fault_touches_are_played_again() -> None:
    ground = Check(SUITE, "7.1.0", "uint16").ground
    factory = factory_of(ground.plan, "quota-low-byte")
    touched = factory(VirtualClock()).touched
    spared = [(case, tape) for case, tape in ground.tapes if not tape.may_show(touched)]

    assert touched == {"QUERY", "EVENT"}
    assert len(spared) > 100
    assert all(tape.agrees(factory) for _, tape in spared)
    assert factory_of(ground.plan, None)(VirtualClock()).touched is None


def test_a_suite_that_the_faultless_server_fails_proves_nothing() -> None:
    steps = steps_of([{"send": "WHOAMI", "expect": {"WHOAMI_REPLY": {"id": {"hex": "00"}}}}])
    broken = replace(FEW, cases=(replace(FEW.cases[0], id="query/broken", steps=steps),))

    with pytest.raises(FaultlessError, match="the faultless server does not pass query/broken: fail"):
        Check(broken, "7.1.0", "uint16").ground.try_out("quota-low-byte")


def test_where_a_departure_shows() -> None:
    legal = Mutant(name="legal-x", description="Is odd.")
    low = replace(LOW_BYTE, profiles=("7.3.2",))

    assert profiles_of(LOW_BYTE, SUITE, []) == ["7.1.0", "7.3.2"]
    assert profiles_of(legal, SUITE, ["p", "q"]) == ["p", "q"]
    assert applicable([LOW_BYTE, legal, low], SUITE, "7.1.0", "uint8") == [legal]
    assert applicable([LOW_BYTE, legal, low], SUITE, "7.1.0", "uint16") == [LOW_BYTE, legal]


def test_the_published_matrix_keeps_its_schema_and_the_page_shows_it(tmp_path: Path) -> None:
    check = Check(FEW, "7.1.0", "uint16")
    found = kill_matrix_page.document(FEW, check.run([LOW_BYTE, Mutant(name="legal-x", description="Is <odd>.")]))
    kill_matrix_page.write(tmp_path, found)

    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(
        json.loads((tmp_path / "kill-matrix.json").read_text())
    )
    page = (tmp_path / "index.html").read_text()
    assert "quota-low-byte" in page
    assert "Is &lt;odd&gt;." in page


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--fault", "no-such"], 2, "no fault of no-such shows in 7.1.0 uint16; see 'wireproof impostor --list'"),
        (["--profile", "9"], 2, "unknown profile '9': expected 7.1.0 or 7.3.2"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], code: int, told: str) -> None:
    result = CliRunner().invoke(command, ["throttr", *arguments])

    assert result.exit_code == code
    assert told in result.output.replace("\n", " ")


@pytest.mark.parametrize(("warned", "code"), [((), 1), (("--warn", "blame"), 0)])
def test_a_complaint_may_be_told_only(warned: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints = (Complaint("blame", "only 1 of 9 is right"), Complaint("toothless", "this/one kills nothing"))
    monkeypatch.setattr(KillMatrix, "complaints", lambda self, groups: iter(complaints))
    result = CliRunner().invoke(command, ["throttr", "--fault", "quota-low-byte", "--group", "QUERY", *warned])

    assert (result.exit_code, "only 1 of 9 is right" in result.output) == (code, True)
    assert "kills nothing" not in result.output, "of some faults only, nothing follows for a case"
