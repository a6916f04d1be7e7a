"""`measure`: what the target took while steps played is held against limits; one round that keeps them is enough."""

import json
from itertools import accumulate
from typing import Any

import pytest

from tests.conformance.scripted import ASK, ScriptedTarget, make_case, make_symbols, play
from wireproof.conformance.drivers.replay import ReplayDriver, trace_of
from wireproof.conformance.model.actions import LimitDescriptors, Open, ReadUsage
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbols import SymbolError
from wireproof.conformance.verdict.records import Run, record

MIB = 1 << 20
STEPS = [{"connect": "a"}]


def measured(spec: dict[str, Any], *memory: int, target: ScriptedTarget | None = None, **given: Any) -> Outcome:
    target = target or ScriptedTarget()
    target.figures = [json.dumps({"memory": one, "descriptors": 10, "cpu": 0.5}).encode() for one in memory]
    return play({"measure": {"steps": STEPS, **spec}, **given}, target=target, symbols=make_symbols(SLACK=MIB))


def test_growth_within_the_limit_passes() -> None:
    assert measured({"at_most": {"memory": "2 * SLACK"}}, 7 * MIB, 9 * MIB).verdict is Verdict.PASS


def test_growth_beyond_the_limit_fails_with_its_figures() -> None:
    outcome = measured({"at_most": {"memory": MIB, "descriptors": 0}}, 7 * MIB, 9 * MIB)

    assert (outcome.verdict, outcome.guilty) == (Verdict.FAIL, Guilty.TARGET)
    assert (outcome.expected, outcome.got) == ("at most 1.0 MiB of memory more", "2.0 MiB of memory")


def test_one_round_within_the_limit_is_enough() -> None:
    target = ScriptedTarget()
    outcome = measured({"at_most": {"memory": MIB}, "rounds": 5}, 0, 2 * MIB, 4 * MIB, 5 * MIB, target=target)

    assert outcome.verdict is Verdict.PASS
    assert sum(isinstance(one, ReadUsage) for one in target.actions) == 4


def test_a_round_is_measured_from_the_end_of_the_one_before() -> None:
    outcome = measured({"at_most": {"memory": MIB}, "rounds": 3}, 0, 2 * MIB, 4 * MIB, 7 * MIB)

    assert outcome.expected == "at most 1.0 MiB of memory more in one of 3 rounds"
    assert outcome.got == "2.0 MiB of memory; 2.0 MiB of memory; 3.0 MiB of memory"


def test_what_was_taken_can_be_saved_and_named_in_a_limit() -> None:
    target = ScriptedTarget()
    target.figures = [b'{"memory":%d,"cpu":0.0,"descriptors":0}' % one for one in (0, 100, 100, 300)]
    twice = {"measure": {"steps": STEPS, "at_most": {"memory": "2 * few_memory - @few_descriptors"}}}

    assert play({"measure": {"steps": STEPS, "save": "few"}}, twice, target=target).verdict is Verdict.PASS
    target.figures = [b'{"memory":%d,"cpu":0.0,"descriptors":0}' % one for one in (0, 100, 100, 301)]
    assert play({"measure": {"steps": STEPS, "save": "few"}}, twice, target=target).verdict is Verdict.FAIL


def test_rounds_are_numbered_for_the_steps() -> None:
    target = ScriptedTarget()
    measured({"steps": [{"connect": "c{round}"}], "at_most": {"memory": 0}, "rounds": 2}, 0, 1, 2, target=target)

    assert [one.connection for one in target.actions if hasattr(one, "connection")][:2] == ["c1", "c2"]


@pytest.mark.parametrize(("growth", "verdict"), [((0, 2, 0), Verdict.PASS), ((2, 2, 2), Verdict.FAIL)])
def test_every_round_is_played_where_the_case_says_so(growth: tuple[int, ...], verdict: Verdict) -> None:
    target = ScriptedTarget()
    spec = {"steps": [{"connect": "c{round}"}], "at_most": {"memory": 1}, "rounds": 3, "every_round": True}
    outcome = measured(spec, *accumulate(growth, initial=0), target=target)

    assert outcome.verdict is verdict
    assert [one.connection for one in target.actions if isinstance(one, Open)] == ["c1", "c2", "c3"]


@pytest.mark.parametrize(("limit", "verdict"), [(0.5, Verdict.PASS), (0.4, Verdict.FAIL)])
def test_time_is_a_resource_that_needs_no_process(limit: float, verdict: Verdict) -> None:
    outcome = play({"measure": {"steps": [{"wait": 0.5}], "at_most": {"seconds": limit}}}, target=ScriptedTarget())

    assert outcome.verdict is verdict
    assert outcome.got in (None, "0.50 s")


def test_descriptors_are_limited_while_the_steps_play() -> None:
    target = ScriptedTarget()
    target.figures = [b'{"memory": 0}', b'{"memory": 0}']
    outcome = play({"measure": {"steps": STEPS, "spare_descriptors": "4 * 4"}}, target=target)

    assert outcome.verdict is Verdict.PASS
    limited, opened, lifted = target.actions[:3]
    assert (limited, lifted) == (LimitDescriptors(16), LimitDescriptors(None))
    assert isinstance(opened, Open)


def test_descriptors_that_nobody_can_limit_are_untestable() -> None:
    outcome = play({"measure": {"steps": STEPS, "spare_descriptors": 4}}, target=ScriptedTarget())

    assert outcome.verdict is Verdict.UNTESTABLE
    assert outcome.got == "nothing here can measure the target"


def test_a_target_that_nobody_can_measure_is_untestable() -> None:
    outcome = play({"measure": {"steps": STEPS, "at_most": {"cpu": 1}}}, target=ScriptedTarget())

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.NOBODY)


def test_what_is_measured_belongs_to_the_case_s_own_fault_when_it_is_written_wrong() -> None:
    with pytest.raises(SymbolError, match=r"at_most\.money: expected 'memory' or 'descriptors' or 'cpu' or 'seconds'"):
        measured({"at_most": {"money": 1}}, 0, 0)


def test_a_step_inside_fails_as_it_does_outside() -> None:
    inside = {"measure": {"steps": [{"send": ASK, "expect": "ok"}], "at_most": {"seconds": 9}}, "clause": "THR-QUERY-5"}
    outcome = play(inside, reads=[b"\0"])

    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, "THR-QUERY-5")


def test_a_measured_play_is_judged_the_same_from_its_record() -> None:
    case = make_case({"measure": {"steps": STEPS, "at_most": {"memory": MIB}, "rounds": 2}})

    def player() -> Player:
        return Player(case, make_symbols(), segmentation=SEGMENTATIONS["whole"], timeout=2.0)

    target = ScriptedTarget()
    target.figures = [b'{"memory":%d,"descriptors":0,"cpu":0.125}' % (one * 2 * MIB) for one in range(3)]
    lived = target.play(player())
    run = Run("throttr", "7.1.0", "uint16", "command", "x")
    kept = record(run, load_suite("throttr"), case, lived, duration_us=1)
    again = ReplayDriver(trace_of(json.loads(json.dumps(kept)))).play(player())

    assert lived.verdict is Verdict.FAIL
    assert (again.verdict, again.got, again.trace) == (lived.verdict, lived.got, lived.trace)
