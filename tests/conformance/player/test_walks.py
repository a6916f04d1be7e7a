"""Walks that a model judges: what is due is taken after each move, and a datagram without an answer is judged, too."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest

from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run import reference_target
from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.case_documents import cases_in
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.declared import usual_parameters
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import protocol


def played(name: str, case: Case, mutant: str | None = None, segmentation: str = "whole") -> Outcome:
    """Return the outcome of a case under profile 1, against the reference server or a mutant of it."""
    symbols = Symbols(
        protocol(name),
        "1",
        "standard",
        case=case.id,
        namespace="n",
        variables=case.variables,
        parameters=usual_parameters(name),
    )
    made: Mapping[str, str | None] = {"profile": "1", "variant": "standard", "mutant": mutant}
    server = partial(lambda clock: reference_target.service(name, clock=clock, **made))  # type: ignore[arg-type]
    return SimulationDriver(server).play(Player(case, symbols, segmentation=SEGMENTATIONS[segmentation]))


def walk_of(*steps: object) -> Case:
    entry = {"id": "x/walk-y", "title": "a walk: of some moves", "clauses": ["PSRT-MESSAGE-9"], "modelled": True}
    (case,) = cases_in({"cases": [{**entry, "steps": list(steps)}]}, load_suite("psrt").context, "x")
    return case


@pytest.mark.parametrize(
    ("name", "walk", "mutant", "clause"),
    [
        ("psrt", "sessions/walk-a69b7746", "text-ends-the-plus", "PSRT-UNSUBSCRIBE-11"),
        ("psrt", "rights/walk-3df633d6", "denied-takes-back", "PSRT-SUBSCRIBE-14"),
        ("psrt", "rights/walk-1de09add", "too-deep-takes-back", "PSRT-SUBSCRIBE-14"),
    ],
)
@pytest.mark.parametrize("segmentation", ["whole", "fields", "joined"])
def test_a_walk_finds_what_is_lost_between_rules(
    name: str, walk: str, mutant: str, clause: str, segmentation: str
) -> None:
    case = next(one for one in load_suite(name).cases if one.id == walk)

    assert played(name, case, None, segmentation).verdict is Verdict.PASS
    outcome = played(name, case, mutant, segmentation)
    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, clause)


SUBSCRIBED = {"send": {"SUBSCRIBE": {"topics": "$t"}}, "expect": "any"}
PUBLISHED = {"send": {"PUBLISH": {"priority": 1, "topic": "$t", "message": "m"}}, "expect": "any"}


def test_what_a_move_loses_fails_at_that_move() -> None:
    lost = walk_of({"perform": "both"}, SUBSCRIBED, PUBLISHED, {"close": "d"}, {"send": "NOP", "expect": "any"})
    assert played("psrt", lost).verdict is Verdict.PASS

    outcome = played("psrt", lost, "publish-not-to-oneself")
    assert (outcome.verdict, outcome.step) == (Verdict.FAIL, 6)


def test_a_datagram_that_is_not_answered_is_published() -> None:
    sent = {"version": 1, "encryption": "PLAIN", "login": "", "password": "", "priority": 1, "topic": "$t"}
    quiet = {"DATAGRAM": {**sent, "op": "PUBLISH_NO_ACK", "message": "m"}}
    begin: tuple[object, ...] = ({"perform": "both"}, SUBSCRIBED, {"connect": {"name": "u", "link": "datagram"}})
    walk = walk_of(*begin, {"send": quiet, "on": "u"}, {"silent": "u"})
    assert played("psrt", walk).verdict is Verdict.PASS

    assert played("psrt", walk, "datagram-no-ack-dropped").verdict is Verdict.FAIL
