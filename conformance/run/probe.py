"""Finds out which profile and variant a server speaks, and its version, by asking it (`vectors/<protocol>/probe.yaml`).

One write whose answer has another length under every profile and variant, so nothing waits for a refusal. Where a
server may choose lengths, an answer of another one is told by the messages that it is made of.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from wireproof.conformance.drivers.sockets import SocketStream, connect
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.wording import describe
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.symbolic import message_of, pattern_of, value_of
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import NEED_DATA, Message, ProtocolError, Push, Request, protocol
from wireproof.protocols.connection import Client, Connection, ReplyReader
from wireproof.protocols.json_values import JsonObject

AUTO = "auto"
"""In place of a profile or variant: whatever the server speaks."""
PATIENCE = 10.0
"""Seconds that one answer may take at most."""
SECOND_QUESTION = 3.0
"""Seconds that the answer to a second question may take."""
QUIET = 0.3
"""Seconds without a byte after which an answer is taken as whole."""
PAUSE = 0.5
"""Seconds in which others are watched."""
CONFIRMED = 0.05
"""The same where as many bytes came as were expected."""
CLOSING = 1.0
"""Seconds that a connection may take to close."""
ENDS = {Kind.ENDED: ", then it closed the connection", Kind.RESET: ", then it reset the connection"}
LARGEST = 64 * 1024
"""Bytes beyond which an answer is none of a known profile."""
LARGEST_SESSION = 1024 * 1024
"""Bytes beyond which nothing more is read of a connection that asks one thing or two."""


class ProbeError(RuntimeError):
    """Raised when the target does not say what it speaks; the message says what came and what to do."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a server speaks."""

    profile: str
    variant: str


def probe_symbols(suite: Suite, profile: str, variant: str, **variables: int) -> Symbols:
    """Return the names that what is asked of a server before a run may use."""
    return Symbols(
        protocol(suite.protocol), profile, variant, case="probe", namespace="probe", variables=variables or None
    )


async def detect(suite: Suite, address: Address, timeout: float) -> Spoken:
    """Return profile and variant; raises `OSError` when nothing listens and `ProbeError` when the answer is unknown."""
    return (await detected(suite, address, timeout))[0]


async def ask_spoken(
    suite: Suite, address: Address, timeout: float, profile: str = AUTO, variant: str = AUTO
) -> tuple[Spoken, str]:
    """Ask a server what it speaks, whatever was named; return that, and what to warn of, mostly "".

    A server whose answer is unknown may be tested as what was named, if it answers anything at all: the answer is the
    warning. Raises `OSError` when nothing listens, `ProbeError` when the server speaks something else than was named,
    says nothing, or says what is unknown where something is `AUTO`. Each answer may take `timeout` seconds, 10 at most.
    """
    timeout = min(timeout, PATIENCE)
    if AUTO not in (profile, variant):
        named = Spoken(profile, variant)
        return named, await _check_named(suite, address, named, timeout)
    found = await detected(suite, address, timeout)
    fitting = [one for one in found if profile in (AUTO, one.profile) and variant in (AUTO, one.variant)]
    if not fitting:
        raise ProbeError(_mismatch(address, found[0], profile, variant))
    return fitting[0], "" if profile != AUTO else await second_opinion(suite, address, fitting[0], timeout)


async def second_opinion(suite: Suite, address: Address, found: Spoken, timeout: float) -> str:
    """Return a warning where another request is answered as under another profile, "" elsewhere."""
    if "version" not in suite.probe or await _answers_as(suite, address, found, timeout):
        return ""
    known = protocol(suite.protocol).profiles.values()
    for other in [Spoken(one.name, found.variant) for one in known if found.variant in one.variants]:
        if other != found and await _answers_as(suite, address, other, timeout):
            both = f"{found.profile} by the answer to one request and {other.profile} by another"
            return f"{address} speaks {both}; it is tested as the former: name the profile with --profile"
    return ""


