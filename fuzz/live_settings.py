"""Settings for live servers, and replaying a kept failure of steps."""

from __future__ import annotations

from wireproof.conformance.commands.target_options import Target
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.run import reference_target
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.reproduction import play_steps
from wireproof.fuzz.script import Restart
from wireproof.fuzz.server_transports import InProcess, OverSockets
from wireproof.fuzz.step_failure import Setting
from wireproof.fuzz.store_steps import steps_of

__all__ = ["TOLERANCE_NS", "broken_now", "live_setting"]

LONGEST_WAIT_NS = 300 * 10**6
"""Longest single wait on a live server, in ns."""
TOLERANCE_NS = 250 * 10**6
"""How late a live server may be, in ns."""
PATIENCE = 2.0
"""Seconds that a live server has for a reply."""


def live_setting(
    context: FuzzContext, target: Target, *, tolerance_ns: int = TOLERANCE_NS, patience: float = PATIENCE
) -> Setting:
    """Return the setting of a live server; a server that we started is restarted after it died.

    `patience` is in seconds. Making a transport raises `StartError` if the server does not start again and
    `TargetError` if there is no address.
    """

    def transport() -> OverSockets:
        """Raises `TargetError` if the target has no address."""
        if target.server is not None and (why := target.server.death()) is not None:
            target.server.start(f"it {why}")
        address = target.server.address if target.server is not None else target.address
        if address is None:
            raise TargetError("a simulation is no live server")
        return OverSockets(address, patience)

    return Setting(context, transport, tolerance_ns=tolerance_ns, shared=True, longest_wait_ns=LONGEST_WAIT_NS)


def broken_now(found: FuzzFinding, context: FuzzContext, target: Target | None) -> str | None:
    """Play the steps of a kept finding again; return what they break, None if they no longer break it.

    Without `target` they are played in this process. Raises `StartError`, and `TargetError` for a target where they
    restart the server.
    """
    if target is not None and any(isinstance(one, Restart) for one in found.script):
        raise TargetError("the finding restarts its server, which is done in this process only: name no target")
    made, lasts = (context.name, context.profile, context.variant), reference_target.keeps_anything(context.name)
    if target is None:
        setting = Setting(context, lambda: InProcess(*made, is_lasting=lasts), restarts=lasts)
    else:
        setting = live_setting(context, target)
    failure = play_steps(list(steps_of(found.script, context)), setting)
    if failure is None or failure.key != (found.oracle, found.clause, found.shape):
        return None
    return str(failure.violation)
