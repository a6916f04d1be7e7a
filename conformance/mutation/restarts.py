"""Deaths in simulation as a stage of random edits: what an edit changes only once the server is started again.

No case kills its server, so edits of what is read back from the disk survive every case. The scenarios of
`wireproof durability` kill them, on services whose files are copied at the death (conformance/run/durability/lives.py).
"""

from __future__ import annotations

from wireproof.conformance.mutation.play_bounds import bounded
from wireproof.conformance.run.durability.conversation import conversation
from wireproof.conformance.run.durability.lives import LastingFactory
from wireproof.conformance.run.durability.simulated import simulated
from wireproof.conformance.verdict.records import Run

__all__ = ["restart_kill"]

KILLS = 6
"""Deaths under load."""
CPU_SECONDS = 60.0
"""Seconds of processor time for all scenarios: the reference server takes about 5."""


def restart_kill(run: Run, factory: LastingFactory) -> str:
    """Return the scenario and the promise that a server does not keep, as records name them; empty where it keeps all.

    A server that raises keeps nothing. Raises `HangError` for one that does not come to an end.
    """
    talk = conversation(run.protocol, run.profile, run.variant)
    scenario = "start"
    try:
        with bounded(CPU_SECONDS):
            for scenario, result in simulated(talk, factory, kills=KILLS):
                if result.breaches:
                    return f"durability/{scenario}-{result.breaches[0].promise}"
    except Exception:
        return f"durability/{scenario}-starts"
    return ""