async def detected(suite: Suite, address: Address, timeout: float) -> list[Spoken]:
    """Return all that a server may speak, the likeliest first. Raises `OSError` and `ProbeError`."""
    answer, end = await answer_to_probe(suite, address, timeout)
    found = _speakers(suite, answer)
    if not found:
        asked = f"nothing to test at {address}: asked what it speaks, {_what_came(answer, end)}"
        unknown = _unknown(suite, address, answer, end) if answer else asked
        raise ProbeError(f"{unknown}; name the profile and variant with --profile and --variant")
    return found


async def _check_named(suite: Suite, address: Address, named: Spoken, timeout: float) -> str:
    answer, end = await answer_to_probe(suite, address, timeout, named)
    found = _speakers(suite, answer)
    if named in found:
        return ""
    if found:
        mismatch = _mismatch(address, found[0], named.profile, named.variant)
        if all(one.variant != named.variant for one in found) or not await _answers_as(suite, address, named, timeout):
            raise ProbeError(mismatch)
        return f"{mismatch}, by the answer to one request, and as {named.profile} by another; it is tested as that"
    received = bytearray(answer)
    await reply_to(suite, address, named, None, timeout, received)
    if not received:
        raise ProbeError(f"nothing to test at {address}: asked twice, {_what_came(answer, end)}")
    return f"{_unknown(suite, address, answer, end)}; it is tested as {named.profile} {named.variant} all the same"


async def _answers_as(suite: Suite, address: Address, named: Spoken, timeout: float) -> bool:
    """Say whether the request for the version is answered as under this profile, to the byte.

    A server that answers one request wrongly may look like one of another profile.
    """
    spec: JsonObject | None = suite.probe.get("version")
    if spec is None:
        return False
    symbols, received = probe_symbols(suite, named.profile, named.variant), bytearray()
    request = symbols.message(message_of(spec["ask"]))
    try:
        async with session(symbols, address, min(timeout, SECOND_QUESTION), received) as ask:
            before = len(received)
            event = await ask(request)
            return isinstance(event, Message) and len(received) - before == len(symbols.codec.encode(event))
    except (OSError, ProtocolError):
        return False


def _mismatch(address: Address, found: Spoken, profile: str, variant: str) -> str:
    """Return what a server speaks that is not what was named."""
    both = (("profile", found.profile, profile), ("variant", found.variant, variant))
    other = [one for one in both if one[2] not in (AUTO, one[1])]
    spoken = " and ".join(f"{what} {has}" for what, has, _ in other)
    return f"{address} speaks {spoken}, not {' and '.join(given for _, _, given in other)}"


def no_connection(error: OSError) -> str:
    """Return in words why a target took no connection."""
    if isinstance(error, TimeoutError):
        return "no answer to connect"
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)


def _speakers(suite: Suite, answer: bytes) -> list[Spoken]:
    """Return what a server may speak that answers so; the first is what it is taken for when nothing is named."""
    known = suite.probe["answers"]
    found = [one for one in known if one["bytes"] == len(answer)] or [
        one for one in known if "messages" in one and _is_read_as(suite, one, answer)
    ]
    return [Spoken(str(one["profile"]), str(one["variant"])) for one in found]


def _is_read_as(suite: Suite, known: JsonObject, answer: bytes) -> bool:
    """Say whether an answer is made of the messages of a known one: ids that a server makes may have any length."""
    symbols = probe_symbols(suite, str(known["profile"]), str(known["variant"]))
    link = symbols.protocol.link
    asking, asked = link.client(symbols.codec), link.server(symbols.codec)
    try:
        asked.receive_data(symbols.data(value_of(suite.probe["send"])))
        for request in _messages(asked):
            asking.await_reply(cast(Request, request))
        asking.receive_data(answer)
        return [one.NAME for one in _messages(asking)] == known["messages"] and not asking.buffered
    except ProtocolError:
        return False


def _messages(connection: Connection | ReplyReader) -> Iterator[Message]:
    while isinstance(event := connection.next_event(), Message):
        yield event


def _unknown(suite: Suite, address: Address, answer: bytes, end: str) -> str:
    return f"{address} speaks no known profile of {suite.protocol}: {_what_came(answer, end)}"


