"""Mutation runs: recordings agree exactly when the server does, and every complaint can be made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from tests.places import ROOT
from wireproof.conformance.commands.mutation import command
from wireproof.conformance.model.verdict import Level, Verdict
from wireproof.conformance.mutation import kill_matrix_page, mutant_pool, play_bounds, recorded_suite
from wireproof.conformance.mutation.applicable import applicable, profiles_of
from wireproof.conformance.mutation.kill_matrix import Complaint, KillMatrix
from wireproof.conformance.mutation.mutant_pool import run_mutants
from wireproof.conformance.mutation.mutant_result import CaseFinding, MutantResult
from wireproof.conformance.mutation.mutation_run import MutationRun, ReferenceFailsError
from wireproof.conformance.mutation.recorded_suite import factory_of
from wireproof.conformance.mutation.recording import play
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.symbolic import steps_of
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.registry import server_mutants
from wireproof.mutants.throttr.server import MUTANTS
from wireproof.protocols.errors import ErrorCode, LocalProtocolError
from wireproof.reference_server.clock import VirtualClock

SUITE = load_suite("throttr")
FEW = replace(SUITE, cases=tuple(case for case in SUITE.cases if case.topic in ("query", "whoami")))
SCHEMA = ROOT / "reports" / "schema" / "kill-matrix.schema.json"
LOW_BYTE = MUTANTS["quota-low-byte"]
CASES = [replace(SUITE.cases[0], id=name, no_fault="") for name in ("one", "two", "three")]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def matrix(
    *results: MutantResult, levels: tuple[Level, Level, Level] = (Level.MUST, Level.SHOULD, Level.MAY)
) -> KillMatrix:
    named = {case.id: level for case, level in zip(CASES, levels, strict=True)}
    return KillMatrix("7.1.0", "uint16", SUITE, CASES, named, results)


def result(
    *kills: tuple[str, str], clauses: tuple[str, ...] = ("THR-QUERY-6",), error: str | None = None
) -> MutantResult:
    findings = [CaseFinding(case, Verdict.FAIL, blamed, "x") for case, blamed in kills]
    return MutantResult(Mutant(name="wrong", description="Is wrong.", clauses=clauses), findings, error)


GOOD = (("one", "THR-QUERY-6"), ("two", "THR-QUERY-6"))


@pytest.mark.parametrize(
    ("results", "complaint"),
    [
        ([result(*GOOD)], None),
        ([result(*GOOD), result()], "wrong survives: Is wrong. (THR-QUERY-6)"),
        ([result(*GOOD), result(("one", "x"), clauses=())], "wrong conforms and one fails it: x"),
        ([result(*GOOD), result(error="KeyError: 1")], "wrong could not be run: KeyError: 1"),
        ([result(("one", "THR-QUERY-6"))], "two kills no mutant and gives no reason (no_fault)"),
        ([result(("one", "THR-QUERY-6"), ("two", "other"))], "only 1 of 2 kills blame a broken clause; wanted 95%"),
    ],
)
def test_each_complaint(results: list[MutantResult], complaint: str | None) -> None:
    assert [one.message for one in matrix(*results).complaints()] == ([complaint] if complaint else [])


def test_a_case_may_say_why_it_kills_no_mutant_and_complaints_keep_to_their_groups() -> None:
    found = matrix(result(("one", "THR-QUERY-6")))
    group = SUITE.clauses[CASES[0].clauses[0]].group

    assert [case.id for case in found.kills_no_mutant] == ["two"]
    assert not list(found.complaints(groups=["NONE"]))
    assert len(list(found.complaints(groups=[group]))) == 1
    excused = [CASES[0], replace(CASES[1], no_fault="for a reason"), CASES[2]]
    assert not replace(found, cases=excused).kills_no_mutant


def test_a_value_of_foreach_that_kills_nothing_is_no_complaint_where_another_one_kills() -> None:
    sweep = [replace(CASES[0], id=f"one.{m}", variables={"m": m}) for m in (1, 2)]
    levels = dict.fromkeys(("one.1", "one.2"), Level.MUST)

    killed = KillMatrix("7.1.0", "uint16", SUITE, sweep, levels, [result(("one.2", "THR-QUERY-6"))])
    assert not killed.kills_no_mutant
    assert [case.id for case in replace(killed, results=[result()]).kills_no_mutant] == ["one.1", "one.2"]


def test_what_is_untestable_is_no_kill() -> None:
    found = result(*GOOD)
    found = replace(found, findings=[*found.findings, CaseFinding("three", Verdict.UNTESTABLE, "other", "x")])

    assert [one.case for one in found.kills] == ["one", "two"]
    assert not found.misblamed


def test_two_runs_differ_by_one_finding() -> None:
    assert matrix(result(*GOOD)).differs_from(matrix(result(*GOOD))) == ""
    assert matrix(result(*GOOD)).differs_from(matrix(result(GOOD[0]))) == "wrong"


def test_a_recording_agrees_with_the_same_server_and_not_with_another() -> None:
    suite = MutationRun(FEW, "7.1.0", "uint16").recorded
    mutant = factory_of(suite.plan, "quota-low-byte")

    same = [recording.agrees(factory_of(suite.plan, None)) for _, recording in suite.recordings]
    other = {case.id for case, recording in suite.recordings if not recording.agrees(mutant)}

    assert all(same)
    assert other
    assert {one.case for one in suite.findings("quota-low-byte")} <= other


def test_only_recordings_with_a_request_that_the_mutant_touches_are_replayed() -> None:
    some = replace(SUITE, cases=tuple(case for case in SUITE.cases if case.topic in ("query", "purge", "list")))
    suite = MutationRun(some, "7.1.0", "uint16").recorded
    factory = factory_of(suite.plan, "quota-low-byte")
    touched = factory(VirtualClock()).touched
    spared = [recording for _, recording in suite.recordings if not recording.may_differ(touched)]

    assert touched == {"QUERY", "EVENT"}
    assert len(spared) > 10
    assert all(recording.agrees(factory) for recording in spared)
    assert factory_of(suite.plan, None)(VirtualClock()).touched is None


def test_a_suite_that_the_reference_server_fails_proves_nothing() -> None:
    steps = steps_of([{"send": "WHOAMI", "expect": {"WHOAMI_REPLY": {"id": {"hex": "00"}}}}])
    broken = replace(FEW, cases=(replace(FEW.cases[0], id="query/broken", steps=steps),))

    with pytest.raises(ReferenceFailsError, match="the reference server does not pass query/broken: fail"):
        MutationRun(broken, "7.1.0", "uint16").recorded.findings("quota-low-byte")


def test_where_a_mutant_differs() -> None:
    variant = Mutant(name="legal-x", description="Is odd.")
    low = replace(LOW_BYTE, profiles=("7.3.2",))

    assert profiles_of(LOW_BYTE, SUITE, []) == ["7.1.0", "7.3.2"]
    assert profiles_of(variant, SUITE, ["p", "q"]) == ["p", "q"]
    assert applicable([LOW_BYTE, variant, low], SUITE, "7.1.0", "uint8") == [variant]
    assert applicable([LOW_BYTE, variant, low], SUITE, "7.1.0", "uint16") == [LOW_BYTE, variant]


def test_the_published_matrix_keeps_its_schema_and_the_page_shows_it(tmp_path: Path) -> None:
    run = MutationRun(FEW, "7.1.0", "uint16")
    found = kill_matrix_page.document(FEW, run.kill_matrix([LOW_BYTE, Mutant(name="legal-x", description="Is <odd>.")]))
    kill_matrix_page.write(tmp_path, found)

    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(
        json.loads((tmp_path / "kill-matrix.json").read_text())
    )
    page = (tmp_path / "index.html").read_text()
    assert "quota-low-byte" in page
    assert "Is &lt;odd&gt;." in page


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--mutant", "no-such"], 2, "no mutant of no-such differs in 7.1.0 uint16; see 'wireproof mutant --list'"),
        (["--profile", "9"], 2, "unknown profile '9': expected 7.1.0 or 7.3.2"),
    ],
)
def test_the_command_names_what_is_unknown(arguments: list[str], code: int, message: str) -> None:
    done = CliRunner().invoke(command, ["throttr", *arguments])

    assert done.exit_code == code
    assert message in done.output.replace("\n", " ")


@pytest.mark.parametrize(("warned", "code"), [((), 1), (("--warn", "blame"), 0)])
def test_a_complaint_may_be_a_warning(warned: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints = (Complaint("blame", "only 1 of 9 is right"), Complaint("kills-nothing", "this/one kills no mutant"))
    monkeypatch.setattr(KillMatrix, "complaints", lambda self, groups: iter(complaints))
    monkeypatch.setattr("wireproof.conformance.commands.mutation.load_suite", lambda name: FEW)
    done = CliRunner().invoke(command, ["throttr", "--mutant", "quota-low-byte", "--group", "QUERY", *warned])

    assert (done.exit_code, "only 1 of 9 is right" in done.output) == (code, True)
    assert "kills no mutant" not in done.output, "of some mutants only, nothing follows for a case"


def test_details_are_printed_as_they_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: MutationRun, chosen: object, report: Callable[[MutantResult], None], *, live: bool) -> None:
        report(result(("query/one", "THR-QUERY-6")))
        report(result())
        raise ReferenceFailsError("ended before its end")

    monkeypatch.setattr(MutationRun, "kill_matrix", interrupted)

    done = CliRunner().invoke(command, ["throttr", "--mutant", "quota-low-byte", "--details"])

    assert done.exit_code == 1
    assert "wrong: 1 kill, 0 misblamed\n    query/one fail THR-QUERY-6: x\n" in done.output
    assert "0 kills" not in done.output, "other segmentations may still kill it"


def test_details_name_each_mutant_once(monkeypatch: pytest.MonkeyPatch) -> None:
    killed, survivor = result(("one", "THR-QUERY-6")), replace(result(), mutant=LOW_BYTE)

    def ran(self: MutationRun, chosen: object, report: Callable[[MutantResult], None], *, live: bool) -> KillMatrix:
        report(killed)
        report(survivor)
        return matrix(killed, survivor)

    monkeypatch.setattr(MutationRun, "kill_matrix", ran)

    done = CliRunner().invoke(command, ["throttr", "--mutant", "quota-low-byte", "--details"])

    assert done.output.count("wrong: 1 kill") == 1
    assert done.output.count("quota-low-byte: 0 kills") == 1


@pytest.mark.parametrize("is_hungry", [False, True])
def test_a_server_that_loops_without_end_is_killed(is_hungry: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It awaits nothing, so that no deadline of a play ends it."""
    monkeypatch.setattr(recorded_suite, "CPU_SECONDS", 0.2)
    monkeypatch.setattr(recorded_suite, "CPU_SECONDS_AGAIN", 0.02)
    monkeypatch.setattr(play_bounds, "MEMORY", 64 << 20)
    monkeypatch.setattr(recorded_suite, "factory_of", _connecting(recorded_suite.factory_of, _loop(is_hungry)))

    (found,) = run_mutants(MutationRun(FEW, "7.1.0", "uint16").recorded, [LOW_BYTE], jobs=1)

    assert found.error is None
    assert {one.verdict for one in found.kills} == {Verdict.HANG}
    assert not is_hungry or found.kills[0].got == "no end of memory"


