"""Walks that failed are shortened: to the moves without which they pass, in a bounded number of plays."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.test import command
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run import shorter_walks
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.shorter_walks import advanced, searches
from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.walks import walk_of
from wireproof.conformance.verdict.records import Run
from wireproof.reference_server.tmqp.oracle.deliveries import Deliveries

SUITE = load_suite("tmqp")
WALK = next(one for one in SUITE.cases if one.id.startswith("rooms/walk-"))
MOVES = walk_of(WALK).split("; ")


def told(*needed: str, walks: list[Case] | None = None) -> tuple[list[str], int]:
    """Return what is told of walks that fail with all the needed moves, and after how many plays."""
    found: list[str] = []
    plays = 0
    for search in searches(walks or [WALK], SUITE.context):
        tried: Case | None = next(search)
        while tried is not None:
            plays += 1
            fails = bool(needed) and set(needed) <= set(walk_of(tried).split("; "))
            verdict = Verdict.FAIL if fails else Verdict.PASS
            tried = advanced(search, Outcome(verdict, ()), found.append)
    return found, plays


@pytest.mark.parametrize("needed", [MOVES[:1], [MOVES[3], MOVES[9]], MOVES[-2:]])
def test_what_is_left_is_what_it_takes(needed: list[str]) -> None:
    found, plays = told(*needed)

    assert found == [f"{WALK.id} fails with these moves alone: {'; '.join(needed)}"]
    assert plays <= shorter_walks.PLAYS + 1


def test_a_walk_that_passes_when_it_is_played_again_tells_nothing() -> None:
    assert told() == ([], 1)


def test_plays_are_bounded_and_the_shortest_so_far_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shorter_walks, "PLAYS", 2)
    found, plays = told(MOVES[0])

    assert (len(found), plays) == (1, 3)
    assert found[0].endswith(f": {'; '.join(MOVES[: len(MOVES) // 2])}")


def test_a_run_shortens_the_first_walks_alone() -> None:
    walks = [one for one in SUITE.cases if one.id.startswith("rooms/walk-")][:5]

    assert told(walks=walks) == ([], shorter_walks.WALKS)


def test_one_walk_is_shortened_for_each_broken_clause() -> None:
    walks = [one for one in SUITE.cases if one.id.startswith("rooms/walk-")][:3]
    plan = Plan(Run("tmqp", "doc", "standard", "t", "x"), SUITE, walks, Settings())
    for walk, clause in zip(walks, ("TMQP-PUSH-1", "TMQP-PUSH-1", "TMQP-PULL-1"), strict=True):
        plan.settle(walk, Outcome(Verdict.FAIL, (), blamed=clause))

    assert [walk_of(next(search)) for search in plan.searches()] == [walk_of(walks[0]), walk_of(walks[2])]


def test_a_run_tells_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Deliveries, "confirm", lambda *given, **named: None)
    only = ("-k", WALK.id.rpartition("/")[2], "--segmentation", "whole", "--out", str(tmp_path))
    result = CliRunner().invoke(command, ["tmqp", "simulation", *only])

    assert result.exit_code == 1
    assert f"{WALK.id} fails with these moves alone: " in result.stderr
