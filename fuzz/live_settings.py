"""Settings of live servers, and whether a kept failure still shows."""

from __future__ import annotations

from wireproof.conformance.commands.target_options import Target
from wireproof.conformance.model.targets import TargetError
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.reproduction import play_steps
from wireproof.fuzz.server_transports import InProcess, OverSockets
from wireproof.fuzz.step_failure import Setting
from wireproof.fuzz.store_steps import steps_of

__all__ = ["TOLERANCE_NS", "broken_now", "live_setting"]

LONGEST_WAIT_NS = 300 * 10**6
"""Time that a live server is given for one step at most."""
TOLERANCE_NS = 250 * 10**6
PATIENCE = 2.0


def live_setting(
    context: FuzzContext, target: Target, *, tolerance_ns: int = TOLERANCE_NS, patience: float = PATIENCE
) -> Setting:
    """Return the setting of a live server; one of ours is started again once it died. It may raise `StartError`."""

    def transport() -> OverSockets:
        if target.server is not None and (why := target.server.death()) is not None:
            target.server.start(f"it {why}")
        address = target.server.address if target.server is not None else target.address
        if address is None:
            raise TargetError("a simulation is no live server")
        return OverSockets(address, patience)

    return Setting(context, transport, tolerance_ns=tolerance_ns, shared=True, longest_wait_ns=LONGEST_WAIT_NS)


def broken_now(found: FuzzFinding, context: FuzzContext, target: Target | None) -> str | None:
    """Return what a kept failure breaks now, None when it is gone; in this process unless a target is named."""
    if target is None:
        setting = Setting(context, lambda: InProcess(context.name, context.profile, context.variant))
    else:
        setting = live_setting(context, target)
    failure = play_steps(list(steps_of(found.script, context)), setting)
    if failure is None or failure.key != (found.oracle, found.clause, found.shape):
        return None
    return str(failure.violation)