def test_a_server_that_cannot_encode_its_answer_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*given: object) -> None:
        raise LocalProtocolError(ErrorCode.BAD_VALUE, "expected at most 65535 bytes, got 65536")

    monkeypatch.setattr(recorded_suite, "factory_of", _connecting(recorded_suite.factory_of, connect))

    (found,) = run_mutants(MutationRun(FEW, "7.1.0", "uint16").recorded, [LOW_BYTE], jobs=1)

    assert found.error is None
    assert {one.verdict for one in found.kills} == {Verdict.CRASH}
    assert "expected at most 65535 bytes, got 65536" in str(found.kills[0].got)


def _connecting(correct: Any, connect: Callable[..., None]) -> Any:
    """Return what makes servers that do this for each connection, where they are mutants."""

    def factory_of(plan: Any, mutant: str | None) -> Any:
        create = correct(plan, None)

        def changed(clock: Any) -> Any:
            service = create(clock)
            service.connect = connect
            return service

        return create if mutant is None else changed

    return factory_of


def _loop(is_hungry: bool) -> Callable[..., None]:
    def loop(*given: object) -> None:
        held = []
        while True:
            with suppress(ValueError):
                held.append(bytes(1 << 20) if is_hungry else None)
                if not is_hungry:
                    held.clear()

    return loop


def test_a_server_that_raises_stop_iteration_makes_no_outcome() -> None:
    def actions() -> Iterator[str]:
        yield "open"

    def perform(action: object) -> Any:
        raise StopIteration

    with pytest.raises(StopIteration):
        play(SimpleNamespace(play=actions), perform)  # type: ignore[arg-type]


def _who_runs(name: str) -> tuple[list[Any], str]:
    return [], str(os.getpid())


def test_a_worker_that_ran_some_mutants_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutant_pool, "MUTANTS_A_WORKER", 1)
    monkeypatch.setattr(mutant_pool, "_run", _who_runs)

    found = run_mutants(
        MutationRun(FEW, "7.1.0", "uint16").recorded, list(server_mutants("throttr").values())[:3], jobs=1
    )

    assert len({one.error for one in found}) == 3
