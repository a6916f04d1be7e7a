"""Finds out which profile and variant a server speaks, and its version, by asking it (`vectors/<protocol>/probe.yaml`).

One write whose answer has another length under every profile and variant, so nothing waits for a refusal.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from wireproof.conformance.drivers.sockets import Wire, connect
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.wording import describe
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.symbolic import message_of, pattern_of, value_of
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import NEED_DATA, Message, ProtocolError, Push, protocol

QUIET = 0.3
"""Seconds without a byte after which an answer is taken as whole."""
PAUSE = 0.5
"""Seconds in which others are watched."""
LARGEST = 64 * 1024
"""Bytes beyond which an answer is none of a known profile."""


class ProbeError(RuntimeError):
    """Raised when the target does not say what it speaks; the message says what came and what to do."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a server speaks."""

    profile: str
    variant: str


def _symbols(suite: Suite, profile: str, variant: str) -> Symbols:
    return Symbols(protocol(suite.protocol), profile, variant, case="probe", namespace="probe")


async def detect(suite: Suite, address: Address, timeout: float) -> Spoken:
    """Return profile and variant; raises `OSError` when nothing listens and `ProbeError` when the answer is unknown."""
    spoken = protocol(suite.protocol)
    symbols = _symbols(suite, spoken.default_profile, spoken.default_variant)
    wire = await connect(address, timeout)
    try:
        answer = await _ask(wire, symbols.data(value_of(suite.probe["send"])), timeout)
        for known in suite.probe["answers"]:
            if known["bytes"] == len(answer):
                if "cleanup" in suite.probe:
                    await _ask(wire, symbols.data(value_of(suite.probe["cleanup"])), timeout, enough=1)
                return Spoken(str(known["profile"]), str(known["variant"]))
    finally:
        await wire.close(timeout)
    raise ProbeError(
        f"{address} speaks no known profile of {suite.protocol}: {len(answer)} bytes came ({describe(answer[:32])}); "
        "name the profile and variant with --profile and --variant"
    )


async def _ask(wire: Wire, data: bytes, timeout: float, *, enough: int = LARGEST) -> bytes:
    """Write, then read until the peer is quiet or ends, `enough` came, or `timeout` seconds are over."""
    await wire.write(data, timeout)
    answer, deadline = b"", time.monotonic() + timeout
    kind, chunk = await wire.read(timeout)
    while kind is Kind.RECEIVED:
        answer += chunk
        if len(answer) >= enough or time.monotonic() > deadline:
            break
        kind, chunk = await wire.read(QUIET)
    return answer


@asynccontextmanager
async def _session(symbols: Symbols, address: Address, timeout: float) -> AsyncIterator[Callable[[Message], Any]]:
    """Open a connection and finish its handshake; yields what sends a request and returns what comes of it, no push.

    Raises `OSError` (`TimeoutError` among them: all of it takes at most `timeout` seconds) and `ProtocolError`.
    """
    link = symbols.protocol.link
    client = link.client(symbols.codec)

    async def ask(request: Message) -> Any:
        event: Any = NEED_DATA
        await wire.write(client.send(request), timeout)
        while event is NEED_DATA or isinstance(event, Push):
            event = client.next_event()
            if event is NEED_DATA:
                kind, data = await wire.read(timeout)
                client.receive_data(data if kind is Kind.RECEIVED else b"")
        return event

    async with asyncio.timeout(timeout):
        wire = await connect(address, timeout)
        try:
            for request in link.handshake():
                await ask(request)
            yield ask
        finally:
            await wire.close()


async def reply_to(suite: Suite, address: Address, spoken: Spoken, request: Any, timeout: float) -> Message | None:
    """Return what a new client is answered to one request; None when nothing that can be read comes in time.

    `request` is a symbolic message, or None for the one that any server of the protocol answers at once.
    """
    symbols = _symbols(suite, spoken.profile, spoken.variant)
    message = symbols.protocol.link.sync_request() if request is None else symbols.message(message_of(request))
    try:
        async with _session(symbols, address, timeout) as ask:
            event = await ask(message)
    except (OSError, ProtocolError):
        return None
    return event if isinstance(event, Message) else None


async def version_of(suite: Suite, address: Address, spoken: Spoken, timeout: float) -> str:
    """Return the version the server reports, or "unknown"."""
    spec: Mapping[str, Any] | None = suite.probe.get("version")
    reply = await reply_to(suite, address, spoken, spec["ask"], timeout) if spec else None
    value = getattr(reply, spec["field"], b"") if spec else b""
    text = bytes(value).rstrip(b"\0").decode("ascii", "replace")
    return text if text.isascii() and text.isprintable() and text else "unknown"


async def is_fresh_server(suite: Suite, address: Address, spoken: Spoken, timeout: float) -> bool:
    """Say whether the server holds nothing yet, as the protocol's probe asks for it."""
    spec: Mapping[str, Any] | None = suite.probe.get("fresh_server")
    if spec is None:
        return False
    reply = await reply_to(suite, address, spoken, spec["ask"], timeout)
    symbols = _symbols(suite, spoken.profile, spoken.variant)
    return reply is not None and match(pattern_of(spec["expect"]), reply, symbols) is None


async def use_by_others(suite: Suite, address: Address, spoken: Spoken, timeout: float) -> str:
    """Return how others use the server now, in words; "" if nobody does, or if the protocol has no request to ask.

    `quiet` of the protocol's probe names a request, the field of its reply that counts requests, and fields that stay
    while nobody else is there. The request is sent twice at once, then once more after a pause: what the count grows by
    in between, beyond what our own requests make it grow by, others asked.
    """
    spec: Mapping[str, Any] | None = suite.probe.get("quiet")
    if spec is None:
        return ""
    symbols = _symbols(suite, spoken.profile, spoken.variant)
    request = symbols.message(message_of(spec["ask"]))
    try:
        async with _session(symbols, address, timeout + 2 * PAUSE) as ask:
            await asyncio.sleep(PAUSE / 10)
            seen = [await ask(request), await ask(request)]
            await asyncio.sleep(PAUSE)
            seen.append(await ask(request))
    except (OSError, ProtocolError):
        return ""
    if not all(isinstance(one, Message) for one in seen):
        return ""
    first, second, last = (getattr(one, spec["counts"]) for one in seen)
    found = [f"{last - second - (second - first)} requests"] if last - second > second - first else []
    for name in spec["stays"]:
        values = [getattr(one, name) for one in seen]
        found += [f"{name} from {values[0]} to {values[-1]}"] if len(set(values)) > 1 else []
    return f"others use the server: {', '.join(found)} in {PAUSE:g} s" if found else ""
