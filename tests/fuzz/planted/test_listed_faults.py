"""Faults that somebody wrote down: each place is there, each is planted alone, and all engines may look for each."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.fuzz.planted.outcomes import with_outcomes
from wireproof.fuzz.commands.group import command as group
from wireproof.fuzz.planted.drawn_faults import PlantedFault, Slip
from wireproof.fuzz.planted.engine_runs import RunStatus, engines_for
from wireproof.fuzz.planted.listed_faults import LISTS, listed_faults, replaced
from wireproof.fuzz.planted.planting import FaultResult
from wireproof.fuzz.planted.workbench import Workbench

ROOT = Path(__file__).parents[3]
ALL = ("namechan", "psrt", "throttr", "tmqp")


def slips() -> list[Slip]:
    return [one.slip for file in LISTS for one in listed_faults(file) if one.slip is not None]


@pytest.mark.parametrize("slip", slips(), ids=lambda one: one.name)
def test_the_place_of_a_listed_fault_is_still_there_and_the_fault_is_python(slip: Slip) -> None:
    ast.parse(replaced(slip, (ROOT / slip.file).read_text(encoding="utf-8")))


def test_a_place_that_has_changed_is_refused() -> None:
    with pytest.raises(ValueError, match="gone: expected once in"):
        replaced(Slip("gone", "a.py", "old", "new"), "other")


def test_names_of_listed_faults_differ_and_engines_look_for_each() -> None:
    faults = [one for file in LISTS for one in listed_faults(file)]

    assert len({one.name for one in faults}) == len(faults)
    assert all(engines_for(one, ALL) for one in faults)


def test_a_listed_fault_is_in_the_copy_and_never_here(tmp_path: Path) -> None:
    fault = next(one for one in listed_faults(LISTS[0]) if one.slip is not None)
    slip = fault.slip
    assert slip is not None
    bench = Workbench(tmp_path / "copy")

    bench.plant(fault)
    planted = next((tmp_path / "copy").rglob(slip.file))
    assert (slip.new in planted.read_text(), slip.new in (ROOT / slip.file).read_text()) == (True, False)
    bench.restore()
    assert slip.old in planted.read_text()


def written(folder: Path, more: str = "") -> Path:
    file = folder / "faults.yaml"
    text = "- {name: slow, part: scheduler, file: reference_server/scheduler.py, what: It is slow., "
    file.write_text(f"{text}old: 'SPAN_BITS = 10', new: 'SPAN_BITS = 4'{more}}}\n", encoding="utf-8")
    return file


def test_the_page_has_a_row_for_each_fault_and_a_column_for_each_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    some = [RunStatus.FOUND, RunStatus.QUIET, RunStatus.HUNG, RunStatus.QUIET, RunStatus.FOUND]
    with_outcomes(monkeypatch, iter(some))
    page = tmp_path / "page.md"
    given = ["planted", "--protocol", "throttr", "--faults", str(written(tmp_path)), "--every-engine", "--no-control"]

    result = CliRunner().invoke(group, [*given, "--markdown", str(page)])

    assert result.exit_code == 0, result.output
    assert "1 of 1 faults found" in result.output
    text = page.read_text()
    assert "| fault | part | scheduler | store | machine | server | diff |" in text
    assert "| slow | scheduler | 5 | no | hung | no | 5 |" in text
    assert f"listed in `{tmp_path / 'faults.yaml'}`" in text


def test_an_explained_fault_does_not_count_unless_it_is_found(tmp_path: Path) -> None:
    file = written(tmp_path, ", explained: {kind: conforming, why: Nobody promised to be quick.}")
    (fault,) = listed_faults(file)

    assert not FaultResult(1, fault).counts
    assert FaultResult(1, PlantedFault("scheduler", "", slip=Slip("slow", "", "", ""))).counts


def test_a_file_that_holds_no_list_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text("- {name: a}\n", encoding="utf-8")

    with pytest.raises(ValueError, match="expected a list of faults"):
        listed_faults(file)
    result = CliRunner().invoke(group, ["planted", "--faults", str(file), "--no-control"])
    assert result.exit_code == 2, result.output
