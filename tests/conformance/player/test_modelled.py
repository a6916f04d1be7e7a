"""Cases that a model judges which expects answers in any order: what is due must come, and nothing else may."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest

from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run import reference_target
from wireproof.conformance.suite.case_documents import cases_in
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.declared import usual_parameters
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.steps import Step
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import protocol

SUITE = load_suite("tmqp")
PAIRS = [case for case in SUITE.cases if "/pairs-" in case.id]
HELLO = {"perform": {"hello": {}}}
QUEUE = {"perform": {"kept": {"options": {"message": {"QUEUE_OPTIONS": {"Status": "PUSH"}}}}}}
QUEUE_ID = {"name": "Queue-Id", "value": "1"}
PUSHED = {"PRODUCE": {"id": "m1", "pending_ack": 1, "target": "$c", "content_type": 1}}


def played(case: object, mutant: str | None = None, segmentation: str = "whole") -> Outcome:
    """Return the outcome of a case against a reference server, or a mutant of it."""
    symbols = Symbols(
        protocol("tmqp"),
        "doc",
        "standard",
        case=case.id,  # type: ignore[attr-defined]
        namespace="n",
        variables=case.variables,  # type: ignore[attr-defined]
        parameters=usual_parameters("tmqp"),
    )
    made: Mapping[str, str | None] = {"profile": "doc", "variant": "standard", "mutant": mutant}
    server = partial(lambda clock: reference_target.service("tmqp", clock=clock, **made))  # type: ignore[arg-type]
    player = Player(case, symbols, segmentation=SEGMENTATIONS[segmentation])  # type: ignore[arg-type]
    return SimulationDriver(server).play(player)


def case_of(*steps: object) -> object:
    entry = {"id": "x/y", "title": "a case of the model", "clauses": ["TMQP-PRODUCE-1"], "profiles": ["doc"]}
    (case,) = cases_in({"cases": [{**entry, "modelled": True, "steps": list(steps)}]}, SUITE.context, "x")
    return case


@pytest.mark.parametrize("segmentation", ["whole", "bytes", "joined"])
def test_the_reference_server_passes_without_a_word_of_what_must_come(segmentation: str) -> None:
    outcome = played(case_of(HELLO, QUEUE, {"send": {"JOIN": {"target": "$c"}}}, {"send": PUSHED}), None, segmentation)

    assert outcome.verdict is Verdict.PASS


def test_what_is_due_and_does_not_come_fails() -> None:
    outcome = played(case_of(HELLO, QUEUE, {"send": PUSHED}), "never-acknowledged")

    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, "TMQP-CONFIRMATION-1")


def test_what_nothing_explains_fails() -> None:
    outcome = played(case_of(HELLO, QUEUE, {"send": {"JOIN": {"id": "j", "target": "$c"}}}), "always-answered")

    assert outcome.verdict is Verdict.FAIL
    assert "a gets Response(" in str(outcome.got)


def test_what_prepares_a_combination_is_given() -> None:
    (first, *_) = PAIRS
    steps = [step for step in first.steps if isinstance(step, Step)]

    assert steps[0].given
    assert not steps[-1].given
    assert played(first, "welcome-twice").verdict is Verdict.UNTESTABLE


def test_combinations_need_features() -> None:
    assert {case.needs for case in PAIRS} == {("admin", "deliveries"), ("admin",), ()}


@pytest.mark.parametrize("mutant", ["acknowledgements-stay", "copies-lost", "clear-always-all", "stopped-keeps"])
def test_combinations_find_wrong_servers(mutant: str) -> None:
    assert any(played(case, mutant).verdict is Verdict.FAIL for case in PAIRS)


@pytest.mark.parametrize(
    ("request_", "mutant"),
    [
        ("delete-queue", "deleted-queue-stays"),
        ("delete-channel", "deleted-channel-stays"),
        ("list-channels", "filter-ignored"),
        ("list-clients", "types-not-filtered"),
        ("list-queues", "join-creates"),
        ("respond", "response-from-the-server"),
        ("route", "absent-router-ok"),
        ("expire", "never-expires"),
        ("miss", "waits-for-ever"),
    ],
)
def test_combinations_of_a_request_find_servers_that_get_it_wrong(request_: str, mutant: str) -> None:
    cases = [case for case in PAIRS if case.id.startswith(f"{request_}/")]

    assert {played(case).verdict for case in cases} == {Verdict.PASS}
    assert Verdict.FAIL in {played(case, mutant).verdict for case in cases}


def test_a_router_that_the_target_may_have_is_not_judged() -> None:
    routed = {"id": "r", "pending_response": 1, "target": "wireproof-distribute"}

    assert played(case_of(HELLO, {"send": {"ROUTE": routed}})).verdict is Verdict.PASS
    wrong = played(case_of(HELLO, {"send": {"ROUTE": {**routed, "target": "$r"}}}), "absent-router-ok")
    assert wrong.verdict is Verdict.FAIL


def test_a_connection_to_another_listener_is_what_that_listener_serves() -> None:
    listed = {"payload": {"reads_as": {"NODE_LIST": {"rows": {"count": 1}}}}}
    ask = {"send": {"LIST_NODES": {"id": "l", "pending_response": 1}}, "expect": {"RESPONSE": {"id": "l", **listed}}}
    steps = ({"connect": {"name": "n", "listener": "nodes"}}, {"perform": {"session": {"as": "n"}}})
    entry = {"id": "x/y", "title": "a slave is a node", "clauses": ["TMQP-NODE-1"], "profiles": ["doc"]}
    case, alone = cases_in(
        {
            "cases": [
                {**entry, "steps": [*steps, {"perform": {"session": {"as": "b", "id": "$b"}}}, {**ask, "on": "b"}]},
                {**entry, "id": "x/z", "steps": [{"perform": {"session": {"as": "b"}}}, {**ask, "on": "b"}]},
            ]
        },
        SUITE.context,
        "x",
    )

    assert played(case).verdict is Verdict.PASS
    assert played(alone).verdict is Verdict.FAIL


def test_what_happened_in_a_queue_is_counted() -> None:
    """QUEUE_INFO was compared by what a queue stores alone: no combination saw a wrong count."""
    told = {"QUEUE_INFO": {"id": "i", "pending_response": 1, "target": "$c", "headers": [QUEUE_ID]}}
    pull = {"PULL": {"id": "p", "target": "$c", "content_type": 1, "headers": [{"name": "Count", "value": "1"}]}}
    pulls = {"perform": {"kept": {"options": {"message": {"QUEUE_OPTIONS": {"Status": "PULL"}}}}}}
    asked = case_of(HELLO, pulls, {"send": [{"JOIN": {"target": "$c"}}, PUSHED, pull]}, {"send": told})

    assert played(asked).verdict is Verdict.PASS
    outcome = played(asked, "pulled-not-counted")
    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, "TMQP-QUEUE_INFO-5")


@pytest.mark.parametrize(
    ("walk", "mutant"),
    [
        ("rooms/walk-0602aa64", "acknowledged-as-pushed"),
        ("rooms/walk-e6e44f65", "update-turns-anew"),
        ("rooms/walk-23900cca", "stored-takes-a-turn"),
    ],
)
@pytest.mark.parametrize("segmentation", ["whole", "fields", "joined"])
def test_a_walk_finds_what_no_other_case_does(walk: str, mutant: str, segmentation: str) -> None:
    case = next(one for one in SUITE.cases if one.id == walk)

    assert played(case, None, segmentation).verdict is Verdict.PASS
    assert played(case, mutant, segmentation).verdict is Verdict.FAIL
