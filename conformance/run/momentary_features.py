"""Features that a target is asked for where nobody declares them: what depends on who else uses it at the moment."""

from __future__ import annotations

from wireproof.conformance.drivers.sockets import connect
from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.probe import Spoken, answer_to, probe_symbols
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.symbolic import value_of
from wireproof.protocols.json_values import JsonObject

__all__ = ["momentary_features"]

CLOSING = 1.0
"""Seconds that a target may take to close."""


async def momentary_features(
    suite: Suite, address: Address, spoken: Spoken, declared: frozenset[str], timeout: float
) -> frozenset[str]:
    """Return the features of the probe's `momentary` that a target has and nobody declared.

    Each names the feature that it goes `with`, without which nobody needs it, and what to `send`. A target that answers
    so many `bytes`, which end as `lacks` says, does not have it; what is answered otherwise is for the cases.
    """
    asked: dict[str, JsonObject] = suite.probe.get("momentary", {})
    wanted = {name: one for name, one in asked.items() if name not in declared and one["with"] in declared}
    return frozenset([name for name, one in wanted.items() if not await _lacks(one, suite, address, spoken, timeout)])


async def _lacks(spec: JsonObject, suite: Suite, address: Address, spoken: Spoken, timeout: float) -> bool:
    symbols = probe_symbols(suite, spoken.profile, spoken.variant)
    try:
        wire = await connect(address, timeout)
    except OSError:
        return False
    try:
        answer, _ = await answer_to(wire, symbols.data(value_of(spec["send"])), timeout, enough=spec["bytes"])
    finally:
        await wire.close(min(timeout, CLOSING))
    return len(answer) == spec["bytes"] and answer.endswith(symbols.data(value_of(spec["lacks"])))
