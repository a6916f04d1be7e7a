"""A write that a target cut off: what was meant cannot be read from what crossed, and that is nobody's fault here."""

from __future__ import annotations

import pytest

from tests.conformance.scripted import ScriptedTarget
from wireproof.conformance.model.actions import Action, Write
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty, Level, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbolic import steps_of
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import protocol

ATTACH = {"ATTACH": {"token": {"fill": 7, "size": 32}, "timeout": 5}}
STEPS = [
    {"connect": {"name": "d", "link": "data"}},
    {"send": {"DATA_GREETING": {"mode": "PLAIN"}}, "on": "d", "expect": {"DATA_GREETING_REPLY": {"version": 1}}},
    {"send": ATTACH, "on": "d", "expect": {"RESPONSE": {"code": "OK"}}},
]


class Cutting(ScriptedTarget):
    """A target that resets its connection after some writes."""

    def __init__(self, writes: int) -> None:
        super().__init__({"d": [bytes.fromhex("eeab0100"), Kind.RESET]})
        self.left = writes

    def _do(self, action: Action) -> tuple[Kind, bytes]:
        if isinstance(action, Write):
            self.left -= 1
            if self.left < 0:
                return Kind.RESET, b"closed"
        return super()._do(action)


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 4, 10, 36])
@pytest.mark.parametrize("segmentation", ["whole", "bytes", "fields"])
def test_a_connection_that_is_cut_within_a_frame_is_the_target_s_failure(writes: int, segmentation: str) -> None:
    symbols = Symbols(protocol("psrt"), "1", "standard", case="made/up", namespace="t")
    case = Case(
        id="made/up", title="made up", topic="made", clauses=("PSRT-ATTACH-2",), level=Level.MUST, profiles=("1",),
        variants=(), exclusive=False, slow=False, fresh_server=False, steps=steps_of(STEPS), variables={},
    )  # fmt: skip
    outcome = Cutting(writes).play(Player(case, symbols, segmentation=SEGMENTATIONS[segmentation], timeout=1.0))

    assert (outcome.verdict, outcome.guilty) == (Verdict.FAIL, Guilty.TARGET)
