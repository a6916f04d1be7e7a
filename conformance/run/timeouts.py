"""Time-outs of a target that nobody declared: found out once a case that waits for one fails.

A time-out is how long the target leaves a connection open that says nothing, or nothing more. It is watched at several
places at once (`timeouts` of `vectors/<protocol>/probe.yaml`), and a fault at one of them is no other time-out: what is
assumed stays wherever one place has it, or where they do not agree. So a run that nothing fails takes no longer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from wireproof.conformance.drivers.streams import connect
from wireproof.conformance.model.expressions import Number
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.run.plan import Plan
from wireproof.conformance.suite.case_traits import parameters_in
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.declared import UNSUPPORTED
from wireproof.protocols.json_values import JsonObject

__all__ = ["Timeouts", "measured_timeout"]

AGREE = 0.4
"""Seconds by which two places may differ, and the assumed value, so that they are the same."""
STEP = 0.5
"""People choose multiples of this many seconds."""
NEAR = 0.15
"""So many seconds from such a multiple it is taken for it."""


class Timeouts:
    """What is known of the time-outs of the target of one run."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        probed: JsonObject = plan.suite.probe.get("timeouts", {})
        self._open = {name: spec for name, spec in probed.items() if name in plan.settings.undeclared}
        """Those that were not declared and not looked for yet."""
        self._other: set[str] = set()
        """Those that are not what is assumed."""

    async def find(self, address: Address, failed: Sequence[Case]) -> list[Case]:
        """Look once at the target for the time-outs that failed cases read; return those that must be played again.

        The plan has what was found, and says so. A time-out longer than anybody waits is unknown where the document
        names no bound.
        """
        known = {name: self._plan.suite.parameters[name] for case in failed for name in parameters_in(case, self._open)}
        for name, assumed in known.items():
            found = await measured_timeout(address, self._open.pop(name), assumed.value)
            settings = self._plan.settings
            if found is not None:
                parameters = {**(settings.parameters or {}), name: found}
                self._plan.settings = replace(settings, parameters=parameters)
                found_value = f"{name}={found:g} ({assumed.value:g} is assumed); --limit NAME=N declares another"
                self._plan.notify(f"a time-out of the target, found by waiting: {found_value}")
            elif assumed.undeclared == UNSUPPORTED:
                self._plan.settings = replace(settings, unknown=settings.unknown | {name})
            self._other |= {name} if self._plan.settings is not settings else set()
        return [case for case in failed if parameters_in(case, self._other)]


async def measured_timeout(address: Address, spec: JsonObject, assumed: Number) -> float | None:
    """Return the time-out in seconds, where all places show one and none the `assumed` one; None elsewhere."""
    most = float(spec["most"])
    seen = await asyncio.gather(*(_closed_after(address, bytes.fromhex(sent), most) for sent in spec["behind"]))
    times = [one for one in seen if one is not None]
    if len(times) < len(seen) or max(times) - min(times) > AGREE or any(abs(one - assumed) <= AGREE for one in times):
        return None
    found, near = min(times), STEP * round(min(times) / STEP)
    return near if near and abs(found - near) <= NEAR else round(found, 1)


async def _closed_after(address: Address, sent: bytes, most: float) -> float | None:
    """Return after how many seconds the target closes a connection that says no more; None within `most` seconds."""
    try:
        wire = await connect(address, most)
    except OSError:
        return None
    try:
        if sent:
            await wire.write(sent, most)
        began = time.monotonic()
        kind = Kind.RECEIVED
        while kind is Kind.RECEIVED and (left := began + most - time.monotonic()) > 0:
            kind, _ = await wire.read(left)
        return time.monotonic() - began if kind in (Kind.ENDED, Kind.RESET) else None
    finally:
        await wire.close()
