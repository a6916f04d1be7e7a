"""What lies between wireproof and a target: its round trip, a proxy or NAT, how many connections it serves at once.

All of it is measured before the first case. A right server passes however it is reached: bounds on time include the
round trip, what needs a direct line is not asked through a proxy, and no more connections are open than are served.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address

from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.probe import Spoken, probe_symbols, session
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.symbolic import message_of, pattern_of
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import Message, ProtocolError
from wireproof.protocols.json_values import JsonObject

__all__ = ["DIRECT", "SETTLE", "SPARE", "UNMEASURED", "Route", "measured", "served_at_once"]

DIRECT = "direct"
"""The feature of a target that sees its clients' own address and port."""
NEAR = 0.02
"""Seconds of a round trip below which nothing takes it into account: a loaded machine has such ones."""
ASKED = 3
"""How often one thing is asked for the round trip; the shortest counts."""
PATIENCE = 5.0
"""Seconds that one question here may take."""
SERVED_WITHIN = 1.5
"""Seconds, and some round trips, after the last connection was answered in which another one is.

A system whose queue of new connections was full is asked again by ours after a second.
"""
SPARE = 8
"""Connections beyond one for each job that a target is asked to serve at a time."""
SETTLE = 0.02
"""Seconds, and a round trip, until one connection that was closed is so for a target that serves few at a time."""
AGAIN = 0.3
"""Seconds until many connections that were closed are so for the target."""


@dataclass(frozen=True, slots=True)
class Route:
    """The way to a target, as measured."""

    round_trip: float = 0.0
    """Seconds; 0 where it is `NEAR`."""
    proxy: str = ""
    """What shows that a proxy or NAT is between, in words; "" where nothing does."""
    at_once: int | None = None
    """How many connections the target serves at a time; None: as many as a run needs."""

    @property
    def notes(self) -> list[str]:
        """One line each for what a run takes into account."""
        found = []
        if self.round_trip:
            found.append(f"a round trip to the target takes {self.round_trip * 1e3:.0f} ms: bounds on time include it")
        if self.proxy:
            found.append(
                f"a proxy or NAT is before the target: {self.proxy}; what needs a direct line is unsupported "
                f"(--feature {DIRECT} asks it all the same)"
            )
        if self.at_once is not None:
            found.append(
                f"the target serves {self.at_once} connection{'s' if self.at_once > 1 else ''} at a time: "
                "no more are open, and cases that need more are unsupported"
                + (", and that fails the run" if self.at_once == 1 else "")
            )
        return found


UNMEASURED = Route()


async def measured(suite: Suite, address: Address, spoken: Spoken, timeout: float, most: int, *, ask: bool) -> Route:
    """Return what lies between here and a target; nothing where it does not answer.

    `most`: how many connections a run would open; `ask`: whether to ask the target whether the line is direct.
    """
    timeout = min(timeout, PATIENCE)
    symbols = probe_symbols(suite, spoken.profile, spoken.variant)
    took = None
    for pause in (AGAIN, 4 * AGAIN, None):  # of few at a time a connection that was closed just now may still count
        began = time.monotonic()
        took = await _round_trip(symbols, address, timeout)
        if took is not None or pause is None or time.monotonic() > began + AGAIN:
            break
        await asyncio.sleep(pause)
    if took is None:
        return Route()
    far, proxy = took if took >= NEAR else 0.0, ""
    if ask and address.scheme == "tcp" and DIRECT in suite.probe:  # before as many connections are opened as are served
        proxy = await _proxy(suite.probe[DIRECT], symbols, address, timeout)
    served = await served_at_once(suite, address, spoken, most, far)
    if served < most:
        await asyncio.sleep(AGAIN + far)
        served = max(served, await served_at_once(suite, address, spoken, most, far))
        await asyncio.sleep(AGAIN + far)
    return Route(far, proxy, at_once=max(1, served) if served < most else None)


async def _round_trip(symbols: Symbols, address: Address, timeout: float) -> float | None:
    """Return the shortest time of an answer, in seconds; None where none comes."""
    found = []
    try:
        async with session(symbols, address, timeout) as ask:
            for _ in range(ASKED):
                began = time.monotonic()
                if not isinstance(await ask(symbols.protocol.link.sync_request()), Message):
                    return None
                found.append(time.monotonic() - began)
    except (OSError, ProtocolError):
        return None
    return min(found)


