"""The input of the store's fuzz target: a byte for profile and variant, then steps: an operation and its data.

Requests are encoded as on the wire, so every conversation of the vectors can be written as an input. Where decoding
depends on earlier messages, bytes draw requests instead (`drawn_requests`), and connections are of several links.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from functools import cache

from wireproof.conformance.run.reference_target import keeps_anything
from wireproof.fuzz.conversation_steps import conversation_steps
from wireproof.fuzz.decisions import BRIEF_WAITS, CONNECTIONS, WAITS, until_due, with_known_id
from wireproof.fuzz.drawn_requests import RequestDrawing
from wireproof.fuzz.input_description import InputDescription
from wireproof.fuzz.invariants.ending import ending
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.linked_servers import check_linked, described_linked
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.replayed_conversations import replay
from wireproof.fuzz.restarting import connecting, restart
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.spliced_conversations import spliced
from wireproof.fuzz.store_steps import (
    AdvanceStep,
    ConnectStep,
    DisconnectStep,
    HeldStep,
    PartsStep,
    RequestStep,
    RestartStep,
    Step,
    describe_step,
)
from wireproof.protocols import Request, protocol
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.reference_server.model import LastingModel
from wireproof.reference_server.registry import has_server_model, linked_servers_of

__all__ = [
    "StepReader",
    "check",
    "contexts",
    "described",
    "opening",
    "setting_of",
]

KNOWN_ID, JOINED, WAIT, UNTIL_DUE, COME_OR_GO = 3, 4, 5, 6, 7
"""Operations; values below KNOWN_ID send a request.

