"""Planted faults: drawn by a seed, planted in a copy that processes use, looked for, and shown found or not found."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.fuzz.planted.outcomes import with_outcomes
from wireproof.conformance.mutation.edit_score import explanations
from wireproof.fuzz.commands.group import command as group
from wireproof.fuzz.planted import planting
from wireproof.fuzz.planted.drawn_faults import PlantedFault, drawn_faults, parts_of
from wireproof.fuzz.planted.engine_runs import EngineRun, EngineRuns, PlantedEngine, RunStatus, engines_for
from wireproof.fuzz.planted.planting import TABLE, FaultResult
from wireproof.fuzz.planted.workbench import Workbench

BOTH = ("throttr", "psrt")


def some(seed: int, number: int = 24) -> list[PlantedFault]:
    return list(islice(drawn_faults(BOTH, seed), number))


def test_a_seed_draws_the_same_faults_and_another_one_others() -> None:
    assert some(3) == some(3)
    assert some(3) != some(4)


def test_every_part_has_its_turn() -> None:
    parts = parts_of(BOTH)

    assert {one.part for one in some(5, len(parts))} == set(parts)


def test_no_fault_is_drawn_twice() -> None:
    found = some(6, 400)

    assert len(found) == len(set(found))


def test_every_fault_has_an_engine_that_looks_for_it() -> None:
    assert all(engines_for(one, BOTH) for one in some(7, 60))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    return Workbench(tmp_path_factory.mktemp("bench") / "copy")


def printed(bench: Workbench, program: str) -> str:
    command = [sys.executable, "-P", "-c", program]
    return subprocess.run(command, env=bench.environment, capture_output=True, text=True, check=True).stdout.strip()


def test_a_fault_is_in_the_copy_until_the_next_one_and_never_here(bench: Workbench) -> None:
    (edit,) = (
        one
        for one in parts_of(BOTH)["scheduler"]()
        if (one.edit is not None and one.edit.edit.text == "SPAN_BITS = 10 -> SPAN_BITS = 11")
        or (one.edit is not None and one.edit.edit.text == "10 -> 11" and one.edit.edit.statement == "SPAN_BITS = 10")
    )
    ask = "from wireproof.reference_server import scheduler; print(scheduler.SPAN_BITS)"

    bench.plant(edit)
    assert printed(bench, ask) == "11"
    bench.restore()
    assert printed(bench, ask) == "10"


def test_a_mutant_is_served_by_everything_in_the_copy(bench: Workbench) -> None:
    ask = (
        "from wireproof.fuzz.server_transports import InProcess\n"
        "from wireproof.fuzz.live.context import FuzzContext\n"
        "from wireproof.conformance.model.actions import Open, Read, Write\n"
        "from wireproof.protocols.throttr.requests import Insert, Query\n"
        "made, context = InProcess('throttr', '7.3.2', 'uint16'), FuzzContext('throttr', '7.3.2', 'uint16')\n"
        "asked = Insert(quota=700, ttl_type=4, ttl=60, key=b'k'), Query(key=b'k')\n"
        "made.perform(Open('a')); made.perform(Write('a', b''.join(map(context.encode, asked))))\n"
        "print(made.perform(Read('a', 1.0)).data.hex())"
    )
    (fault,) = (one for one in parts_of(BOTH)["throttr mutants"]() if one.mutant == "quota-low-byte")

    bench.restore()
    right = printed(bench, ask)
    bench.plant(fault)
    assert printed(bench, ask) != right
    bench.restore()


def test_an_edit_that_makes_no_server_is_reported(bench: Workbench) -> None:
    (edit,) = islice(
        (
            one
            for one in parts_of(BOTH)["scheduler"]()
            if one.edit is not None
            and one.edit.edit.text.startswith("min(tick_ns, slice_ns, slice_items) < 1 -> min")
            and one.edit.edit.function == "Scheduler.__init__"
        ),
        1,
    )

    bench.plant(edit)
    assert bench.makes_servers(["throttr"])  # <= 1 is refused where a limit is 1, which no server uses
    bench.restore()
    assert bench.makes_servers(["throttr"])


def endless(status: RunStatus) -> Iterator[RunStatus]:
    while True:
        yield status


def test_the_page_shows_what_is_found_and_what_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(planting, "explanation_of", lambda fault: None)
    with_outcomes(monkeypatch, iter([RunStatus.FOUND, *[RunStatus.QUIET] * 9]))
    page, kept = tmp_path / "page.md", tmp_path / "kept.json"
    given = ["planted", "--protocol", "throttr", "--seed", "3", "--number", "2", "--part", "scheduler", "--no-control"]

    result = CliRunner().invoke(group, [*given, "--markdown", str(page), "--out", str(kept), "--minimum-share", "60"])

    assert result.exit_code == 1, result.output
    assert "1 of 2 faults found, 50.0 %" in result.output
    text = page.read_text()
    named = "--protocol throttr --seed 3 --number 2 --time 20 --part scheduler --minimum-share 60 --no-control"
    assert f"`wireproof fuzz planted {named}`" in text
    assert "At least 60 % must be: they are not." in text
    assert "| scheduler | 1 of 2 | 1 of 2 (5) | 0 of 1 |" in text
    assert r"a\|detail" in text
    assert text.endswith("## Without a fault\n\nThe engines were not run on the code without a fault.\n")
    document = json.loads(kept.read_text())
    assert (document["found"], document["counted"]) == (1, 2)


def test_the_page_tells_each_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(planting, "explanation_of", lambda fault: None)
    with_outcomes(monkeypatch, iter([RunStatus.FOUND, *[RunStatus.QUIET] * 9]))
    page = tmp_path / "page.md"
    given = ["--protocol", "throttr", "--seed", "3", "--seed", "4", "--number", "1", "--part", "scheduler"]

    CliRunner().invoke(group, ["planted", *given, "--no-control", "--markdown", str(page)])

    assert "By seed: 1 of 1 (seed 3), 0 of 1 (seed 4)." in page.read_text()


def test_what_is_found_without_a_fault_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    with_outcomes(monkeypatch, endless(RunStatus.FOUND))

    result = CliRunner().invoke(group, ["planted", "--protocol", "throttr", "--number", "1", "--part", "scheduler"])

    assert result.exit_code == 1
    assert "without a fault, scheduler throttr found" in result.output


def test_an_explained_fault_that_is_not_found_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    (known,) = islice(((place, why) for place, why in explanations().items() if why.kind == "equivalent"), 1)
    monkeypatch.setattr(planting, "explanation_of", lambda fault: known[1])
    fault = some(3, 1)[0]

    assert not FaultResult(3, fault, [EngineRun(PlantedEngine("parser", ""), RunStatus.QUIET, 0, 1.0, "")]).counts
    assert FaultResult(3, fault, [EngineRun(PlantedEngine("parser", ""), RunStatus.FOUND, 7, 1.0, "")]).counts
    assert not FaultResult(3, fault, starts=False).counts


def test_every_explained_fault_is_still_an_edit() -> None:
    there = {
        (one.edit.file, one.edit.edit.function)
        for faults in parts_of((*BOTH, "tmqp")).values()
        for one in faults()
        if one.edit is not None
    }

    assert [place for place in explanations(TABLE) if (place.file, place.function) not in there] == []


@pytest.mark.nightly
def test_a_real_fault_is_found_by_a_real_command(bench: Workbench, tmp_path: Path) -> None:
    (fault,) = islice(
        (
            one
            for one in parts_of(BOTH)["scheduler"]()
            if (one.edit is not None and one.edit.edit.text == "bucket[item] = None -> pass")
            or (one.edit is not None and one.edit.edit.text == "item.due = when_ns -> pass")
        ),
        1,
    )
    bench.plant(fault)
    found = EngineRuns(bench, 10, 1).run(PlantedEngine("scheduler", "throttr"))

    assert (found.status, found.executions > 0) == (RunStatus.FOUND, True)
    bench.restore()
