"""Automatic mutants: every edit is what it says, nothing invisible is edited, and wrong code is found out."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from wireproof.conformance.mutation.mutation_run import Check
from wireproof.conformance.mutation.random_edits import Fate, Mutant, sample, try_mutants
from wireproof.conformance.mutation.source_edits import mutated, mutations
from wireproof.conformance.suite.cases import load_suite

SUITE = load_suite("throttr")
FEW = replace(SUITE, cases=tuple(case for case in SUITE.cases if case.topic in ("purge", "whoami")))


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
    assert [ast.unparse(mutated(source, one)) for one in mutations(source)] == after


@pytest.mark.parametrize(
    "source",
    [
        '"""Words."""', "x: Literal[1]", "@cache(size=1)\ndef f() -> Literal[2]: ...", "class A(B, frozen=True): ...",
        "__all__ = ['a' + 'b']", "raise E(1 + 2)", "log.info(1)", "x = f'{a + b}'",
    ],
)  # fmt: skip
def test_what_nobody_can_see_is_left_alone(source: str) -> None:
    assert [str(one) for one in mutations(source) if "log" not in source] == []
    assert not any(one.after == "pass" for one in mutations(source))


def test_the_same_seed_gives_the_same_mutants() -> None:
    packages = ["wireproof.reference_server.throttr"]

    assert sample(packages, 5, 1) == sample(packages, 5, 1) != sample(packages, 5, 2)
    assert not any("faults" in one.module or "tracing" in one.module for one in sample(packages, 500, 1))


def mutant(module: str, before: str, line_holds: str) -> Mutant:
    from importlib import import_module
    from pathlib import Path

    file = import_module(module).__file__
    assert file is not None
    source = Path(file).read_text(encoding="utf-8")
    lines = source.splitlines()
    found = [one for one in mutations(source) if one.before == before and line_holds in lines[one.line - 1]]
    return Mutant(module, found[0])


def test_wrong_code_is_killed_by_a_case_and_code_no_case_runs_survives() -> None:
    ground = Check(FEW, "7.1.0", "uint16").ground
    purge = mutant("wireproof.reference_server.throttr.record_requests", "self._store.remove(record)", "remove(record)")
    limit = mutant("wireproof.reference_server.throttr.session", "self._pushes.clear()", "clear")

    killed, survived = try_mutants(ground, [purge, limit])

    assert (killed.fate, killed.case.partition("/")[0]) == (Fate.KILLED, "purge")
    assert survived.fate is Fate.SURVIVED
    assert str(killed.mutant).startswith("reference_server/throttr/record_requests.py:")
