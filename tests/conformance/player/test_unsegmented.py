"""What servers of a profile take with a single read is cut by no segmentation, be it a message or bytes by hand."""

from __future__ import annotations

import pytest

from wireproof.conformance.model.actions import Answer, Write
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.player.player import Player
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