KNOWN_ID sends a request with an id that the server sent, JOINED keeps a request to be sent with the next one.
"""
HELD = 8
"""An operation that sends a request while the client of a connection takes nothing."""
KINDS = (*(0,) * 9, JOINED, JOINED, JOINED, WAIT, UNTIL_DUE, COME_OR_GO, HELD)
"""The operations where bytes draw requests, by the lower half of a byte."""
FRAME_LIMIT = 4096
MOST_STEPS = 200
RECORDED = 0x80
"""Set in the first byte of an input that begins with a conversation of the vectors."""
SMALL = 0x40
"""Set in the first byte of an input for a server whose limits are low, and that does little at a time."""
MOST_SPLICED = 80
"""Steps of two conversations on one server."""
TO_SPLICE = 3
"""Bytes that choose the other conversation, and the turns."""
MORE_THAN_RECORDED = 4
"""Bytes of an input that does more than to play a conversation of the vectors."""
SPLICED = 0x10
"""Set in the first byte of an input whose conversation goes on with, or between, the steps of another one."""
LINKED_SERVERS = 0x20
"""Set in the first byte of an input for servers that are linked to each other, where a protocol has such."""
IS_SMALL = "the server has low limits and does little at a time"
IN_PARTS = 3
"""Of several requests the first is sent in two parts, and the others between them, where an operation ends so."""
MAY_HOLD, HOLDS_FROM = 2, 24
"""Elsewhere an operation of this kind does so whose upper bits are as high."""
WAITS_HELD = 13
"""WAIT with such upper bits lets a client take nothing meanwhile."""
HOW = ("close", "half", "reset")
LINKED = "abcdef"
"""Names of connections of several links: the first one is of the first link, and so on, in turn."""
ANOTHER_LINK = 0xE0
"""A byte from it on gives a connection another link."""
RESTARTS = 14
"""COME_OR_GO by such upper bits, or higher ones, ends a server that keeps something, and starts it again."""
UNGREETED = 0xE0
"""A byte from it on leaves a new connection without the usual greeting."""


@cache
def contexts(name: str) -> tuple[FuzzContext, ...]:
    """Return a context for every profile and variant of a protocol that has a model of a whole server.

    Some have one of a server that others may use only: less is required there.
    """
    return tuple(
        FuzzContext(name, profile.name, variant)
        for profile in protocol(name).profiles.values()
        for variant in profile.variants
        if has_server_model(name, profile=profile.name, variant=variant, shared=True)
    )


class StepReader:
    """Reads steps from bytes, of which the first is skipped; `names` are those that were drawn before."""

    def __init__(self, check: StoreCheck, data: bytes, names: Sequence[bytes] = (), *, holds: bool = True) -> None:
        """`holds`: whether clients may take nothing for a while."""
        self._holds = holds
        self._check, self._data, self._at = check, data, 1
        self._joined: tuple[Request, ...] = ()
        self.drawing = RequestDrawing(check.context, self._byte, check.known_ids, list(names))

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def next(self) -> Step | None:
        """Return the next step; None at the end."""
        while self._at < len(self._data):
            operation = self._byte()
            kind, which = operation & 7, operation >> 3
            if self._check.context.by_state:
                kind, which = KINDS[operation & 15], operation >> 4
            if kind == WAIT:
                return self._wait(which)
            if kind == UNTIL_DUE:
                return AdvanceStep(until_due(self._check, which, self._byte() % 3 - 1))
            if kind == COME_OR_GO:
                return self._come_or_go(which)
            request = self._drawn(which) if self._check.context.by_state else self._request()
            if request is None:
                if self._check.context.by_state and self._at < len(self._data):
                    continue  # nothing may be sent there
                return None
            if kind == JOINED and len(self._joined) < 8:
                self._joined += (request,)
                continue
            if kind == KNOWN_ID and not self._check.context.by_state:
                request = with_known_id(request, self._check.context, self._check.known_ids, which)
            asked, self._joined = (*self._joined, request), ()
            return self._asking(kind, which, asked)
        return None

    def _wait(self, which: int) -> Step:
        """Return the step that lets time pass, now and then while a client takes nothing."""
        waits = BRIEF_WAITS if self._check.context.by_state else WAITS
        step = AdvanceStep(waits[self._byte() % len(waits)])
        is_held = self._holds and which & 15 >= WAITS_HELD and len(self._check.connections) > 1
        return HeldStep(self._name(which), step) if is_held else step

    def _asking(self, kind: int, which: int, asked: tuple[Request, ...]) -> Step:
        """Return the step that sends requests, where an operation says so while a client takes nothing."""
        step = RequestStep(self._name(which), asked)
        if self._holds and (kind == HELD or (kind == MAY_HOLD and which >= HOLDS_FROM)):
            return HeldStep(self._name(which + (len(asked) & 1)), step)
        if self._holds and len(asked) > 1 and kind != JOINED and which & 3 == IN_PARTS:
            return PartsStep(
                RequestStep(step.connection, asked[:1]), which, RequestStep(self._name(which + 1), asked[1:])
            )
        return step

    def _name(self, which: int) -> str:
        return self._check.connections[which % len(self._check.connections)]

    def _come_or_go(self, which: int) -> Step:
        if which >= RESTARTS and isinstance(self._check.model, LastingModel):
            return RestartStep(is_killed=bool(which & 1))
        names = LINKED if self._check.context.by_state else CONNECTIONS
        name, there = names[which % len(names)], self._check.connections
        if name not in there:
            return ConnectStep(name, self._link(name))
        return DisconnectStep(name, HOW[which % len(HOW)]) if len(there) > 1 else AdvanceStep(0)

    def _link(self, name: str) -> str:
        """Return the link of a new connection; without a choice no byte is read."""
        if not self._check.context.by_state:
            return ""
        links = list(self._check.context.symbols.protocol.links)
        drawn = self._byte()
        return links[(LINKED.index(name) if drawn < ANOTHER_LINK else drawn) % len(links)]

    def conversation(self) -> tuple[Step, ...]:
        """Return the conversation of the vectors that two bytes choose; for `SPLICED`, with another one, in turns."""
        context, model = self._check.context, self._check.model
        known = conversation_steps(context.name, context.profile, context.variant)
        if not known:
            return ()
        first = known[(self._byte() + 256 * self._byte()) % len(known)]
        if not self._data[0] & SPLICED:
            return first
        second, turns = known[(self._byte() + 256 * self._byte()) % len(known)], self._byte()
        if len(first) + len(second) > MOST_SPLICED:
            return first
        return tuple(spliced(first, second, turns, lambda link: {type(one) for one in model.greeting(link)}))

    def variation(self) -> int:
        """Return how the next step of a conversation is done; as it is at the end of the data."""
        return self._byte()

    def changed(self, step: RequestStep) -> RequestStep:
        """Return a step of a conversation with another value in a field of one request, as some bytes say."""
        at = self._byte() % len(step.requests)
        asked = (*step.requests[:at], self.drawing.changed(step.requests[at]), *step.requests[at + 1 :])
        return RequestStep(step.connection, asked)

    def lacking(self, step: RequestStep) -> RequestStep:
        """Return a step of a conversation without one of its requests, as a byte says."""
        at = self._byte() % len(step.requests)
        return RequestStep(step.connection, step.requests[:at] + step.requests[at + 1 :])

    def greets(self) -> bool:
        """Return whether a new connection begins with the usual greeting; without a choice no byte is read."""
        return not self._check.context.by_state or self._byte() < UNGREETED

    def _drawn(self, which: int) -> Request | None:
        """Return a request that may be sent on a connection now; None at the end."""
        if self._at >= len(self._data):
            return None
        name = self._name(which)
        return self.drawing.draw(self._check.link_of(name), self._check.client_of(name))

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
    if _is_linked(name, data):
        context = contexts(name)[setting_of(name, data)]
        check_linked(name, context.profile, context.variant, data[1:], mutant)
    elif len(data) >= 2:
        found = _prepared(name, data, mutant)
        with closing(found.transport):
            _play(found, data)
            _check_counts(found)


def _check_counts(found: StoreCheck) -> None:
    """Compare the numbers that the server keeps with what they count: some are shown to nobody, or may be wrong."""
    if wrong := found.transport.miscounted():
        raise InvariantError("what is counted is there", wrong, "counts")


def described(name: str, data: bytes) -> InputDescription:
    """Return profile, variant and the steps up to the one that breaks something, as text."""
    if _is_linked(name, data):
        context = contexts(name)[setting_of(name, data)]
        turns = described_linked(name, context.profile, context.variant, data[1:])
        return InputDescription(context.profile, context.variant, turns)
    found = _prepared(name, data, None)
    with closing(found.transport), suppress(Exception), ending():
        _play(found, data)
    context = found.context
    done = tuple(map(describe_step, found.done))
    return InputDescription(context.profile, context.variant, (IS_SMALL, *done) if data[0] & SMALL else done)


def setting_of(name: str, data: bytes) -> int:
    """Return the place of the profile and variant of an input among `contexts`."""
    linked = 0 if linked_servers_of(name) is None else LINKED_SERVERS
    return (data[0] & ~(RECORDED | SMALL | SPLICED | linked)) % len(contexts(name))


def _is_linked(name: str, data: bytes) -> bool:
    """Return whether an input is for servers that are linked."""
    return len(data) >= 2 and data[0] & (LINKED_SERVERS | RECORDED) == LINKED_SERVERS and bool(linked_servers_of(name))


def _prepared(name: str, data: bytes, mutant: str | None) -> StoreCheck:
    context = contexts(name)[setting_of(name, data)]
    is_small = bool(data[0] & SMALL)
    made, lasts = (context.name, context.profile, context.variant), keeps_anything(name)
    transport = InProcess(*made, mutant=mutant, is_small=is_small, is_lasting=lasts)
    return StoreCheck(context, transport, tolerance_ns=0, shared=False)


def _play(found: StoreCheck, data: bytes) -> None:
    steps = StepReader(found, data)
    if data[0] & RECORDED:
        replay(found, steps)
    while len(found.done) < MOST_STEPS and (found.connections or _opened(found, data)):
        step = steps.next()
        if step is None:
            break
        known = len(found.connections)
        if isinstance(step, RestartStep):
            restart(found, step)
            continue
        found.do(step)
        if isinstance(step, ConnectStep) and len(found.connections) > known and steps.greets():
            found.do(RequestStep(step.connection, found.model.greeting(step.link)))


def _opened(found: StoreCheck, data: bytes) -> bool:
    """Open the usual connections, if there is data left for more than a conversation."""
    if data[0] & RECORDED and len(data) < MORE_THAN_RECORDED + (data[0] & SPLICED and TO_SPLICE):
        return False
    for step in connecting(found.model, opening(found.context)):
        found.do(step)
    return bool(found.connections)


def opening(context: FuzzContext) -> dict[str, str]:
    """Return the connections that are open from the beginning: name -> link."""
    if not context.by_state:
        return dict.fromkeys(CONNECTIONS[:2], "")
    links = context.symbols.protocol.links
    cycle = zip(LINKED, [*links] * len(LINKED), strict=False)
    return {name: link for name, link in cycle if links[link].transport == "stream"}
