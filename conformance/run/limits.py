"""Limits of a target that nobody declared: found out before the first case, so that a right server is not failed.

A limit is the largest number with which a request is accepted. Several requests are asked for each (`limits` of
`vectors/<protocol>/probe.yaml`), and a fault in one of them is no limit: what is assumed stays wherever one request
has it or misses it by one, or where they do not agree.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from wireproof.conformance.model.expressions import Number
from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.probe import Spoken, probe_symbols, session
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.symbolic import message_of, pattern_of
from wireproof.protocols import Message, ProtocolError

__all__ = ["largest_accepted", "measured_limits"]

PATIENCE = 2.0
"""Seconds that one request may take."""
MOST = 15.0
"""Seconds that all of it may take; then what is assumed stays."""

Accepts = Callable[[int], Awaitable[bool]]


async def measured_limits(
    suite: Suite,
    address: Address,
    spoken: Spoken,
    timeout: float,
    assumed: Mapping[str, Number],
    round_trip: float,
    *,
    alive: Callable[[], bool] = lambda: True,
) -> dict[str, int]:
    """Return the limits of a target that are not the `assumed` ones, of those that the protocol's probe can find.

    `timeout` and `round_trip` in seconds; `alive`: whether the target still runs, asked after each request.
    """
    spec: Mapping[str, Any] = suite.probe.get("limits", {})
    over = time.monotonic() + MOST
    found: dict[str, int] = {}

    def accepts(request: Any) -> Accepts:
        async def one(number: int) -> bool:
            """Say whether a number is accepted; raises `TimeoutError` when no more may be asked."""
            if time.monotonic() > over or not alive():
                raise TimeoutError
            return await _is_accepted(
                suite, address, spoken, min(timeout, PATIENCE) + 4 * round_trip, request, spec["expect"], number
            )

        return one

    for name, limit in spec.get("ask", {}).items():
        if name not in assumed:
            continue
        try:
            each = [
                await largest_accepted(accepts(request), int(assumed[name]), limit["most"]) for request in limit["ask"]
            ]
        except TimeoutError:
            break
        if (number := _agreed(each, int(assumed[name]))) is not None:
            found[name] = number
    return found


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
