"""A target that declares datagrams must answer one after each script."""

from __future__ import annotations

import pytest

from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.live.simulated_target import SimulatedTarget


@pytest.mark.parametrize(
    ("features", "mutant", "found"),
    [
        (frozenset({"udp"}), None, []),
        (frozenset({"udp"}), "datagram-unwanted-unanswered", ["datagrams are served"]),
        (frozenset(), "datagram-unwanted-unanswered", []),
        (None, "datagram-unwanted-unanswered", []),
    ],
)
def test_a_declared_link_over_datagrams_is_probed(
    features: frozenset[str] | None, mutant: str | None, found: list[str]
) -> None:
    with SimulatedTarget(FuzzContext("psrt", "1", "standard", features=features), mutant) as target:
        play = target.play((), patience=1.0)

    assert [one.oracle for one in judged(play)] == found
    assert play.lines == []
