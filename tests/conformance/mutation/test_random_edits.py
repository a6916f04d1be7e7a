"""Random edits: every edit is what it says, nothing invisible is edited, and wrong code is killed."""

from __future__ import annotations

import ast
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from wireproof.conformance.commands import mutation_edits
from wireproof.conformance.mutation import random_edits
from wireproof.conformance.mutation.edit_score import (
    EditScore,
    Explanation,
    SurvivalReason,
    explanations,
    place_of,
    stale,
)
from wireproof.conformance.mutation.fresh_server import CodeEdit, all_edits, fresh_factory
from wireproof.conformance.mutation.mutation_run import MutationRun
from wireproof.conformance.mutation.random_edits import EditResult, Sample, Status, draw, run_edits
from wireproof.conformance.mutation.source_edits import edited, source_edits
from wireproof.conformance.suite.cases import load_suite
from wireproof.protocols import registry
from wireproof.reference_server.registry import served_protocols, server_packages

SUITE = load_suite("throttr")
FEW = replace(SUITE, cases=tuple(case for case in SUITE.cases if case.topic in ("purge", "whoami")))
PACKAGES = server_packages("throttr")


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = a is None", ["x = a is not None"]),
        ("x = a + b", ["x = a - b"]),
        ("x += y", ["x -= y", "pass"]),
        ("x = a and b", ["x = a or b"]),
        ("x = not a", ["x = a"]),
        ("if a:\n    b", ["if not a:\n    b"]),
        ("x = True", ["x = False"]),
        ("x = 7", ["x = 8"]),
        ("x = b'\\x01z'", ["x = b'\\x00z'"]),
        ("f()", ["pass"]),
        ("x.y = z", ["pass"]),
    ],
)
def test_each_edit(source: str, after: list[str]) -> None:
    assert [ast.unparse(edited(source, one)) for one in source_edits(source)] == after


@pytest.mark.parametrize(
    "source",
    [
        '"""Words."""', "x: Literal[1]", "@cache(size=1)\ndef f() -> Literal[2]: ...", "class A(B, frozen=True): ...",
        "__all__ = ['a' + 'b']", "raise E(1 + 2)", "log.info(x)", "x = f'{a + b}'", "def __repr__(self): return 1 + 2",
    ],
)  # fmt: skip
def test_what_no_behaviour_depends_on_is_left_alone(source: str) -> None:
    assert source_edits(source) == []


def test_an_edit_is_named_by_its_function_and_its_statement() -> None:
    (one,) = source_edits("class A:\n    def f(self):\n        return g(a,\n                 b < c)")

    assert (one.function, one.statement, one.text) == ("A.f", "return g(a, b < c)", "b < c -> b <= c")
    assert (one.statement_line, one.line) == (3, 4)


def code_edit(module: str, text: str) -> CodeEdit:
    return next(one for one in all_edits(PACKAGES) if one.module.endswith(module) and one.edit.text == text)


@pytest.fixture(scope="module")
def run() -> MutationRun:
    return MutationRun(FEW, "7.1.0", "uint16")


def test_edits_are_drawn_from_lines_that_a_recording_reaches_the_same_for_the_same_seed(run: MutationRun) -> None:
    cases = run.recorded.plan.cases
    first, again = draw(run.recorded, PACKAGES, 20, 1, jobs=1), draw(run.recorded, PACKAGES, 20, 1, jobs=1)
    other = draw(run.recorded, PACKAGES, 20, 2, jobs=1)
    subscribes = code_edit("channel_requests", "delivered += 1 -> pass")
    removes = code_edit("record_requests", "self._store.remove(record) -> pass")

    assert list(first.edits) == list(again.edits) != list(other.edits)
    assert first.reached + first.unreached == len(all_edits(PACKAGES))
    assert first.unreached > 100, "PURGE and WHOAMI reach little"
    assert first.lines.reaching(subscribes) == []
    reaching = [cases[number].id for number in first.lines.reaching(removes)]
    assert reaching
    assert len(reaching) < len(cases)


def test_wrong_code_is_killed_and_code_that_cannot_be_loaded_is_stillborn(
    run: MutationRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_edits, "CPU_SECONDS", 2.0)
    lines = draw(run.recorded, PACKAGES, 1, 1, jobs=1).lines
    edits = [
        code_edit("record_requests", "self._store.remove(record) -> pass"),
        code_edit("session", "self._at = stop -> pass"),
        code_edit("enums", "3 -> 4"),
        code_edit("channels", "0 -> 1"),
    ]

    killed, hangs, stillborn, survived = run_edits(run.recorded, Sample(edits, 4, 0, lines))

    assert (killed.status, killed.case.partition("/")[0]) == (Status.KILLED, "purge")
    assert hangs.status in (Status.HANGS, Status.KILLED)
    assert (stillborn.status, survived.status) == (Status.STILLBORN, Status.SURVIVED)
    assert str(killed.edit).startswith("reference_server/throttr/record_requests.py:")


def test_the_edited_server_stays_edited_and_the_harness_does_not(run: MutationRun) -> None:
    edit = code_edit("session", "self._write(data) -> pass")
    _, recording = run.recorded.recordings[0]
    silent, right = fresh_factory(run.recorded.plan.run, edit), fresh_factory(run.recorded.plan.run, None)

    assert [recording.agrees(silent), recording.agrees(silent), recording.agrees(right)] == [False, False, True]


