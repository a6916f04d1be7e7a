"""Mutants of CHANNELS and PUBLISH."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    NO_LIMIT,
    Ask,
    both,
    changed,
    field_kind,
    swapped,
    with_answer,
    with_handler,
    with_request,
    with_rows,
)
from wireproof.mutants.throttr.server.subscriptions import SESSION_ID, keeping
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import U32, Repeated
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.throttr.replies import ChannelsFragment, ChannelsReply, ChannelsRow
from wireproof.protocols.throttr.requests import Channels as Asked
from wireproof.protocols.throttr.requests import Publish, Subscribe
from wireproof.reference_server.throttr.channels import Channels, Subscription
from wireproof.reference_server.throttr.listings import row_size
from wireproof.reference_server.throttr.record_requests import RecordRequests
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]


def _shown(**fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Show other values in every row."""
    return with_rows(
        Asked,
        lambda rows, ask: [changed(row, **{name: make(row, ask) for name, make in fields.items()}) for row in rows],
    )


def _listed(change: Callable[[list[Any], Ask], list[Any]]) -> HandlerPatch:
    return with_rows(Asked, change)


def _is_automatic(name: bytes) -> bool:
    return name == b"*" or len(name) == SESSION_ID


class _Remembering(Channels):
    """Lists the channels that were left and those published to."""

    closed, unsubscribed = True, True

    def __init__(self) -> None:
        super().__init__()
        self.idle: set[bytes] = set()

    def __iter__(self) -> Iterator[tuple[bytes, tuple[Subscription, ...]]]:
        there = dict(super().__iter__())
        return iter((name, there.get(name, ())) for name in sorted(there.keys() | self.idle))

    def remove(self, name: bytes, session: ThrottrSession) -> bool:
        if self.closed if session.closed else self.unsubscribed:
            self.idle.add(name)
        return super().remove(name, session)


class _RememberingClosed(_Remembering):
    """Lists the channels whose last subscriber is gone."""

    unsubscribed = False


class _Counting(Channels):
    """Counts every subscription a channel ever had."""

    def __init__(self) -> None:
        super().__init__()
        self.ever: dict[bytes, int] = {}

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        self.ever[name] = self.ever.get(name, 0) + 1
        super().add(name, session, since)


def _ever(row: Any, ask: Ask) -> int:
    channels = ask.state.channels
    return channels.ever[row.channel] if isinstance(channels, _Counting) else 0


def _parts(answer: bytes, ask: Ask) -> tuple[bytes, list[bytes], list[bytes]]:
    """Return the start of an answer of one fragment, up to its rows, then its rows and names."""
    codec = ask.state.codec
    reply, _ = codec.replies[Asked](answer, 0, len(answer), FrameContext(NO_LIMIT, request=ask.request))
    rows = [row for fragment in reply.fragments for row in fragment.rows]
    size, start = row_size(ask.state, ChannelsRow), len(codec.layout(ChannelsReply).lead) + 24
    parts = [codec.encode(ChannelsReply((ChannelsFragment(1, (row,)),)))[start:] for row in rows]
    head = codec.encode(ChannelsReply((ChannelsFragment(1, ()),)))[: start - 8] + len(rows).to_bytes(8, "little")
    return head, [part[:size] for part in parts], [part[size:] for part in parts]


def _interleaved(answer: bytes, ask: Ask) -> bytes:
    head, rows, names = _parts(answer, ask)
    return head + b"".join(row + name for row, name in zip(rows, names, strict=True))


def _names_reversed(answer: bytes, ask: Ask) -> bytes:
    head, rows, names = _parts(answer, ask)
    return head + b"".join(rows + names[::-1])


def _wider(answer: bytes, ask: Ask) -> bytes:
    head, rows, names = _parts(answer, ask)
    return head + b"".join([row + bytes(2) for row in rows] + names)


def _cut(size: int) -> HandlerPatch:
    """Show names of more than `size` bytes cut."""
    return _shown(channel=lambda row, ask: row.channel[:size])


