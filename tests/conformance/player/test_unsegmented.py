"""What no segmentation cuts: what servers of a profile take with a single read, and a handshake that was cut before."""

from __future__ import annotations

import pytest

from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.actions import Answer, Write
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.player.player import Player
from wireproof.conformance.run import reference_target
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import protocol


def first_write(case_id: str, profile: str) -> bytes:
    case = next(one for one in load_suite("tmqp").cases if one.id == case_id)
    symbols = Symbols(protocol("tmqp"), profile, "standard", case=case.id, namespace="x", variables=case.variables)
    playing = Player(case, symbols, segmentation=SEGMENTATIONS["bytes"]).play()
    action = next(playing)
    while not isinstance(action, Write):
        action = playing.send(Answer(Kind.OPENED, 0))
    return action.data


@pytest.mark.parametrize("case_id", ["handshake/by-hand", "handshake/welcome"])
def test_the_eight_bytes_stay_together_where_a_release_reads_them_at_once(case_id: str) -> None:
    assert first_write(case_id, "twino-3.0.0") == b"TMQP/2.0"
    assert first_write(case_id, "doc") == b"T"


def test_the_handshake_is_cut_on_the_first_connection_alone() -> None:
    case = next(one for one in load_suite("tmqp").cases if one.id == "queue/broadcast")
    symbols = Symbols(protocol("tmqp"), "doc", "standard", case=case.id, namespace="x", variables=case.variables)
    driver = SimulationDriver(
        lambda clock: reference_target.service("tmqp", profile="doc", variant="standard", clock=clock)
    )
    outcome = driver.play(Player(case, symbols, segmentation=SEGMENTATIONS["bytes"]))
    written = {
        name: [one.data for one in outcome.trace if one.kind is Kind.SENT and one.connection == name]
        for name in {one.connection for one in outcome.trace}
    }
    first = {name: sizes[0] for name, sizes in written.items() if sizes}

    assert first.pop("a") == b"T"
    assert first
    assert all(one.startswith(b"TMQP/2.0") and len(one) > 16 for one in first.values())
    assert all(len(sizes) > 1 and all(len(one) == 1 for one in sizes[1:]) for sizes in written.values() if sizes)
