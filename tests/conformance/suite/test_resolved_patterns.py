"""Resolved patterns: they need no case and no variables, and still are what the message is."""

from typing import Any

import pytest

from tests.conformance.scripted import ScriptedTarget, make_case, make_symbols, play
from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import StepEvent
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.resolved_patterns import plain, resolved
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbolic import pattern_of
from wireproof.conformance.suite.written import as_written
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import seeded_ids

SUITE = load_suite("throttr")


@pytest.mark.parametrize(
    ("spec", "plain_spec"),
    [
        ("ok", "ok"), ("any", "any"), ({"any_of": ["ok", "refused"]}, {"any_of": ["ok", "refused"]}),
        ({"QUERY_REPLY": {"quota": "MAX - 1"}}, {"QUERY_REPLY": {"quota": 65534}}),
        ({"QUERY_REPLY": {"ttl_type": "seconds"}}, {"QUERY_REPLY": {"ttl_type": 4}}),
        ({"QUERY_REPLY": {"ttl": {"between": ["N", "t"]}}}, {"QUERY_REPLY": {"ttl": {"between": [2, 9]}}}),
        ({"GET_REPLY": {"value": "7"}}, {"GET_REPLY": {"value": {"hex": "37"}}}),
        ({"GET_REPLY": {"value": "t"}}, {"GET_REPLY": {"value": {"hex": "74"}}}),
        ({"GET_REPLY": {"value": {"size": "MAX"}}}, {"GET_REPLY": {"value": {"size": 65535}}}),
        ({"GET_REPLY": {"value": {"not": {"fill": 1, "size": 1}}}}, {"GET_REPLY": {"value": {"not": {"hex": "01"}}}}),
        ({"push": {"payload": "p{t}"}}, {"push": {"payload": {"hex": "7039"}}}),
        ({"STATS_REPLY": {"rows": {"count": "t", "contains": [{"key": "N", "times": "N", "total_reads": "@seen"}]}}},
         {"STATS_REPLY": {"rows": {"count": 9, "contains": [{"key": {"hex": "4e"}, "times": 2, "total_reads": 40}]}}}),
        ({"STATS_REPLY": {"numbering": "contiguous"}}, {"STATS_REPLY": {"numbering": "contiguous"}}),
        ({"WHOAMI_REPLY": {"id": {"save": "t"}}}, {"WHOAMI_REPLY": {"id": {"save": "t"}}}),
        ({"WHOAMI_REPLY": {"id": "@later"}}, {"WHOAMI_REPLY": {"id": "@later"}}),
    ],
)  # fmt: skip
def test_every_name_is_resolved_by_what_its_field_holds(spec: Any, plain_spec: Any) -> None:
    symbols = make_symbols(t=9)
    symbols.saved["seen"] = 40

    assert resolved(spec, symbols) == plain_spec


def test_repeated_patterns_have_the_variables_of_their_own_turn() -> None:
    notes: list[Any] = []
    symbols = make_symbols()
    each = {"each": {"i": [1, 3]}, "of": {"push": {"payload": "{i}"}}}
    player = Player(
        make_case({"connect": "a"}, {"expect": each}), symbols, segmentation=SEGMENTATIONS["whole"],
        on_step=lambda note: notes.append(resolved(as_written(note.expect), symbols)),
    )  # fmt: skip
    ScriptedTarget({"a": [bytes.fromhex("03 0100 31 03 0100 32 03 0100 33")]}).play(player)

    assert notes[1:] == [{"push": {"payload": {"hex": f"3{i}"}}} for i in (1, 2, 3)]


def received(profile: str, variant: str) -> list[tuple[str, Any, Any]]:
    """Play some cases and return (case, resolved pattern, message) of each message that was judged."""
    found: list[tuple[str, Any, Any]] = []

    def service(clock: Any) -> Any:
        return create_service("throttr", profile=profile, variant=variant, clock=clock, ids=seeded_ids(1))

    cases = [case for case in applicable(SUITE, profile, variant) if not case.slow]
    for case in cases[::7]:
        symbols = make_symbols(profile, variant, case=case.id, **case.variables)

        def on_step(note: StepEvent, case: Any = case, symbols: Any = symbols) -> None:
            if note.expect is not None:
                found.append((case.id, resolved(as_written(note.expect), symbols), note.messages[0]))

        SimulationDriver(service).play(Player(case, symbols, segmentation=SEGMENTATIONS["whole"], on_step=on_step))
    return found


@pytest.mark.parametrize(
    ("profile", "variant"), [pytest.param("7.1.0", "uint8", marks=pytest.mark.nightly), ("7.3.2", "uint64")]
)
def test_a_resolved_pattern_is_still_what_the_message_is(profile: str, variant: str) -> None:
    found = received(profile, variant)

    assert len(found) > 200
    for case, spec, message in found:
        symbols = make_symbols(profile, variant)
        if "@" not in str(spec) and "silent" not in str(spec):
            assert match(pattern_of(spec), message, symbols) is None, case


def test_integers_no_json_reader_keeps_are_texts() -> None:
    assert [plain(1 << 53), plain((1 << 53) - 1)] == ["9007199254740992", 9007199254740991]
    assert plain((b"\x00\xff", True, None)) == ["00ff", True, None]


def test_the_barrier_of_silence_may_be_answered_by_anything() -> None:
    notes: list[StepEvent] = []
    play({"silent": "a"}, reads=[b"\0"], notes=notes)

    assert [as_written(note.expect) for note in notes if note.do == "receive"] == ["any"]
