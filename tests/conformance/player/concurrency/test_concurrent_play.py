"""The verb `concurrent`: what it writes and when, what it makes of the answers, and the same verdict again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import jsonschema_rs
import pytest

from tests.conformance.scripted import ScriptedTarget, make_case, make_symbols
from wireproof.conformance.drivers.replay import ReplayDriver, trace_of
from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.concurrency import HISTORY
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.documents import vectors_root
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.verdict.records import Run, record
from wireproof.mutants.registry import server_patch
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import seeded_ids

CHANGE = {"UPDATE": {"key": "$k{key}", "attribute": "quota", "change": "decrease", "value": "v"}}
ASK = {"QUERY": {"key": "$k{key}"}}
SPEC: dict[str, Any] = {
    "connections": 4, "requests": 20, "depth": 4, "keys": 2, "seed": 1,
    "blame": {"in_turn": "THR-CONCURRENCY-2", "seen": "THR-CONCURRENCY-3"}, "draw": {"v": {"between": [1, 3]}},
    "begin": [{"INSERT": {"key": "$k{key}", "quota": 200, "ttl_type": "hours", "ttl": 90}}],
    "of": [{"times": 2, "of": CHANGE}, ASK], "end": [ASK],
}  # fmt: skip


def player(spec: Mapping[str, Any], profile: str = "7.1.0", segmentation: str = "whole") -> Player:
    case = make_case({"concurrent": spec}, clauses=("THR-CONCURRENCY-1",))
    return Player(case, make_symbols(profile), segmentation=SEGMENTATIONS[segmentation], timeout=2.0)


def played(mutant: str | None = None, profile: str = "7.1.0", segmentation: str = "whole", **changes: Any) -> Outcome:
    def service(clock: Any) -> Any:
        ids = seeded_ids(1)
        return create_service(
            "throttr", profile=profile, variant="uint16", clock=clock, ids=ids, patch=server_patch("throttr", mutant)
        )

    return SimulationDriver(service).play(player({**SPEC, **changes}, profile, segmentation))


def kinds(trace: Trace, kind: Kind) -> list[tuple[int, str]]:
    return [(at, event.connection) for at, event in enumerate(trace) if event.kind is kind]


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
@pytest.mark.parametrize("flow", ["waves", "stream"])
@pytest.mark.parametrize("segmentation", ["whole", "bytes", "joined"])
def test_a_right_server_passes_and_the_record_says_how_much_was_shown(
    flow: str, profile: str, segmentation: str
) -> None:
    outcome = played(flow=flow, profile=profile, segmentation=segmentation)

    assert outcome.verdict is Verdict.PASS
    assert outcome.extra[HISTORY].startswith("linearizable: 90 operations on 2 keys, ")


@pytest.mark.parametrize("flow", ["waves", "stream"])
def test_the_same_case_asks_the_same(flow: str) -> None:
    assert played(flow=flow).trace == played(flow=flow).trace
    assert played(flow=flow).trace != played(flow=flow, seed=2).trace


@pytest.mark.parametrize("flow", ["waves", "stream"])
def test_every_connection_is_written_to_before_an_answer_is_read(flow: str) -> None:
    trace = played(flow=flow, begin=[], end=[], of=[ASK], requests=4, keys=1).trace
    alone = 4 + 2 * 4
    first_read = next(at for at, _ in kinds(trace, Kind.RECEIVED) if at > alone)

    assert {name for at, name in kinds(trace, Kind.SENT) if alone <= at < first_read} == {"p1", "p2", "p3", "p4"}


def test_waves_are_read_to_their_end_and_a_stream_goes_on_before() -> None:
    def turns(flow: str) -> list[tuple[set[str], set[str]]]:
        trace = played(flow=flow, begin=[], end=[], of=[ASK], keys=1).trace
        moves = [event for event in trace if event.kind in (Kind.SENT, Kind.RECEIVED)]
        turns = [list(turn) for _, turn in groupby(moves, key=lambda event: event.kind)]
        detail = [{event.connection for event in turn} for turn in turns]
        return list(zip(detail[::2], detail[1::2], strict=True))

    assert all(written == read for written, read in turns("waves"))
    assert not all(written == read for written, read in turns("stream"))


def test_a_wrong_server_fails_with_the_shrunk_history_and_the_broken_clause() -> None:
    outcome = played("update-overtaken")
    story = outcome.extra[HISTORY].splitlines()

    assert (outcome.verdict, outcome.guilty, outcome.blamed) == (Verdict.FAIL, Guilty.TARGET, "THR-CONCURRENCY-2")
    assert outcome.byte is None
    assert outcome.expected == "one order of all operations on each key that explains every answer"
    assert story[0] == outcome.got
    assert any(line.startswith("> p") for line in story)
    assert any(line.startswith("  then cannot come #") for line in story)


def test_a_server_that_is_wrong_one_after_another_is_not_judged_here() -> None:
    begin = [{"INSERT": {"key": "$k{key}", "quota": 300, "ttl_type": "hours", "ttl": 90}}]
    outcome = played("quota-low-byte", begin=begin)

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.NOBODY)
    assert outcome.expected == "right answers to requests asked one after another"
    assert "quota=41" in (outcome.got or "")


NOTHING_SHOWN: dict[str, dict[str, Any]] = {
    "one connection": {"connections": 1},
    "refusals only": {"begin": []},
    "readings only": {"of": [ASK]},
}


@pytest.mark.parametrize("name", NOTHING_SHOWN)
def test_what_could_show_nothing_is_vacuous_and_never_passes(name: str) -> None:
    outcome = played(**NOTHING_SHOWN[name])

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.NOBODY)
    assert (outcome.got or "").startswith("vacuous: ")


def test_a_search_that_does_not_end_is_unknown_and_nobodys_fault() -> None:
    outcome = played(limit=30)

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.NOBODY)
    assert (outcome.got or "").startswith("unknown: ")


@pytest.mark.parametrize("flow", ["waves", "stream"])
@pytest.mark.parametrize("mutant", [None, "update-overtaken", "update-answered-first", "decrease-loses-updates"])
def test_a_recorded_play_is_judged_the_same_again(mutant: str | None, flow: str) -> None:
    lived = played(mutant, flow=flow)
    again = ReplayDriver(lived.trace).play(player({**SPEC, "flow": flow}))

    assert (again, again.extra[HISTORY]) == (lived, lived.extra[HISTORY])
    assert mutant is not None or lived.verdict is Verdict.PASS
    assert mutant in (None, "update-answered-first") or lived.verdict is Verdict.FAIL


def test_the_record_holds_the_drawing_and_alone_is_enough_to_judge_again() -> None:
    schema = json.loads((vectors_root().parent / "reports/schema/record.schema.json").read_text("utf-8"))
    run = Run("throttr", "7.1.0", "uint16", "tcp://h:1", "x")
    case = make_case({"concurrent": SPEC}, clauses=("THR-CONCURRENCY-1",))
    lived = played("decrease-loses-updates")
    line = record(run, load_suite("throttr"), case, lived, duration_us=1)
    kept = json.loads(json.dumps(line))
    again = ReplayDriver(trace_of(kept)).play(player(SPEC))

    jsonschema_rs.Draft202012Validator(schema).validate(kept)
    assert kept["extra"][HISTORY] == lived.extra[HISTORY]
    assert (again.verdict, again.got, again.blamed) == (lived.verdict, lived.got, lived.blamed)


QUERIES: dict[str, Any] = {**SPEC, "begin": [], "end": [], "of": [ASK], "requests": 2, "connections": 2, "keys": 1}


def test_a_target_that_closes_is_failed_for_that_unless_what_it_printed_is_worse() -> None:
    closing = ScriptedTarget({"p1": [b"\0", b"\0", b"\0", Kind.ENDED], "p2": [b"\0\0"]})
    outcome = closing.play(player(QUERIES))

    assert outcome.verdict is Verdict.FAIL
    assert outcome.got == "the target closed the connection (ended)"

    lying = ScriptedTarget({"p1": [b"\0", b"\0", bytes.fromhex("010700063b00"), Kind.ENDED], "p2": [b"\0\0"]})
    outcome = lying.play(player(QUERIES))

    assert outcome.verdict is Verdict.FAIL
    assert (outcome.got or "").startswith("not linearizable: ")


def test_a_target_that_never_answers_hangs() -> None:
    outcome = ScriptedTarget({"p1": [b"\0", b"\0"]}).play(player(QUERIES))

    assert outcome.verdict is Verdict.HANG


def test_pushes_are_set_aside() -> None:
    push = bytes.fromhex("03 0100 70")
    target = ScriptedTarget({"p1": [b"\0", b"\0", push + b"\0", b"\0"], "p2": [b"\0" + push + b"\0"]})
    outcome = target.play(player(QUERIES))

    assert (outcome.got or "").startswith("vacuous: ")


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"connections": 0}, "concurrent.connections: expected 1 to 64, got 0"),
        ({"of": [{"PUBLISH": {"channel": "c", "payload": "p"}}]}, "expected a request about one record"),
        ({"of": [{"QUERY": {"name": "x"}}]}, "QUERY has no field name"),
    ],
)
def test_a_case_that_asks_what_cannot_be_judged_is_the_harness_fault(changes: dict[str, Any], detail: str) -> None:
    outcome = played(**changes)

    assert outcome.verdict is Verdict.HARNESS_ERROR
    assert detail in (outcome.got or "")
