"""Faults in CHANNEL: how it is asked, the rows of its answer, and who has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    changed,
    eating_a_byte,
    field_kind,
    lead,
    order,
    with_answer,
    with_found,
)
from wireproof.mutants.throttr.server.subscriptions import SESSION_ID, keeping, name_faults
from wireproof.protocols.fields import ABSENT, U16, U32, Blob, Rows
from wireproof.protocols.throttr.replies import ChannelReply, Subscriber
from wireproof.protocols.throttr.requests import Channel
from wireproof.reference_server.throttr.channels import Channels, Subscription
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["MUTANTS"]

Rowed = Callable[[list[Any], Ask], list[Any]]


def _rows(change: Rowed) -> HandlerPatch:
    """Answer other rows."""
    return with_found(
        Channel, lambda reply, ask: changed(reply, subscribers=tuple(change(list(reply.subscribers), ask)))
    )


def _shown(**fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Show other values in every row."""
    return _rows(
        lambda rows, ask: [changed(row, **{name: make(row, ask) for name, make in fields.items()}) for row in rows]
    )


def _row(session: ThrottrSession) -> Subscriber:
    return Subscriber(session.id, session.connected_at, 0, 0)


def _subscribed(session: ThrottrSession) -> bool:
    """Say whether a connection subscribed to anything itself."""
    return any(name != b"*" and len(name) != SESSION_ID for name in session.subscriptions)


class _Remembering(Channels):
    """Keeps the subscriptions that have ended apart."""

    closed, unsubscribed = True, True

    def __init__(self) -> None:
        super().__init__()
        self.ended: dict[bytes, list[Subscription]] = {}

    def remove(self, name: bytes, session: ThrottrSession) -> bool:
        """See `Channels`."""
        if self.closed if session.closed else self.unsubscribed:
            self.ended.setdefault(name, []).extend(session.subscriptions.get(name, ()))
        return super().remove(name, session)


class _RememberingLeft(_Remembering):
    """Keeps those that were unsubscribed from."""

    closed = False


class _RememberingClosed(_Remembering):
    """Keeps those whose connection is gone."""

    unsubscribed = False


def _with_ended(rows: list[Any], ask: Ask) -> list[Any]:
    channels = ask.state.channels
    ended = channels.ended.get(ask.request.channel, []) if isinstance(channels, _Remembering) else []
    return rows + [_row(one.session) for one in ended]


def _counted(number: int, reply: Any, ask: Ask) -> bytes:
    """Announce another number of rows."""
    answer = ask.state.codec.encode(reply)
    return answer[:1] + number.to_bytes(8, "little") + answer[9:]


def _narrow(reply: Any, ask: Ask) -> bytes:
    """Make each row of 28 bytes: of the three integers only the low 4 bytes."""
    answer = ask.state.codec.encode(reply)
    rows = [answer[at : at + 40] for at in range(9, len(answer), 40)]
    return answer[:9] + b"".join(row[:20] + row[24:28] + row[32:36] for row in rows)


def _found_empty(answer: bytes, ask: Ask) -> bytes:
    return ACCEPTED + bytes(8) if answer == DENIED else answer


def _found_asking(answer: bytes, ask: Ask) -> bytes:
    return ask.state.codec.encode(ChannelReply((_row(ask.session),))) if answer == DENIED else answer


