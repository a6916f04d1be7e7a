"""Holds a server against the reference where several servers differed."""

from __future__ import annotations

from wireproof.conformance.model.targets import TargetError
from wireproof.fuzz.differential.compared_servers import LiveSide, SimulatedSide
from wireproof.fuzz.differential.comparison import differences
from wireproof.fuzz.findings.finding import Finding
from wireproof.fuzz.live.canaries import fresh
from wireproof.fuzz.live.fuzz_target import LiveTarget

__all__ = ["unlike_reference"]


def unlike_reference(live: LiveTarget, found: Finding) -> str | None:
    """Return how a server answers unlike the reference where servers differed; None when it does not.

    Raises `TargetError` for a server that serves nobody before anything was played.
    """
    side, reference = LiveSide("the target", "", live), SimulatedSide("the reference", live.ground)
    if not side.play(()).serves:
        raise TargetError(f"{live.address} serves nobody, before anything was played")
    script = fresh(found.script)
    for one in differences([side.play(script), reference.play(script)]):
        if one.where == found.state:
            return f"the answer to {one.request} is {one.told[0]}, the reference's is {one.told[1]}"
    return None