def _per_profile(suffix: str, starts: str, row: str, count: str) -> tuple[ServerMutant, ...]:
    """Return faults of what each profile describes in clauses of its own."""
    return (
        mutant(f"channels-count-of-4-bytes{suffix}", "The fragment count of CHANNELS has 4 bytes.", starts,
              profile=field_kind(ChannelsReply, "fragments", Repeated(ChannelsFragment, U32))),
        mutant(f"channels-row-with-2-more{suffix}", "A row of CHANNELS is 2 bytes longer.", row,
              handlers=with_answer(Asked, _wider)),
        mutant(f"channels-of-1-subscriber{suffix}", "CHANNELS shows 1 subscriber for every channel.", count,
              handlers=_shown(subscribed_connections=lambda row, ask: 1)),
        mutant(f"channels-of-all-ever{suffix}", "CHANNELS counts those who left and closed, too.", count,
              state=keeping(_Counting), handlers=_shown(subscribed_connections=_ever)),
        mutant(f"channels-count-big-endian{suffix}", "CHANNELS counts subscribers in big-endian order.", count,
              "FRAMING-1", handlers=_shown(
                  subscribed_connections=lambda row, ask: swapped(row.subscribed_connections, 4))),
    )  # fmt: skip


# fmt: off
_LAYOUT = (
    *_per_profile("", "CHANNELS-2", "CHANNELS-4", "CHANNELS-9"),
    *_per_profile("-7.3.2", "CHANNELS-3", "CHANNELS-5", "CHANNELS-10"),
    mutant("channels-names-within-rows", "Each channel name stands behind its row.", "CHANNELS-11", "CHANNELS-4", "CHANNELS-5", "FRAGMENT-2",
           "FRAGMENT-7", handlers=with_answer(Asked, _interleaved)),
    mutant("channels-names-reversed", "The channel names stand in the opposite order of their rows.", "CHANNELS-11", "FRAGMENT-7",
           handlers=with_answer(Asked, _names_reversed)),
)
_FIELDS = (
    mutant("channels-without-names-of-1-byte", "CHANNELS leaves out names of 1 byte.", "CHANNELS-6", "CHANNELS-12",
           handlers=_listed(lambda rows, ask: [row for row in rows if len(row.channel) != 1 or row.channel == b"*"])),
    mutant("channels-write-bytes-are-subscribers", "WRITE BYTES of CHANNELS shows the number of subscribers.", "CHANNELS-8",
           handlers=_shown(write_bytes=lambda row, ask: row.subscribed_connections)),
)
_LISTED = (
    mutant("channels-of-the-asking", "CHANNELS names only channels that the asking connection holds.", "CHANNELS-12", "CHANNELS-15", "FRAGMENT-8",
           handlers=_listed(lambda rows, ask: [row for row in rows if row.channel in ask.session.subscriptions])),
    mutant("channels-with-those-closed", "CHANNELS lists channels whose subscribers are gone.", "CHANNELS-13", "CHANNELS-14", "ROBUSTNESS-21",
           state=keeping(_RememberingClosed)),
    mutant("channels-with-star", "CHANNELS lists the channel * though nobody is subscribed to it.", "CHANNELS-14", "CHANNELS-13", "FRAGMENT-14",
           handlers=_listed(lambda rows, ask: [*rows, ChannelsRow(b"*", 0, 0, 0)])),
    mutant("channels-without-automatic", "CHANNELS leaves out the automatic channels.", "CHANNELS-15", "CHANNELS-12",
           handlers=_listed(lambda rows, ask: [row for row in rows if not _is_automatic(row.channel)])),
)
# fmt: on
CHANNELS_MUTANTS = _LAYOUT + _FIELDS + _LISTED


class _Lasting(Channels):
    """Remembers the name of every channel there ever was."""

    def __init__(self) -> None:
        super().__init__()
        self.ever: set[bytes] = set()

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
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
)
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
)
# fmt: on
PUBLISH_MUTANTS = _REQUEST + _STATUS


MUTANTS = (
    *CHANNELS_MUTANTS,
    *PUBLISH_MUTANTS,
)
