"""Limits of a target that nobody declared: found out before the first case, so that a right server is not failed.

A limit is the largest number with which a request is accepted. Several requests are asked for each (`limits` of
`vectors/<protocol>/probe.yaml`), and a fault in one of them is no limit: what is assumed stays wherever one request
has it or misses it by one, or where they do not agree. The requests are asked beside one another: each question takes
several round trips, and over a long line one after the other would take minutes.

A target that serves few connections at a time may still count those that have just closed, and refuse one that is no
more than it serves. So fewer are open there, and what was not accepted is asked a second time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, NamedTuple

from wireproof.conformance.model.expressions import Number
from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.probe import Spoken, probe_symbols, session
from wireproof.conformance.run.route import SETTLE
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.symbolic import message_of, pattern_of
from wireproof.protocols import Message, ProtocolError
from wireproof.protocols.json_values import JsonObject

__all__ = ["MeasuredLimits", "largest_accepted", "measured_limits"]

PATIENCE = 2.0
"""Seconds that one request may take."""
MOST = 15.0
"""Seconds that all of it may take on a near target; then what is assumed stays."""
TRIPS = 200
"""Round trips that are added to that: some 30 questions, one after the other, of 4 or 5 each."""
BESIDE = 8
"""How many requests are asked beside one another."""

Accepts = Callable[[int], Awaitable[bool]]


class MeasuredLimits(NamedTuple):
    """What was found out about a target's limits."""

    found: dict[str, int]
    """The limits that are not the assumed ones."""
    unknown: tuple[str, ...]
    """Those that there was no time to find; the assumed ones stay."""


async def measured_limits(
    suite: Suite,
    address: Address,
    spoken: Spoken,
    timeout: float,
    assumed: Mapping[str, Number],
    round_trip: float,
    *,
    at_once: int | None = None,
    alive: Callable[[], bool] = lambda: True,
) -> MeasuredLimits:
    """Return the limits of a target that are not the `assumed` ones, of those that the protocol's probe can find.

    `timeout` and `round_trip` in seconds; `at_once`: how many connections the target serves at a time, None for many;
    `alive`: whether the target still runs, asked before each request.
    """
    spec: JsonObject = suite.probe.get("limits", {})
    over = time.monotonic() + MOST + TRIPS * round_trip
    places = asyncio.Semaphore(BESIDE if at_once is None else min(BESIDE, max(1, at_once // 2)))
    patience = min(timeout, PATIENCE) + 4 * round_trip

    def accepts(request: Any) -> Accepts:
        async def one(number: int) -> bool:
            """Say whether a number is accepted; raises `TimeoutError` when no more may be asked."""
            async with places:
                if time.monotonic() > over or not alive():
                    raise TimeoutError
                asked = suite, address, spoken, patience, request, spec["expect"], number
                accepted = await _is_accepted(*asked)
                if not accepted and at_once is not None:
                    await asyncio.sleep(SETTLE + round_trip)
                    accepted = await _is_accepted(*asked)
                return accepted

        return one

    async def limit_of(name: str, limit: JsonObject) -> int | None:
        known = int(assumed[name])
        asked = (largest_accepted(accepts(request), known, limit["most"]) for request in limit["ask"])
        return _agreed(await asyncio.gather(*asked), known)

    asking = {name: limit_of(name, limit) for name, limit in spec.get("ask", {}).items() if name in assumed}
    each = dict(zip(asking, await asyncio.gather(*asking.values(), return_exceptions=True), strict=True))
    for one in each.values():
        if isinstance(one, BaseException) and not isinstance(one, TimeoutError):
            raise one
    found = {name: one for name, one in each.items() if isinstance(one, int)}
    return MeasuredLimits(found, tuple(name for name, one in each.items() if isinstance(one, TimeoutError)))


def _agreed(each: Collection[int | None], assumed: int) -> int | None:
    """Return the limit that all requests show and that is not the assumed one; None where there is no such."""
    (first, *others) = set(each)
    is_assumed = any(one is not None and abs(one - assumed) <= 1 for one in each)
    return None if others or is_assumed else first


async def largest_accepted(accepts: Accepts, assumed: int, most: int) -> int | None:
    """Return the largest number that is accepted; None where it is below 1, or `most` is accepted, too.

    What is assumed is tried first; then numbers twice as large each, and between the last two by halves.
    """
    low, high = (assumed, assumed + 1) if await accepts(assumed) else (0, assumed)
    while low and await accepts(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if await accepts(middle) else (low, middle)
    return low or None


async def _is_accepted(
    suite: Suite, address: Address, spoken: Spoken, timeout: float, request: Any, expect: Any, number: int
) -> bool:
    symbols = probe_symbols(suite, spoken.profile, spoken.variant, N=number)
    try:
        async with session(symbols, address, timeout) as ask:
            event = await ask(symbols.message(message_of(request)))
    except (OSError, ProtocolError):
        return False
    return isinstance(event, Message) and match(pattern_of(expect), event, symbols) is None