def _what_came(answer: bytes, end: str) -> str:
    shown = f" ({describe(answer[:32])})" if answer else ""
    return f"{len(answer)} byte{'' if len(answer) == 1 else 's'} came{shown}{end}"


async def answer_to_probe(
    suite: Suite, address: Address, timeout: float, named: Spoken | None = None
) -> tuple[bytes, str]:
    """Return the answer to the question for profile and variant, and how it ended, in words. Raises `OSError`."""
    spoken = protocol(suite.protocol)
    symbols = probe_symbols(suite, spoken.default_profile, spoken.default_variant)
    wire = await connect(address, timeout)
    try:
        expected = [one["bytes"] for one in suite.probe["answers"] if named in _speakers(suite, bytes(one["bytes"]))]
        answer, end = await answer_to(
            wire, symbols.data(value_of(suite.probe["send"])), timeout, expected=expected[0] if expected else -1
        )
        if "cleanup" in suite.probe and _speakers(suite, answer):
            await answer_to(wire, symbols.data(value_of(suite.probe["cleanup"])), timeout, enough=1)
    finally:
        await wire.close(min(timeout, CLOSING))
    return answer, end


async def answer_to(
    wire: SocketStream, data: bytes, timeout: float, *, enough: int = LARGEST, expected: int = -1
) -> tuple[bytes, str]:
    """Write, then read until the peer is quiet or ends, `enough` came, or `timeout` seconds are over.

    Return what came, and how it ended, in words. After `expected` bytes a short time is quiet.
    """
    written, _ = await wire.write(data, timeout)
    answer, deadline = b"", time.monotonic() + timeout
    kind, chunk = await wire.read(timeout if written is Kind.SENT else QUIET)
    while kind is Kind.RECEIVED:
        answer += chunk
        if len(answer) >= enough:
            return answer, ", and more"
        if time.monotonic() > deadline:
            return answer, f", still coming after {timeout:g} s"
        kind, chunk = await wire.read(CONFIRMED if len(answer) == expected else QUIET)
    if written is Kind.SILENT:
        return answer, f", and it read nothing in {timeout:g} s"
    return answer, ENDS.get(kind, f", and nothing more in {QUIET:g} s" if answer else f" in {timeout:g} s")


class Asking:
    """One connection of `session`: call it with a request for what comes of it."""

    def __init__(self, wire: SocketStream, client: Client, timeout: float, received: bytearray) -> None:
        self.wire = wire
        self._client, self._timeout, self._received = client, timeout, received

    async def __call__(self, request: Message) -> Any:
        """Return what comes of a request, no push. Raises `OSError` where more comes than any answer has."""
        (answer,) = await self.all([request])
        return answer

    async def all(self, requests: Sequence[Message]) -> list[Any]:
        """Send requests at once; return what comes of each that is answered.

        Raises `OSError` where more comes than any answer has.
        """
        await self.wire.write(b"".join(map(self._client.send, requests)), self._timeout)
        return [await self._answer() for _ in self._client.pending]

    async def is_answered(self, request: Message) -> bool:
        """Say whether any byte comes after a request, be it right or wrong. Raises `OSError`."""
        await self.wire.write(self._client.send(request), self._timeout)
        kind, _ = await self.wire.read(self._timeout)
        return kind is Kind.RECEIVED

    async def _answer(self) -> Any:
        event: Any = NEED_DATA
        while event is NEED_DATA or isinstance(event, Push):
            event = self._client.next_event()
            if event is NEED_DATA:
                kind, data = await self.wire.read(self._timeout)
                data = data if kind is Kind.RECEIVED else b""
                self._received.extend(data)
                if len(self._received) > LARGEST_SESSION:
                    raise OSError(errno.EMSGSIZE, "the server sends more than any answer has")
                self._client.receive_data(data)
        return event


