"""Faults in CHANNEL: how it is asked, the rows of its answer, and who has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    changed,
    with_answer,
    with_found,
)
from wireproof.mutants.throttr.server.subscriptions import SESSION_ID, keeping
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


def _found_empty(answer: bytes, ask: Ask) -> bytes:
    return ACCEPTED + bytes(8) if answer == DENIED else answer


def _found_asking(answer: bytes, ask: Ask) -> bytes:
    return ask.state.codec.encode(ChannelReply((_row(ask.session),))) if answer == DENIED else answer


# fmt: off
_REQUEST = (
)  # fmt: skip
# fmt: on
# fmt: off
_LAYOUT = (
    mutant("channel-count-is-1", "CHANNEL announces 1 subscriber, however many rows follow.", "CHANNEL-5", "CHANNEL-6",
           handlers=with_found(Channel, lambda reply, ask: _counted(1, reply, ask))),
    mutant("channel-count-up-to-8", "CHANNEL announces 8 subscribers at most.", "CHANNEL-5", "CHANNEL-6",
           handlers=with_found(Channel, lambda reply, ask: _counted(min(len(reply.subscribers), 8), reply, ask))),
    mutant("channel-name-follows", "The name of the channel stands behind the rows of CHANNEL.", "CHANNEL-6",
           handlers=with_found(Channel, lambda reply, ask: ask.state.codec.encode(reply) + ask.request.channel)),
)  # fmt: skip
# fmt: on
# fmt: off
_FIELDS = (
    mutant("channel-id-of-the-asking", "Every row of CHANNEL shows the id of the connection that asks.", "CHANNEL-7", "CHANNEL-12",
           handlers=_shown(connection_id=lambda row, ask: ask.session.id)),
    mutant("channel-subscribed-at-an-age", "SUBSCRIBED_AT is how long the subscription lasts.", "CHANNEL-8",
           handlers=_shown(subscribed_at=lambda row, ask: ask.state.wall(ask.now) - row.subscribed_at)),
    mutant("channel-read-bytes-from-1", "READ BYTES of CHANNEL begins with 1.", "CHANNEL-10",
           handlers=_shown(read_bytes=lambda row, ask: row.read_bytes + 1)),
)  # fmt: skip
# fmt: on
# fmt: off
_LISTED = (
    mutant("channel-with-everybody", "CHANNEL has a row for whoever subscribed to anything.", "CHANNEL-12", "CHANNEL-13", "CHANNEL-16",
           handlers=_rows(lambda rows, ask: [_row(one) for one in ask.state.sessions.values() if _subscribed(one)])),
    mutant("channel-with-those-closed", "CHANNEL still has rows of closed connections.", "CHANNEL-13", "CHANNEL-12", "ROBUSTNESS-21",
           state=keeping(_RememberingClosed), handlers=_rows(_with_ended)),
    mutant("channel-of-nobody-is-the-asking", "CHANNEL shows the asking connection where nobody is subscribed.", "CHANNEL-14", "CHANNEL-12",
           handlers=with_answer(Channel, _found_asking)),
    mutant("channel-of-nobody-is-empty", "CHANNEL answers 01 and no rows where nobody is subscribed.", "CHANNEL-15",
           handlers=with_answer(Channel, _found_empty)),
    mutant("channel-star-without-the-silent", "CHANNEL on * has no row for those who subscribed to nothing themselves.", "CHANNEL-16", "CHANNEL-12",
           handlers=_rows(lambda rows, ask: [row for row in rows if ask.request.channel != b"*" or row.connection_id == ask.session.id])),
)  # fmt: skip
# fmt: on
MUTANTS = _REQUEST + _LAYOUT + _FIELDS + _LISTED
