"""What was recorded in the vectors is checked before anything is drawn: frames with their fields, conversations."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.planting import plant
from wireproof.fuzz import store_input
from wireproof.fuzz.conversation_steps import conversation_steps
from wireproof.fuzz.findings.of_own_code import finding_of
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import TARGETS
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.recorded_frames import check_recorded_frames
from wireproof.fuzz.seed_replay import replayed_seeds
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.state_machine import Preset, run
from wireproof.fuzz.step_failure import Setting
from wireproof.fuzz.store_steps import AdvanceStep, ConnectStep, RequestStep
from wireproof.protocols import json_bodies, plain
from wireproof.protocols.plain import Plain


@pytest.mark.parametrize("name", ["psrt", "namechan"])
def test_recorded_frames_are_read_as_they_were_recorded(name: str) -> None:
    check_recorded_frames(name)


def test_an_error_that_is_the_same_in_both_directions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from wireproof.protocols.psrt import codec as psrt_codec
    from wireproof.protocols.registry import protocol

    correct = psrt_codec.compile_onepass
    monkeypatch.setattr(
        psrt_codec, "compile_onepass", lambda layout, order: correct(layout, {"<": ">", ">": "<"}[order])
    )
    spoken = protocol("psrt")
    made = psrt_codec.Codec(spoken.profiles["1"], spoken.profiles["1"].variants["standard"])
    monkeypatch.setattr(psrt_codec.Codec, "of", staticmethod(lambda profile, variant: made))
    monkeypatch.setattr(type(spoken), "codec", property(lambda self: lambda profile, variant: made), raising=False)

    with pytest.raises(InvariantError, match="recorded frames are read as recorded"):
        check_recorded_frames("psrt")


def test_members_of_json_that_are_written_though_nobody_gave_them_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, json_bodies, "_written", "not kind.is_left_out", "kind.is_left_out")

    with pytest.raises(InvariantError, match=r"recorded frames are read as recorded: .*written 7b"):
        check_recorded_frames("tmqp")


def test_plain_values_that_are_read_otherwise_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    old = "isinstance(value, str) and value in words"
    plant(monkeypatch, Plain, "_parsed", old, f"not ({old})")

    with pytest.raises(InvariantError, match="plain values are read as written"):
        check_recorded_frames("namechan")


def test_a_recorded_frame_that_is_read_otherwise_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise InvariantError("recorded frames are read as recorded", "x is y", "nop/frame")

    target = TARGETS["parser"]
    wrong = type(target)(target.name, target.module, target.invariants, target.seeds, recorded=broken)
    replayed = replayed_seeds(wrong, "psrt", 1)

    assert replayed.broken is not None
    assert finding_of(wrong, "psrt", replayed.broken, 1).oracle == "recorded frames are read as recorded"


@pytest.mark.parametrize(("name", "profile", "variant"), [("psrt", "1", "standard"), ("throttr", "7.3.2", "uint16")])
def test_conversations_are_steps_on_all_their_connections(name: str, profile: str, variant: str) -> None:
    found = conversation_steps(name, profile, variant)
    kinds = {type(step) for steps in found for step in steps}

    assert len(found) > 500
    assert kinds >= {ConnectStep, RequestStep, AdvanceStep}
    assert any(len({step.connection for step in steps if isinstance(step, ConnectStep)}) > 2 for steps in found)


def test_a_conversation_may_be_varied_and_goes_on_with_drawn_requests() -> None:
    source = Random(4)
    for _ in range(12):
        at = source.randrange(700).to_bytes(2, "little")
        store_input.check("psrt", bytes([0x80]) + at + source.randbytes(120))
        store_input.check("throttr", bytes([0x84]) + at + bytes(source.choices(range(4), k=30)))


def test_the_machine_follows_connections_of_several_links() -> None:
    made = "psrt", "1", "standard"
    right = Setting(FuzzContext(*made), lambda: InProcess(*made), shrink_s=0)
    assert run(right, Preset(6, 6, derandomized=False)) is None
    wrong = Setting(FuzzContext(*made), lambda: InProcess(*made, mutant="subscribe-forgets-the-others"), shrink_s=0)
    assert run(wrong, Preset(300, 20, derandomized=False)) is not None
    assert right.asked > 20


def test_a_wrong_plain_value_that_is_refused_by_no_name_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only right values were read."""
    plant(monkeypatch, plain, "_given", "str) and SECONDS", "str) or SECONDS")

    with pytest.raises(InvariantError, match="only named errors: TypeError"):
        check_recorded_frames("namechan")
