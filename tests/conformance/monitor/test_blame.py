"""What the monitor saw is weighed into the outcome and kept in the record; good plays accuse nobody."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import jsonschema_rs
import pytest

from tests.conformance.sabotage import SUITE, player, reference_service, some_cases
from tests.conformance.scripted import ASK, INSERT, ScriptedTarget, make_case, play
from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.monitor.blame import MONITOR
from wireproof.conformance.monitor.monitor import monitored
from wireproof.conformance.mutation.applicable import applicable
from wireproof.conformance.suite.documents import vectors_root
from wireproof.conformance.verdict.records import Run, record
from wireproof.mutants.registry import server_mutants
from wireproof.protocols import protocol

THROTTR = protocol("throttr")
EVERY = [(name, variant) for name, profile in THROTTR.profiles.items() for variant in profile.variants]
PUSH = bytes.fromhex("03 0100 70")
NOBODY = {"first": "nobody", "connection": None, "offset": None, "error": None, "clause": None}
WRONG_TARGETS: dict[str, tuple[dict[str, Any], list[Any], Verdict, dict[str, Any]]] = {
    "garbage": (
        {"send": ASK, "expect": "refused"}, [b"\x07"],
        Verdict.FAIL, {"offset": 0, "error": "bad_status", "clause": "THR-FRAMING-5"},
    ),
    "a reply to nothing, read as that to the next request": (
        {"repeat": {"each": {"i": [1, 2]}, "steps": [{"send": INSERT, "expect": "ok"}]}}, [b"\x01\x01", b"\x00"],
        Verdict.FAIL, {"offset": 1, "error": "unexpected_message", "clause": "THR-ROBUSTNESS-5"},
    ),
    "cut by its end": (
        {"send": ASK, "expect": "any"}, [b"\x01\x07", Kind.ENDED],
        Verdict.FAIL, {"offset": 0, "error": "truncated", "clause": "THR-FRAMING-3"},
    ),
    "a prerequisite": (
        {"send": ASK, "expect": "refused", "given": True}, [b"\x07"],
        Verdict.UNTESTABLE, {"offset": 0, "error": "bad_status", "clause": "THR-FRAMING-5"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_TARGETS)
def test_a_target_that_breaks_the_protocol_is_reported_with_its_byte(name: str) -> None:
    step, reads, verdict, detail = WRONG_TARGETS[name]
    outcome = play(step, reads=reads)
    seen = outcome.extra[MONITOR]

    assert outcome.verdict is verdict
    assert (seen["first"], seen["connection"]) == ("target", "a")
    assert {key: seen[key] for key in detail} == detail


@pytest.mark.parametrize("reads", [[b"\x00"], [Kind.ENDED], []])
def test_a_target_that_only_says_what_is_wrong_breaks_no_protocol(reads: list[Any]) -> None:
    outcome = play({"send": INSERT, "expect": "ok"}, reads=reads)

    assert outcome.verdict in (Verdict.FAIL, Verdict.HANG)
    assert outcome.guilty is Guilty.TARGET
    assert outcome.extra[MONITOR] == NOBODY


def test_a_pass_says_nothing_of_the_monitor() -> None:
    assert MONITOR not in play({"send": ASK, "expect": "refused"}, reads=[b"\x00"]).extra


def test_a_pass_in_which_the_target_broke_the_protocol_keeps_the_evidence() -> None:
    seen = {"refused": "refused"}
    outcome = play({"send": ASK, "observe": seen}, {"send": ASK, "observe": seen}, reads=[b"\x00\x00", b""])

    assert outcome.verdict is Verdict.PASS
    assert outcome.extra[MONITOR]["first"] == "target"


def test_what_can_be_read_in_two_ways_fails_nobody() -> None:
    outcome = play({"send": ["WHOAMI", ASK], "expect": ["any", "refused"]}, reads=[PUSH + b"i" * 16 + b"\x00"])

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.NOBODY)
    assert str(outcome.got).endswith("; what came can be read in another way, too")
    assert outcome.extra[MONITOR] == NOBODY


def test_what_can_be_read_in_no_way_is_a_failure() -> None:
    outcome = play({"send": ["WHOAMI", ASK], "expect": ["any", "refused"]}, reads=[PUSH + b"i" * 14 + b"\x07" * 3])

    assert (outcome.verdict, outcome.extra[MONITOR]["first"]) == (Verdict.FAIL, "target")


@pytest.mark.parametrize("before", [0, 1, 2])
def test_lost_writes_accuse_nobody(before: int) -> None:
    target = ScriptedTarget({"a": [b"\x07"]})
    target.write_ends = Kind.RESET
    outcome = play(*[{"send": ASK}] * before, {"send": ASK, "expect": "refused"}, target=target)

    assert outcome.verdict is Verdict.FAIL
    assert outcome.extra[MONITOR] == NOBODY


def recorded(outcome: Outcome) -> dict[str, Any]:
    run = Run("throttr", "7.1.0", "uint16", "tcp://h:1", "x")
    return record(run, SUITE, make_case(), outcome, duration_us=1)


@pytest.mark.parametrize("reads", [[b"\x07"], [b"\x01"]])
def test_a_record_keeps_it_within_the_schema(reads: list[bytes]) -> None:
    rules = json.loads((vectors_root() / "../reports/schema/record.schema.json").read_text(encoding="utf-8"))
    outcome = play({"send": ASK, "expect": "refused"}, reads=reads)
    kept = json.loads(json.dumps(recorded(outcome)))

    jsonschema_rs.Draft202012Validator(rules).validate(kept)
    assert kept["extra"][MONITOR]["first"] in ("target", "nobody")
    assert {"first", "connection", "offset", "error", "clause"} <= kept["extra"][MONITOR].keys()


@pytest.mark.parametrize(("profile", "variant"), EVERY)
def test_plays_of_the_suite_accuse_nobody(profile: str, variant: str) -> None:
    driver = SimulationDriver(reference_service(profile, variant))
    for case in some_cases(profile, variant, step=19):
        playing = player(case, profile, variant)
        outcome = driver.play(playing)
        report = monitored(outcome.trace, THROTTR, profile, variant, playing.talk.intended)

        assert (outcome.verdict, report.first) == (Verdict.PASS, None), case.id


@pytest.mark.parametrize(("profile", "variant"), [("7.1.0", "uint8"), ("7.3.2", "uint16")])
def test_whatever_a_target_does_wrong_wireproof_does_not_blame_itself(profile: str, variant: str) -> None:
    wrong = [one for one in applicable(server_mutants("throttr").values(), SUITE, profile, variant) if not one.live]
    seen = Counter[Verdict]()
    for one in wrong[::19]:
        driver = SimulationDriver(reference_service(profile, variant, one.name))
        about = [case for case in some_cases(profile, variant, step=1) if set(case.clauses) & set(one.clauses)]
        for case in about[:3]:
            outcome = driver.play(player(case, profile, variant))
            seen[outcome.verdict] += 1

            assert outcome.verdict is not Verdict.HARNESS_ERROR, (one.name, case.id, outcome.got)
    assert seen[Verdict.FAIL] > len(wrong[::19]) // 5
