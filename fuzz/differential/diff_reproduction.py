"""Compares a server with the reference where several servers differed."""

from __future__ import annotations

from wireproof.conformance.model.targets import TargetError
from wireproof.fuzz.differential.compared_servers import LiveServer, SimulatedServer
from wireproof.fuzz.differential.comparison import differences, ends
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.fuzz_target import LiveTarget

__all__ = ["unlike_reference"]


def unlike_reference(live: LiveTarget, found: FuzzFinding) -> str | None:
    """Return how a server answers unlike the reference at the difference of a finding; None if it does not.

    Raises `TargetError` if the server serves nobody before anything was played.
    """
    server, reference = LiveServer("the target", "", live), SimulatedServer("the reference", live.context)
    if not server.play(()).serves:
        raise TargetError(f"{live.address} serves nobody")
    script = with_fresh_canaries(found.script)
    plays = [server.play(script), reference.play(script)]
    for one in (*ends(plays), *differences(plays)):
        if one.where == found.state:
            if one.is_of_a_process:
                return one.texts[0]
            return f"the answer to {one.request} is {one.texts[0]}, the reference's is {one.texts[1]}"
    return None