async def served_at_once(suite: Suite, address: Address, spoken: Spoken, most: int, round_trip: float) -> int:
    """Return how many of `most` connections that are open together are answered; it takes some seconds at most."""
    symbols = [probe_symbols(suite, spoken.profile, spoken.variant) for _ in range(most)]
    last, answered, over = time.monotonic(), 0, asyncio.Event()
    patience = SERVED_WITHIN + 4 * round_trip

    async def one(names: Symbols) -> None:
        nonlocal last, answered
        with suppress(OSError, ProtocolError):
            async with session(names, address, PATIENCE + 2 * patience) as ask:
                if await ask.is_answered(names.protocol.link.sync_request()):
                    last, answered = time.monotonic(), answered + 1
                    await over.wait()

    tasks = [asyncio.create_task(one(names)) for names in symbols]
    pending = set(tasks)
    until = time.monotonic() + PATIENCE
    while answered + len(tasks) - len(pending) < most and time.monotonic() < min(until, last + patience):
        _, pending = await asyncio.wait(pending, timeout=0.01 + round_trip / 4, return_when=asyncio.FIRST_COMPLETED)
    over.set()
    found = answered
    for task in pending:
        if not task.done() and answered < most:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return found


async def _proxy(spec: JsonObject, symbols: Symbols, address: Address, timeout: float) -> str:
    """Return what shows that the target sees somebody else than us; "" where nothing does.

    A target that names another port than ours is wrong, or behind a proxy. A proxy has another address, or takes
    another port when we come again from the same one; a wrong target names the same wrong port.
    """
    for _ in range(ASKED):
        found = await _shown(spec, symbols, address, timeout)
        if found is not None:
            return found
        await asyncio.sleep(AGAIN)
    return ""


async def _shown(spec: JsonObject, symbols: Symbols, address: Address, timeout: float) -> str | None:
    """See `_proxy`; None where it could not be found out."""
    first = await _seen(spec, symbols, address, timeout, None)
    if first is None:
        return None
    if first[0] == first[1]:
        return ""
    (host, port), (seen_host, seen_port) = first
    shown = f"it sees {seen_host or 'us'} port {seen_port} where ours is {host} port {port}"
    if seen_host and seen_host != host and not ip_address(host).is_loopback:
        return shown if seen_port != port else f"it sees {seen_host} where our address is {host}"
    if seen_port == port:
        return ""
    # A port that the system takes for `connect` may belong to other connections as well: nobody can bind it again.
    bound = await _seen(spec, symbols, address, timeout, (host, 0))
    again = bound and await _seen(spec, symbols, address, timeout, bound[0])
    if bound is None or again is None:
        return None
    return "" if again[1][1] in (bound[1][1], again[0][1]) else shown


Place = tuple[str, int]


async def _seen(
    spec: JsonObject, symbols: Symbols, address: Address, timeout: float, local: Place | None
) -> tuple[Place, Place] | None:
    """Return address and port of our side, and those that the target shows for it; None where it shows none."""
    try:
        async with session(symbols, address, timeout, local=local) as ask:
            mine = ask.wire.transport.get_extra_info("sockname")
            for request, reply in zip(spec["ask"], spec["expect"], strict=True):
                message = await ask(symbols.message(message_of(request)))
                if not isinstance(message, Message) or match(pattern_of(reply), message, symbols) is not None:
                    return None
            ask.wire.cut()  # so that the port is free at once
    except (OSError, ProtocolError):
        return None
    port = symbols.saved.get("seen_port")
    return ((mine[0], mine[1]), (_text(symbols.saved.get("seen_address")), port)) if isinstance(port, int) else None


def _text(shown: object) -> str:
    """Return an address as text shows it; "" for what is none."""
    try:
        text = bytes(shown).rstrip(b"\0").decode("ascii") if isinstance(shown, bytes | bytearray) else ""
        found = ip_address(text)
    except ValueError:
        return ""
    mapped = getattr(found, "ipv4_mapped", None)
    return "" if found.is_unspecified else str(mapped or found)
