"""Finds out which profile and variant a server speaks, and its version, by asking it (`vectors/<protocol>/probe.yaml`).

One write whose answer has another length under every profile and variant, so nothing waits for a refusal.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.cases import Suite
from conformance.patterns import describe
from conformance.sockets import CHUNK, Stream, open_stream
from conformance.symbols import Symbols
from conformance.targets import Address
from protocols import NEED_DATA, Message, ProtocolError, protocol

QUIET = 0.3
"""Seconds without a byte after which an answer is taken as whole."""


class ProbeError(RuntimeError):
    """Raised when the target does not say what it speaks; the message tells what came and what to do."""


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
    async with asyncio.timeout(timeout):
        stream = await open_stream(address)
    try:
        answer = await _ask(stream, symbols.data(suite.probe["send"]), timeout)
        for known in suite.probe["answers"]:
            if known["bytes"] == len(answer):
                if "cleanup" in suite.probe:
                    await _ask(stream, symbols.data(suite.probe["cleanup"]), timeout)
                return Spoken(str(known["profile"]), str(known["variant"]))
    finally:
        stream[1].close()
    raise ProbeError(
        f"{address} speaks no known profile of {suite.protocol}: {len(answer)} bytes came ({describe(answer[:32])}); "
        "name the profile and variant with --profile and --variant"
    )


async def _ask(stream: Stream, data: bytes, timeout: float) -> bytes:
    """Write, then read until the peer is quiet or ends."""
    reader, writer = stream
    writer.write(data)
    answer, patience = b"", timeout
    with contextlib.suppress(TimeoutError):
        while len(answer) < CHUNK:
            async with asyncio.timeout(patience):
                chunk = await reader.read(CHUNK)
            if not chunk:
                break
            answer, patience = answer + chunk, QUIET
    return answer


async def version_of(suite: Suite, address: Address, spoken: Spoken, timeout: float) -> str:
    """Return the version the server tells, or "unknown"."""
    told: Mapping[str, Any] | None = suite.probe.get("version")
    if told is None:
        return "unknown"
    symbols = _symbols(suite, spoken.profile, spoken.variant)
    client = symbols.protocol.client(symbols.codec)
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await open_stream(address)
            try:
                writer.write(client.send(symbols.message(told["ask"])))
                event: Any = NEED_DATA
                while event is NEED_DATA:
                    client.receive_data(await reader.read(CHUNK))
                    event = client.next_event()
            finally:
                writer.close()
    except (OSError, TimeoutError, ProtocolError):
        return "unknown"
    value = getattr(event, told["field"], b"") if isinstance(event, Message) else b""
    return bytes(value).rstrip(b"\0").decode("ascii", "replace") or "unknown"
