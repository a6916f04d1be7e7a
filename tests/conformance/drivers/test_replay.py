"""Verdicts are a pure function of case and trace: simulation repeats itself, and a recorded trace gives its verdict."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from tests.conformance.scripted import ASK, INSERT, ScriptedTarget, make_case, make_symbols
from wireproof.conformance.drivers.replay import ReplayDriver, ReplayError, trace_of
from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.actions import Answer, Sleep
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.connections import CaseConnections
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.verdict.records import Run, record
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import seeded_ids

SUITE = load_suite("throttr")
SPOKEN = [("7.1.0", "uint8"), ("7.3.2", "uint64")]
SHORT = ("query/", "publish/", "expiry/", "framing/", "channels/")


def player(case: Case, profile: str = "7.1.0", variant: str = "uint16", **changes: Any) -> Player:
    symbols = make_symbols(profile, variant, case=case.id, **case.variables)
    return Player(case, symbols, **{"segmentation": SEGMENTATIONS["whole"], "timeout": 2.0, **changes})


def simulate(case: Case, profile: str, variant: str) -> Outcome:
    def service(clock: Any) -> Any:
        return create_service("throttr", profile=profile, variant=variant, clock=clock, ids=seeded_ids(1))

    return SimulationDriver(service).play(player(case, profile, variant))


def some_cases(profile: str, variant: str) -> list[Case]:
    return [case for case in applicable(SUITE, profile, variant) if case.id.startswith(SHORT) and not case.slow][::5]


@pytest.mark.parametrize(("profile", "variant"), SPOKEN)
def test_simulation_is_the_same_each_time(profile: str, variant: str) -> None:
    for case in some_cases(profile, variant):
        first, second = simulate(case, profile, variant), simulate(case, profile, variant)

        assert first == second
        assert len(first.trace) > 2


@pytest.mark.parametrize(("profile", "variant"), SPOKEN)
def test_a_recorded_case_is_judged_the_same_again(profile: str, variant: str) -> None:
    for case in some_cases(profile, variant):
        lived = simulate(case, profile, variant)

        assert ReplayDriver(lived.trace).play(player(case, profile, variant)) == lived


@pytest.mark.parametrize("before", [0.032, 0.157])
def test_silence_ends_in_whole_microseconds_whenever_it_begins(before: float) -> None:
    case = make_case({"connect": "a"}, {"wait": before}, {"observe": {"silent": 0.25}, "on": "a"})
    outcome = simulate(case, "7.1.0", "uint16")

    assert outcome.observed == "silent"
    assert [event.at_us for event in outcome.trace if event.kind is Kind.SILENT] == [round(before * 1e6) + 250_000]


LATE = ({"mark": "m"}, {"wait_until": {"mark": "m", "plus": 1.0, "latest": 1.2}}, {"send": ASK, "expect": "ok"})
ENDINGS: Mapping[str, Callable[[], tuple[Case, ScriptedTarget]]] = {
    "pass": lambda: (make_case({"send": ASK, "expect": "refused"}), ScriptedTarget({"a": [b"\0"]})),
    "fail": lambda: (make_case({"send": INSERT, "expect": "ok"}), ScriptedTarget({"a": [b"\0"]})),
    "extra": lambda: (make_case({"send": INSERT, "expect": "ok"}), ScriptedTarget({"a": [b"\1", b"\1"]})),
    "garbage": lambda: (make_case({"send": ASK, "expect": "refused"}), ScriptedTarget({"a": [b"\7"]})),
    "hang": lambda: (make_case({"send": ASK, "expect": "refused"}), ScriptedTarget()),
    "reset": lambda: (make_case({"send": ASK, "expect": "refused"}), ScriptedTarget({"a": [Kind.RESET]})),
    "crash": lambda: (make_case({"send": ASK, "expect": "refused"}), ScriptedTarget({"a": [Kind.RESET]}, takes=1)),
    "late": lambda: (make_case(*LATE), ScriptedTarget({"a": [b"\0"]}, lag=0.3)),
    "broken": lambda: (make_case({"send": ASK}, {"send": "X"}), ScriptedTarget()),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_is_judged_the_same_again(ending: str) -> None:
    case, target = ENDINGS[ending]()
    lived = target.play(player(case))

    assert ReplayDriver(lived.trace).play(player(case)) == lived


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_record_alone_is_enough_to_judge_again(ending: str) -> None:
    case, target = ENDINGS[ending]()
    lived = target.play(player(case))
    run = Run("throttr", "7.1.0", "uint16", "tcp://h:1", "x")
    kept = msgspec.json.decode(msgspec.json.encode(record(run, SUITE, case, lived, duration_us=1)))
    again = ReplayDriver(trace_of(kept)).play(player(case))

    assert (again.verdict, again.step, again.byte) == (kept["verdict"], kept["step"], kept["byte"])
    assert (again.expected, again.got) == (kept["expected"], kept["got"])


def test_a_record_of_long_padding_is_enough_to_judge_again() -> None:
    case = make_case({"send": {"raw": {"fill": 1, "size": 5000}}})
    lived = ScriptedTarget().play(player(case))
    kept = record(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, case, lived, duration_us=1)
    again = ReplayDriver(trace_of(json.loads(json.dumps(kept)))).play(player(case))

    assert (again.verdict, again.step, again.got) == (lived.verdict, lived.step, lived.got)
    assert [len(one["hex"]) for one in kept["exchange"] if one["text"] == "5000 bytes, 4096 shown"] == [8192]


def test_a_record_that_was_cut_is_refused() -> None:
    case = make_case({"send": {"raw": {"fill": 1, "size": 5000}}})
    lived = ScriptedTarget().play(player(case))
    kept = record(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, case, lived, duration_us=1)
    del next(one for one in kept["exchange"] if "zlib" in one)["zlib"]

    with pytest.raises(ReplayError, match="5000 bytes, 4096 shown"):
        trace_of(kept)


def test_a_record_of_too_many_events_is_refused() -> None:
    case = make_case({"repeat": {"each": {"i": [1, 3000]}, "steps": [{"connect": "c{i}"}, {"close": "c{i}"}]}})
    lived = ScriptedTarget(takes=3000).play(player(case))
    kept = record(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, case, lived, duration_us=1)

    assert (len(kept["exchange"]), kept["exchange"][2000]["text"]) == (4001, "2000 events left out")
    with pytest.raises(ReplayError, match="only a part of what crossed: 2000 events left out"):
        trace_of(kept)


def lived_trace() -> list[TraceEvent]:
    return list(ScriptedTarget({"a": [b"\0"]}).play(player(make_case({"send": ASK, "expect": "refused"}))).trace)


def test_the_trace_of_another_case_is_refused() -> None:
    with pytest.raises(ReplayError, match="event 1: the case sends"):
        ReplayDriver(lived_trace()).play(player(make_case({"send": INSERT, "expect": "ok"})))


def test_a_trace_that_stops_early_is_refused() -> None:
    with pytest.raises(ReplayError, match="the trace ends here, the case goes on with Shut"):
        ReplayDriver(lived_trace()[:-1]).play(player(make_case({"send": ASK, "expect": "refused"})))


def test_a_trace_that_goes_on_is_refused() -> None:
    more = [*lived_trace(), TraceEvent(9, "b", Kind.OPENED)]

    with pytest.raises(ReplayError, match="the case ends here, the trace goes on with opened"):
        ReplayDriver(more).play(player(make_case({"send": ASK, "expect": "refused"})))


def test_an_event_that_cannot_answer_the_action_is_refused() -> None:
    with pytest.raises(ReplayError, match="expected Open on b, the trace has opened on a"):
        ReplayDriver(lived_trace()).play(player(make_case({"connect": "b"})))


def test_time_is_kept_in_whole_microseconds() -> None:
    talk = CaseConnections(make_symbols(), segmentation=SEGMENTATIONS["whole"], timeout=1.0, on_step=None)
    step = talk.do(Sleep(1.0))
    next(step)
    with pytest.raises(StopIteration):
        step.send(Answer(Kind.WAITED, 1.00000049))

    assert (talk.now, talk.trace[0].at_us) == (1.0, 1_000_000)


def test_a_failure_is_still_a_failure_when_judged_again() -> None:
    case, target = ENDINGS["fail"]()

    assert ReplayDriver(target.play(player(case)).trace).play(player(case)).verdict is Verdict.FAIL
