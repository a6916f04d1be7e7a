"""Settings of live servers, and whether a kept failure still shows."""

from __future__ import annotations

from wireproof.conformance.commands.target_options import Target
from wireproof.conformance.model.targets import TargetError
from wireproof.fuzz.step_failure import Setting
from wireproof.fuzz.findings.finding import Finding
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.reproduction import played
from wireproof.fuzz.store_steps import steps_of
from wireproof.fuzz.server_transports import InProcess, OverSockets

__all__ = ["TOLERANCE_NS", "live_setting", "still"]

LONGEST_WAIT_NS = 300 * 10**6
"""Time that a live server is given for one step at most."""
TOLERANCE_NS = 250 * 10**6
PATIENCE = 2.0


def live_setting(
    ground: Ground, target: Target, *, tolerance_ns: int = TOLERANCE_NS, patience: float = PATIENCE
) -> Setting:
    """Return the setting of a live server; one of ours is started again once it died. It may raise `StartError`."""

    def place() -> OverSockets:
        if target.server is not None and (why := target.server.death()) is not None:
            target.server.start(f"it {why}")
        address = target.server.address if target.server is not None else target.address
        if address is None:
            raise TargetError("a simulation is no live server")
        return OverSockets(address, patience)

    return Setting(ground, place, tolerance_ns=tolerance_ns, shared=True, longest_wait_ns=LONGEST_WAIT_NS)


def still(found: Finding, ground: Ground, target: Target | None) -> str | None:
    """Return what a kept failure breaks now, None when it is gone; in this process unless a target is named."""
    if target is None:
        setting = Setting(ground, lambda: InProcess(ground.name, ground.profile, ground.variant))
    else:
        setting = live_setting(ground, target)
    failure = played(list(steps_of(found.script, ground)), setting)
    if failure is None or failure.key != (found.oracle, found.clause, found.shape):
        return None
    return str(failure.violation)