@pytest.mark.parametrize("protocol", served_protocols())
def test_servers_loaded_anew_answer_as_those_of_the_harness(protocol: str) -> None:
    spoken = registry.protocol(protocol)
    whole = MutationRun(load_suite(protocol), spoken.default_profile, spoken.default_variant, jobs=1)
    run = whole.recorded_cases(whole.recorded.plan.cases[::15])

    factory = fresh_factory(run.plan.run, None)

    assert [case.id for case, recording in run.recordings if not recording.agrees(factory)] == []


def test_the_score_leaves_out_what_is_equivalent_or_stillborn() -> None:
    edits = all_edits(PACKAGES)[:6]
    results = [
        EditResult(edits[0], Status.KILLED, "a/case"),
        EditResult(edits[1], Status.HANGS),
        EditResult(edits[2], Status.STILLBORN),
        *(EditResult(one, Status.SURVIVED) for one in edits[3:]),
    ]
    known = {
        place_of(edits[3]): Explanation(SurvivalReason.EQUIVALENT, "changes nothing"),
        place_of(edits[4]): Explanation(SurvivalReason.ACCEPTED, "no clause"),
    }
    score = EditScore(results, known)

    assert (score.killed, score.counted, score.percent) == (2, 4, 50.0)
    assert [one.edit for one in score.survivors(None)] == [edits[5]]
    assert EditScore([], {}).percent == 100.0


def test_an_explanation_may_hold_under_some_profiles_only() -> None:
    edit = all_edits(PACKAGES)[0]
    survivor = [EditResult(edit, Status.SURVIVED)]
    known = {place_of(edit): Explanation(SurvivalReason.ELSEWHERE, "a rule of the document", ("7.3.2",))}

    assert EditScore(survivor, known, "7.3.2").survivors(None) == []
    assert EditScore(survivor, known, "7.1.0").survivors(None) == survivor


def test_an_explanation_may_be_of_a_statement_or_a_function() -> None:
    edit = all_edits(PACKAGES)[0]
    place = place_of(edit)
    survivor = [EditResult(edit, Status.SURVIVED)]
    reason = Explanation(SurvivalReason.CONFORMING, "no clause")

    for known in (place, place._replace(edit="*"), place._replace(edit="*", statement="*")):
        assert EditScore(survivor, {known: reason}).survivors(None) == []
        assert EditScore(survivor, {known: reason}).explanation(survivor[0]) == reason
        assert stale([known], [edit]) == []
    assert EditScore(survivor, {place._replace(function="other", edit="*"): reason}).survivors(None) == survivor
    assert stale([place._replace(function="other", edit="*")], [edit]) != []


def test_a_survivor_is_printed_with_what_explains_it(run: MutationRun, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = all_edits(PACKAGES)[:2]
    results = [EditResult(one, Status.SURVIVED) for one in edits]
    known = {place_of(edits[0])._replace(edit="*", statement="*"): Explanation(SurvivalReason.CONFORMING, "no clause")}
    monkeypatch.setattr(mutation_edits, "draw", lambda *drawn, **options: Sample(edits, 2, 0, {}))
    monkeypatch.setattr(mutation_edits, "run_edits", lambda *drawn, **options: results)
    monkeypatch.setattr(mutation_edits, "explanations", lambda: known)
    console = Console(file=StringIO(), width=1000)

    mutation_edits.score_edits(run, 2, 1, console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]

    assert f"survives, conforming: {edits[0].file} " in printed
    assert printed.count("(no clause)") == len([one for one in edits if one.edit.function == edits[0].edit.function])


def test_every_explained_edit_exists() -> None:
    everything = [one for name in served_protocols() for one in all_edits(server_packages(name))]

    assert stale(explanations(), everything) == []
    assert {place.file for place in explanations()} <= {one.file for one in everything}
    assert stale([place_of(everything[0])._replace(edit="1 -> 3")], everything) != []


def test_an_edit_that_shows_after_a_restart_only_is_killed_by_a_promise() -> None:
    suite = load_suite("namechan")
    few = replace(suite, cases=tuple(case for case in suite.cases if case.id == "hook/create.BROADCAST.TRANSIENT"))
    run, packages = MutationRun(few, "1", "standard"), server_packages("namechan")
    everything = all_edits(packages)
    wanted = [
        next(one for one in everything if one.edit.function == function and one.edit.text.startswith(text))
        for function, text in (
            ("Store.add_queue", "self._file.execute"),
            ("NamechanClient._accept", "self._is_greeted"),
        )
    ]

    lines = draw(run.recorded, packages, 1, 1, jobs=1).lines
    kept, of_clients = wanted
    (killed,) = run_edits(run.recorded, Sample([kept], 1, 0, lines), jobs=1)

    assert lines.reaching(kept) == []
    assert lines.reached_by_restarts(kept)
    assert not lines.reached_by_restarts(of_clients), "the harness runs it, not the server"
    assert (killed.status, killed.case.partition("/")[0]) == (Status.KILLED, "durability")