_REQUEST = (
    mutant("channel-type-27", "CHANNEL is asked with byte 27.", "CHANNEL-1", "FRAMING-7", "FRAMING-8",
          profile=lead(Channel, 0x27)),
    mutant("channel-size-of-2-bytes", "CHANNEL takes a channel size of 2 bytes.", "CHANNEL-2", "CHANNEL-3",
          profile=field_kind(Channel, "channel", Blob(U16))),
    *name_faults(Channel, "CHANNEL-2", "SUBSCRIBE-12", "CHANNEL-12", "CHANNEL-16"),
    mutant("channel-eats-a-byte", "CHANNEL takes the byte behind the name for its end.", "CHANNEL-3", "FRAMING-3",
          handlers=eating_a_byte(Channel)),
)  # fmt: skip
_LAYOUT = (
    mutant("channel-without-status", "CHANNEL is answered without a status byte where somebody is subscribed.",
          "CHANNEL-4", "CHANNEL-5", "FRAMING-9", "FRAMING-10", profile=lead(ChannelReply)),
    mutant("channel-refused-with-count", "CHANNEL answers 00 and a number of 0 subscribers.", "CHANNEL-4", "CHANNEL-14",
          "CHANNEL-15", "FRAMING-6", handlers=with_answer(
              Channel, lambda answer, ask: DENIED + bytes(8) if answer == DENIED else answer)),
    mutant("channel-count-of-4-bytes", "CHANNEL answers a number of subscribers of 4 bytes.", "CHANNEL-5", "CHANNEL-6",
          profile=field_kind(ChannelReply, "subscribers", Rows(Subscriber, U32))),
    mutant("channel-count-is-1", "CHANNEL announces 1 subscriber, however many rows follow.", "CHANNEL-5", "CHANNEL-6",
          handlers=with_found(Channel, lambda reply, ask: _counted(1, reply, ask))),
    mutant("channel-count-without-the-last", "CHANNEL announces one subscriber less than rows follow.", "CHANNEL-5",
          "CHANNEL-6", handlers=with_found(
              Channel, lambda reply, ask: _counted(len(reply.subscribers) - 1, reply, ask))),
    mutant("channel-count-up-to-8", "CHANNEL announces 8 subscribers at most.", "CHANNEL-5", "CHANNEL-6",
          handlers=with_found(Channel, lambda reply, ask: _counted(min(len(reply.subscribers), 8), reply, ask))),
    mutant("channel-row-of-28-bytes", "A row of CHANNEL is 28 bytes.", "CHANNEL-6", "CHANNEL-8", "CHANNEL-10",
          "CHANNEL-11", handlers=with_found(Channel, _narrow)),
    mutant("channel-row-without-write-bytes", "A row of CHANNEL has no WRITE BYTES.", "CHANNEL-6", "CHANNEL-11",
          profile=field_kind(Subscriber, "write_bytes", ABSENT)),
    mutant("channel-name-follows", "The name of the channel stands behind the rows of CHANNEL.", "CHANNEL-6",
          handlers=with_found(Channel, lambda reply, ask: ask.state.codec.encode(reply) + ask.request.channel)),
)  # fmt: skip
_FIELDS = (
    mutant("channel-id-reversed", "CHANNEL shows the bytes of an id in the opposite order.", "CHANNEL-7", "CHANNEL-12",
          handlers=_shown(connection_id=lambda row, ask: row.connection_id[::-1])),
    mutant("channel-id-of-the-asking", "Every row of CHANNEL shows the id of the connection that asks.", "CHANNEL-7",
          "CHANNEL-12", handlers=_shown(connection_id=lambda row, ask: ask.session.id)),
    mutant("channel-subscribed-now", "SUBSCRIBED_AT is the time of asking.", "CHANNEL-8",
          handlers=_shown(subscribed_at=lambda row, ask: ask.state.wall(ask.now))),
    mutant("channel-subscribed-at-the-latest", "SUBSCRIBED_AT of every row is that of the latest subscriber.",
          "CHANNEL-8", handlers=_rows(
              lambda rows, ask: [changed(row, subscribed_at=max(one.subscribed_at for one in rows)) for row in rows])),
    mutant("channel-subscribed-at-an-age", "SUBSCRIBED_AT is how long the subscription lasts.", "CHANNEL-8",
          handlers=_shown(subscribed_at=lambda row, ask: ask.state.wall(ask.now) - row.subscribed_at)),
    mutant("channel-read-bytes-from-1", "READ BYTES of CHANNEL begins with 1.", "CHANNEL-10",
          handlers=_shown(read_bytes=lambda row, ask: row.read_bytes + 1)),
    mutant("channel-write-bytes-are-read-bytes", "WRITE BYTES of CHANNEL shows what was read.", "CHANNEL-11",
          handlers=_shown(write_bytes=lambda row, ask: row.read_bytes)),
    mutant("channel-write-before-read", "WRITE BYTES stands before READ BYTES in CHANNEL.", "CHANNEL-11", "CHANNEL-10",
          profile=order(Subscriber, "connection_id", "subscribed_at", "write_bytes", "read_bytes")),
    mutant("channel-time-before-id", "SUBSCRIBED_AT stands before the id in CHANNEL.", "CHANNEL-7", "CHANNEL-8",
          "CHANNEL-12", profile=order(Subscriber, "subscribed_at", "connection_id", "read_bytes", "write_bytes")),
)  # fmt: skip
_LISTED = (
    mutant("channel-without-the-asking", "CHANNEL leaves out the connection that asks.", "CHANNEL-12", "CHANNEL-16",
          handlers=_rows(lambda rows, ask: [row for row in rows if row.connection_id != ask.session.id])),
    mutant("channel-with-everybody", "CHANNEL has a row for whoever subscribed to anything.", "CHANNEL-12",
          "CHANNEL-13", "CHANNEL-16", handlers=_rows(
              lambda rows, ask: [_row(one) for one in ask.state.sessions.values() if _subscribed(one)])),
    mutant("channel-with-those-left", "CHANNEL still has rows of those who unsubscribed.", "CHANNEL-13", "CHANNEL-12",
          state=keeping(_RememberingLeft), handlers=_rows(_with_ended)),
    mutant("channel-with-those-closed", "CHANNEL still has rows of closed connections.", "CHANNEL-13", "CHANNEL-12",
          "ROBUSTNESS-21", state=keeping(_RememberingClosed), handlers=_rows(_with_ended)),
    mutant("channel-of-nobody-is-the-asking", "CHANNEL shows the asking connection where nobody is subscribed.",
          "CHANNEL-14", "CHANNEL-12", handlers=with_answer(Channel, _found_asking)),
    mutant("channel-of-nobody-is-empty", "CHANNEL answers 01 and no rows where nobody is subscribed.", "CHANNEL-15",
          handlers=with_answer(Channel, _found_empty)),
    mutant("channel-star-without-the-silent", "CHANNEL on * has no row for those who subscribed to nothing themselves.",
          "CHANNEL-16", "CHANNEL-12", handlers=_rows(lambda rows, ask: [
              row for row in rows if ask.request.channel != b"*" or row.connection_id == ask.session.id])),
)  # fmt: skip
MUTANTS = _REQUEST + _LAYOUT + _FIELDS + _LISTED
