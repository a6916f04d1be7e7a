"""Subsumption: whatever kills one mutant kills the other, in every matrix that has both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.mutation import command
from wireproof.conformance.mutation.subsumption import MatrixFileError, read_matrices, subsumed, subsumption


def kills(**plays: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(some.split()) for name, some in plays.items()}


def test_a_mutant_is_subsumed_by_one_that_fewer_plays_kill() -> None:
    assert subsumed(kills(easy="a b c", hard="b", apart="d")) == {"easy": {"hard"}}


def test_of_mutants_killed_alike_the_first_stands_for_all_and_survivors_subsume_nothing() -> None:
    assert subsumed(kills(one="a", two="a", survivor="", three="a")) == {"two": {"one"}, "three": {"one", "two"}}


def test_what_is_subsumed_in_one_matrix_only_is_not_subsumed() -> None:
    found = subsumption([kills(easy="a b", hard="b", also="b"), kills(easy="a b", hard="c", also="b")])

    assert found.subsumed == {"easy": "also"}
    assert found.mutants == 3
    assert found.by_one_case == ["also"]


def document(profile: str, **plays: list[str]) -> str:
    faults = [
        {"name": name, "legal": name == "legal", "kills": [{"case": case, "deliveries": []} for case in some]}
        for name, some in plays.items()
    ]
    return json.dumps({"protocol": "throttr", "profile": profile, "variant": "uint8", "faults": faults})


def test_the_command_reads_all_matrices_below_a_folder(tmp_path: Path) -> None:
    for profile in ("1", "2"):
        (tmp_path / profile).mkdir()
        text = document(profile, easy=["a", "b"], hard=["b"], legal=[])
        (tmp_path / profile / "kill-matrix.json").write_text(text)
    done = CliRunner().invoke(command, ["throttr", "--subsumption", str(tmp_path)])

    assert done.exit_code == 0
    assert "throttr 1 uint8: 2 mutants, 1 subsumed here, 1 (50.0%) killed by exactly one play" in done.output
    assert "subsumed: easy (by hard)" in done.output
    assert "2 kill matrices, 2 mutants: 1 subsumed in each; 1 (50.0%) killed by exactly one case" in done.output


@pytest.mark.parametrize("text", [None, "{half", "[]", '{"protocol": "throttr"}', document("1").replace("thr", "x")])
def test_a_folder_without_a_matrix_is_an_error(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "kill-matrix.json").write_text(text)

    with pytest.raises(MatrixFileError, match=r"kill-matrix\.json"):
        read_matrices([tmp_path], "throttr")
    assert CliRunner().invoke(command, ["throttr", "--subsumption", str(tmp_path)]).exit_code == 2