@asynccontextmanager
async def session(
    symbols: Symbols,
    address: Address,
    timeout: float,
    received: bytearray | None = None,
    *,
    local: tuple[str, int] | None = None,
) -> AsyncIterator[Asking]:
    """Open a connection, from the address and port `local` if named, and finish its handshake.

    `received` takes all bytes that come.

    Raises `OSError` (`TimeoutError` among them: all of it takes at most `timeout` seconds) and `ProtocolError`.
    """
    link = symbols.protocol.link
    async with asyncio.timeout(timeout):
        wire = await connect(address, timeout, local=local)
        ask = Asking(wire, link.client(symbols.codec), timeout, bytearray() if received is None else received)
        try:
            handshake = link.handshake()
            for together in [handshake] if link.pipelined_handshake else [[one] for one in handshake]:
                await ask.all(together)
            yield ask
        finally:
            await wire.close()


async def reply_to(
    suite: Suite, address: Address, spoken: Spoken, request: Any, timeout: float, received: bytearray | None = None
) -> Message | None:
    """Return what a new client is answered to one request; None when nothing that can be read comes in time.

    `request` is a symbolic message, or None for the one that any server of the protocol answers at once. `received`
    takes all bytes that come.
    """
    symbols = probe_symbols(suite, spoken.profile, spoken.variant)
    message = symbols.protocol.link.sync_request() if request is None else symbols.message(message_of(request))
    try:
        async with session(symbols, address, timeout, received) as ask:
            event = await ask(message)
    except (OSError, ProtocolError):
        return None
    return event if isinstance(event, Message) else None


async def what_is_answered(suite: Suite, address: Address, spoken: Spoken, timeout: float) -> Message | None:
    """Return the answer to the request that any server of the protocol answers at once; None for none."""
    return await reply_to(suite, address, spoken, None, timeout)


async def version_of(suite: Suite, address: Address, spoken: Spoken, timeout: float) -> str:
    """Return the version the server reports, or "unknown"."""
    spec: JsonObject | None = suite.probe.get("version")
    reply = await reply_to(suite, address, spoken, spec["ask"], timeout) if spec else None
    value = getattr(reply, spec["field"], b"") if spec else b""
    text = bytes(value).rstrip(b"\0").decode("ascii", "replace")
    return text if text.isascii() and text.isprintable() and text else "unknown"


async def is_fresh_server(suite: Suite, address: Address, spoken: Spoken, timeout: float) -> bool:
    """Say whether the server holds nothing yet, as the protocol's probe asks for it."""
    spec: JsonObject | None = suite.probe.get("fresh_server")
    if spec is None:
        return False
    reply = await reply_to(suite, address, spoken, spec["ask"], timeout)
    symbols = probe_symbols(suite, spoken.profile, spoken.variant)
    return reply is not None and match(pattern_of(spec["expect"]), reply, symbols) is None


async def use_by_others(suite: Suite, address: Address, spoken: Spoken, timeout: float, seconds: float = PAUSE) -> str:
    """Return how others use the server now, in words; "" if nobody does, or if the protocol has no request to ask.

    It is watched for some seconds.

    `quiet` of the protocol's probe names a request, the field of its reply that counts requests, and fields that stay
    while nobody else is there. The request is sent twice at once, then once more after a pause: what the count grows by
    in between, beyond what our own requests make it grow by, others asked.
    """
    spec: JsonObject | None = suite.probe.get("quiet")
    if spec is None:
        return ""
    symbols = probe_symbols(suite, spoken.profile, spoken.variant)
    request = symbols.message(message_of(spec["ask"]))
    try:
        async with session(symbols, address, timeout + PAUSE + seconds) as ask:
            await asyncio.sleep(PAUSE / 10)
            seen = [await ask(request), await ask(request)]
            await asyncio.sleep(seconds)
            seen.append(await ask(request))
    except (OSError, ProtocolError):
        return ""
    names = (spec["counts"], *spec["stays"])
    if not all(isinstance(one, Message) and all(hasattr(one, name) for name in names) for one in seen):
        return ""
    first, second, last = (getattr(one, spec["counts"]) for one in seen)
    found = [f"{last - second - (second - first)} requests"] if last - second > second - first else []
    for name in spec["stays"]:
        values = [getattr(one, name) for one in seen]
        found += [f"{name} from {values[0]} to {values[-1]}"] if len(set(values)) > 1 else []
    return f"others use the server: {', '.join(found)} in {seconds:.2g} s" if found else ""
