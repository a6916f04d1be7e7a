"""Faults in PUBLISH: how it is read, what its publisher is told, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    both,
    changed,
    with_answer,
    with_handler,
    with_request,
)
from wireproof.mutants.throttr.server.subscriptions import keeping
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.throttr.requests import Publish, Subscribe
from wireproof.reference_server.throttr.channels import Channels
from wireproof.reference_server.throttr.record_requests import RecordRequests
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]


class _Lasting(Channels):
    """Remembers the name of every channel there ever was."""

    def __init__(self) -> None:
        super().__init__()
        self.ever: set[bytes] = set()

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        """See `Channels`."""
        self.ever.add(name)
        super().add(name, session, since)


class _Storing(Channels):
    """Keeps the last message of every channel."""

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[bytes, Publish] = {}


def _was_there(answer: bytes, ask: Ask) -> bytes:
    channels = ask.state.channels
    return ACCEPTED if isinstance(channels, _Lasting) and ask.request.channel in channels.ever else answer


def _stores(correct: Handler, state: State) -> Handler:
    def handle(request: Publish, session: ThrottrSession, now: int) -> bytes:
        if isinstance(state.channels, _Storing):
            state.channels.last[request.channel] = request
        return correct(request, session, now)

    return handle


def _delivers_stored(correct: Handler, state: State) -> Handler:
    def handle(request: Subscribe, session: ThrottrSession, now: int) -> bytes:
        answer = correct(request, session, now)
        last = state.channels.last.get(request.channel) if isinstance(state.channels, _Storing) else None
        if last is not None:
            (push,) = state.codec.profile.pushes
            fields = {"channel": last.channel, "payload": last.payload}
            message = push(*(fields[name] for name in push.__struct_fields__))
            session.push(state.codec.encode(message), len(last.payload))
        return answer

    return handle


def _payload_first(request: Publish, ask: Ask) -> Any:
    """Read the bytes behind the sizes as payload and channel."""
    bodies, size = request.channel + request.payload, len(request.payload)
    return changed(request, payload=bodies[:size], channel=bodies[size:])


def _carried_out(correct: Handler, state: State) -> Handler:
    """Carry the payload out, too, where it is a request about a record."""
    handlers = RecordRequests(state).handlers()

    def handle(request: Publish, session: ThrottrSession, now: int) -> bytes:
        with suppress(MalformedFrameError):
            inner = state.codec.whole_request(request.payload)
            if type(inner) in handlers:
                handlers[type(inner)](inner, session, now)
        return correct(request, session, now)

    return handle


def _unless_subscribed(correct: Handler, state: State) -> Handler:
    def handle(request: Publish, session: ThrottrSession, now: int) -> bytes:
        return correct(request, session, now) if request.channel in session.subscriptions else DENIED

    return handle


def _of_two(answer: bytes, ask: Ask) -> bytes:
    """Accept what two or more receive."""
    return answer if len(ask.state.channels.of(ask.request.channel)) > 1 else DENIED


def _payload(change: Callable[[bytes], bytes]) -> HandlerPatch:
    return with_request(Publish, lambda request, ask: changed(request, payload=change(request.payload)))


_WIDE = ("uint16", "uint32", "uint64")
# fmt: off
_REQUEST = (
    mutant("publish-payload-size-of-12-bits", "PUBLISH ignores the upper bits of the payload size.", "PUBLISH-3", "PUSH-7", "PUBLISH-14",
           variants=_WIDE, handlers=_payload(lambda payload: payload[: len(payload) & 0xFFF])),
    mutant("publish-payload-size-of-7-bits", "PUBLISH ignores the highest bit of a payload size up to 255.", "PUBLISH-3", "PUSH-7", "PUBLISH-14",
           handlers=_payload(lambda payload: payload[: len(payload) & ~0x80])),
    mutant("publish-payload-up-to-126", "PUBLISH cuts payloads at 126 bytes.", "PUBLISH-3", "PUSH-7", "PUBLISH-14",
           handlers=_payload(lambda payload: payload[:126])),
    mutant("publish-payload-of-1-byte-is-none", "PUBLISH takes a payload of 1 byte for an empty one.", "PUBLISH-3", "PUSH-7", "PUBLISH-14",
           handlers=_payload(lambda payload: payload[len(payload) == 1 :])),
    mutant("publish-payload-before-channel", "PUBLISH takes the payload before the channel.", "PUBLISH-4", "PUBLISH-5", "PUBLISH-7", "PUSH-4",
           "PUSH-7", handlers=with_request(Publish, _payload_first)),
    mutant("publish-carries-its-payload-out", "A payload that is a request about a record is carried out.", "PUBLISH-5", "PUBLISH-14",
           handlers=with_handler(Publish, _carried_out)),
    mutant("publish-payload-ends-at-00", "A payload ends at its first byte 00.", "PUBLISH-14", "PUSH-7",
           handlers=_payload(lambda payload: payload.split(b"\0")[0])),
    mutant("publish-payload-without-line-ends", "Line ends at the end of a payload are dropped.", "PUBLISH-14", "PUSH-7",
           handlers=_payload(lambda payload: payload.rstrip(b"\r\n"))),
    mutant("publish-payload-of-7-bits", "The highest bit of each byte of a payload is cleared.", "PUBLISH-14", "PUSH-7",
           handlers=_payload(lambda payload: bytes(one & 0x7F for one in payload))),
)  # fmt: skip
# fmt: on
# fmt: off
_STATUS = (
    mutant("publish-answers-twice", "PUBLISH is answered with two bytes.", "PUBLISH-6", handlers=with_answer(Publish, lambda answer, ask: answer * 2)),
    mutant("publish-unanswered", "PUBLISH that reaches somebody is not answered, as in an early release.", "PUBLISH-6", "PUBLISH-7", "PUBLISH-11",
           "FRAMING-7", handlers=with_answer(Publish, lambda answer, ask: b"" if answer == ACCEPTED else answer)),
    mutant("publish-accepted-from-two", "PUBLISH answers 00 where only one connection receives the message.", "PUBLISH-7", "PUBLISH-11",
           handlers=with_answer(Publish, _of_two)),
    mutant("publish-always-accepted", "PUBLISH answers 01 though nobody is subscribed.", "PUBLISH-8", "PUBLISH-13", "FRAMING-5",
           handlers=with_answer(Publish, lambda answer, ask: ACCEPTED)),
    mutant("publish-to-star-refused", "PUBLISH to * is delivered and answered with 00.", "PUBLISH-11", "PUBLISH-7",
           handlers=with_answer(Publish, lambda answer, ask: DENIED if ask.request.channel == b"*" else answer)),
    mutant("publish-only-by-subscribers", "PUBLISH by a connection that is not subscribed is refused.", "PUBLISH-12", "PUBLISH-7", "SUBSCRIBE-5",
           "PUSH-4", handlers=with_handler(Publish, _unless_subscribed)),
    mutant("publish-to-channels-that-were", "PUBLISH answers 01 for every channel there ever was.", "PUBLISH-13", "PUBLISH-8",
           state=keeping(_Lasting), handlers=with_answer(Publish, _was_there)),
    mutant("publish-stores-the-last", "The last message of a channel is delivered to whoever subscribes later.", "PUBLISH-16", "PUSH-6",
           state=keeping(_Storing), handlers=both(with_handler(Publish, _stores), with_handler(Subscribe, _delivers_stored))),
)  # fmt: skip
# fmt: on
MUTANTS = _REQUEST + _STATUS
