"""The input of the store's fuzz target: a byte for profile and variant, then steps: an operation and its data.

Requests are encoded as on the wire, so every conversation of the vectors can be written as an input.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from wireproof.fuzz.decisions import CONNECTIONS, WAITS, until_due, with_known_id
from wireproof.fuzz.input_description import InputDescription
from wireproof.fuzz.invariants.ending import ending
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.seeds import exchanges
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.store_steps import AdvanceStep, ConnectStep, DisconnectStep, RequestStep, Step, describe_step
from wireproof.protocols import Request, protocol
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import FrameContext

__all__ = ["check", "contexts", "described", "seeds"]

KNOWN_ID, JOINED, WAIT, UNTIL_DUE, COME_OR_GO = 3, 4, 5, 6, 7
"""Operations; values below KNOWN_ID send a request.

KNOWN_ID sends a request with an id that the server sent, JOINED keeps a request to be sent with the next one.
"""
FRAME_LIMIT = 4096
MOST_STEPS = 200
HOW = ("close", "half", "reset")


@cache
def contexts(name: str) -> tuple[FuzzContext, ...]:
    """Return a context for every profile and variant of a protocol."""
    return tuple(
        FuzzContext(name, profile.name, variant)
        for profile in protocol(name).profiles.values()
        for variant in profile.variants
    )


class _StepReader:
    """Reads steps from bytes."""

    def __init__(self, check: StoreCheck, data: bytes) -> None:
        self._check, self._data, self._at = check, data, 1
        self._joined: tuple[Request, ...] = ()

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def next(self) -> Step | None:
        """Return the next step; None at the end."""
        while self._at < len(self._data):
            operation = self._byte()
            kind, which = operation & 7, operation >> 3
            if kind == WAIT:
                return AdvanceStep(WAITS[self._byte() % len(WAITS)])
            if kind == UNTIL_DUE:
                return AdvanceStep(until_due(self._check, which, self._byte() % 3 - 1))
            if kind == COME_OR_GO:
                return self._come_or_go(which)
            request = self._request()
            if request is None:
                return None
            if kind == JOINED and len(self._joined) < 8:
                self._joined += (request,)
                continue
            if kind == KNOWN_ID:
                request = with_known_id(request, self._check.context, self._check.known_ids, which)
            asked, self._joined = (*self._joined, request), ()
            return RequestStep(self._name(which), asked)
        return None

    def _name(self, which: int) -> str:
        return self._check.connections[which % len(self._check.connections)]

    def _come_or_go(self, which: int) -> Step:
        name, there = CONNECTIONS[which % len(CONNECTIONS)], self._check.connections
        if name not in there:
            return ConnectStep(name)
        return DisconnectStep(name, HOW[which % len(HOW)]) if len(there) > 1 else AdvanceStep(0)

    def _request(self) -> Request | None:
        codec, end = self._check.context.symbols.codec, len(self._data)
        if self._at >= end:
            return None
        try:
            request, stop = codec.decode_request(self._data, self._at, end, FrameContext(FRAME_LIMIT))
        except MalformedFrameError:
            return None
        self._at = stop
        return request  # type: ignore[no-any-return]


def check(name: str, data: bytes, mutant: str | None = None) -> None:
    """Apply the steps in `data` to a server in this process and to its model. Raises `InvariantError`.

    `mutant` names a mutant of the server; None is the correct server.
    """
    if len(data) >= 2:
        _play(_prepared(name, data, mutant), data)


def described(name: str, data: bytes) -> InputDescription:
    """Return profile, variant and the steps up to the one that breaks something, as text."""
    found = _prepared(name, data, None)
    with suppress(Exception), ending():
        _play(found, data)
    context = found.context
    return InputDescription(context.profile, context.variant, tuple(map(describe_step, found.done)))


def _prepared(name: str, data: bytes, mutant: str | None) -> StoreCheck:
    context = contexts(name)[data[0] % len(contexts(name))]
    transport = InProcess(context.name, context.profile, context.variant, mutant=mutant)
    return StoreCheck(context, transport, tolerance_ns=0, shared=False)


def _play(found: StoreCheck, data: bytes) -> None:
    for one in CONNECTIONS[:2]:
        found.do(ConnectStep(one))
        found.do(RequestStep(one, found.model.greeting()))
    steps = _StepReader(found, data)
    while len(found.done) < MOST_STEPS and (step := steps.next()) is not None:
        known = len(found.connections)
        found.do(step)
        if isinstance(step, ConnectStep) and len(found.connections) > known:
            found.do(RequestStep(step.connection, found.model.greeting()))


def seeds(name: str) -> Iterator[bytes]:
    """Yield every exchange of the vectors as an input, sent on two connections in turn."""
    for number, context in enumerate(contexts(name)):
        for one in exchanges(name, context.profile, context.variant):
            asked = [bytes([(turn & 1) << 3]) + context.encode(request) for turn, request in enumerate(one.asked)]
            yield bytes([number]) + b"".join(asked)
