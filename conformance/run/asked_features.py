"""Features of a target that nobody declared: found out before the first case, so that it is asked all that it can do.

`features` of `vectors/<protocol>/probe.yaml` names cases for each feature that can be found out. A target that passes
more than half of them has it: so one fault hides nothing, and a target that has only a little of it fails nothing.
A limit that no document bounds and that nobody declared is checked likewise, by one case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.processes import ServerProcess, placed
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.verdict.records import Run

__all__ = ["can_be_asked", "features_found", "limits_not_shown"]

PATIENCE = 1.0
"""Seconds to wait for any one answer on a near target."""
MOST = 6.0
"""Seconds that all of it may take on a near target; a feature that is not found by then is not declared."""
TRIPS = 100
"""Round trips that are added to that."""
ASKING = 90
"""The attempt that such a play is: it has keys of its own."""


def can_be_asked(suite: Suite) -> frozenset[str]:
    """Return the features of a protocol that can be found out by playing cases."""
    return frozenset(suite.probe.get("features", {}))


async def features_found(
    suite: Suite, run: Run, address: Address, settings: Settings, server: ServerProcess | None = None
) -> frozenset[str]:
    """Return the features that a target was found to have, of those that can be asked for.

    What a feature rests on must be there, too: declared in `settings`, or found. `server`: the target, if wireproof
    started it; one that ended is asked nothing more.
    """
    plan, driver = _asking(suite, run, address, settings, server)
    known = {case.id: case for case in applicable(suite, run.profile, run.variant)}
    asked = {
        name: [known[one] for one in cases if one in known] for name, cases in suite.probe.get("features", {}).items()
    }
    over = asyncio.get_running_loop().time() + MOST + TRIPS * settings.route.round_trip
    beside = asyncio.Semaphore(1 if settings.route.at_once is not None else max(1, len(asked)))

    async def has(cases: Sequence[Case]) -> bool:
        """Say whether more than half of the cases pass; no more are played than it takes to know."""
        passed = failed = 0
        async with beside:
            for case in cases:
                passes = not _ended(server) and (await driver.play(plan.player(case, ASKING))).verdict is Verdict.PASS
                passed, failed = passed + passes, failed + (not passes)
                if 2 * passed > len(cases) or 2 * failed >= len(cases):
                    break
        return 2 * passed > len(cases)

    async def in_time(cases: Sequence[Case]) -> bool:
        try:
            async with asyncio.timeout_at(over):
                return await has(cases)
        except Exception:  # a target may do anything; what it has is then not known
            return False

    shown = await asyncio.gather(*map(in_time, asked.values()))
    found = {name for name, has_it in zip(asked, shown, strict=True) if has_it}
    there = found | (settings.features or frozenset())
    return frozenset(name for name in found if all(set(case.needs) <= there for case in asked[name]))


async def limits_not_shown(
    suite: Suite,
    run: Run,
    address: Address,
    settings: Settings,
    assumed: Collection[str],
    server: ServerProcess | None = None,
) -> frozenset[str]:
    """Return those of the `assumed` limits that a case shows and that a target does not have, as far as it was asked.

    `assumed` of the protocol's probe names the case of each. `settings` say which features the target has.
    """
    plan, driver = _asking(suite, run, address, settings, server)
    known, there = {case.id: case for case in suite.cases}, settings.features or frozenset()
    found = set()
    for name, shown_by in suite.probe.get("assumed", {}).items():
        case = known[shown_by]
        if name in assumed and set(case.needs) <= there and not _ended(server):
            with suppress(Exception):  # a target may do anything: then the run shows what
                if (await driver.play(plan.player(case, ASKING))).verdict is not Verdict.PASS:
                    found.add(name)
    return frozenset(found)


def _asking(
    suite: Suite, run: Run, address: Address, settings: Settings, server: ServerProcess | None
) -> tuple[Plan, SocketDriver]:
    """Return who makes the players of cases, whatever they need, and who plays them."""
    timeout = min(settings.timeout, PATIENCE) + 4 * settings.route.round_trip
    plan = Plan(run, suite, (), replace(settings, features=None, timeout=timeout))
    listeners = placed(settings.listeners or {}, server)
    return plan, SocketDriver(address, timeout=timeout, tls=settings.tls, listeners=listeners, process=server)


def _ended(server: ServerProcess | None) -> bool:
    return server is not None and server.death() is not None
