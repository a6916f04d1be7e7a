"""Faults in CHANNELS: its rows and names, and which channels are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    NO_LIMIT,
    Ask,
    changed,
    field_kind,
    swapped,
    with_answer,
    with_rows,
)
from wireproof.mutants.throttr.server.subscriptions import SESSION_ID, keeping
from wireproof.protocols.fields import U32, Repeated
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.throttr.replies import ChannelsFragment, ChannelsReply, ChannelsRow
from wireproof.protocols.throttr.requests import Channels as Asked
from wireproof.reference_server.throttr.channels import Channels, Subscription
from wireproof.reference_server.throttr.listings import row_size
from wireproof.reference_server.throttr.session import ThrottrSession

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
        """See `Channels`."""
        there = dict(super().__iter__())
        return iter((name, there.get(name, ())) for name in sorted(there.keys() | self.idle))

    def remove(self, name: bytes, session: ThrottrSession) -> bool:
        """See `Channels`."""
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
        """See `Channels`."""
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
)  # fmt: skip
# fmt: on
# fmt: off
_FIELDS = (
    mutant("channels-without-names-of-1-byte", "CHANNELS leaves out names of 1 byte.", "CHANNELS-6", "CHANNELS-12",
           handlers=_listed(lambda rows, ask: [row for row in rows if len(row.channel) != 1 or row.channel == b"*"])),
    mutant("channels-write-bytes-are-subscribers", "WRITE BYTES of CHANNELS shows the number of subscribers.", "CHANNELS-8",
           handlers=_shown(write_bytes=lambda row, ask: row.subscribed_connections)),
)  # fmt: skip
# fmt: on
# fmt: off
_LISTED = (
    mutant("channels-of-the-asking", "CHANNELS names only channels that the asking connection holds.", "CHANNELS-12", "CHANNELS-15", "FRAGMENT-8",
           handlers=_listed(lambda rows, ask: [row for row in rows if row.channel in ask.session.subscriptions])),
    mutant("channels-with-those-closed", "CHANNELS lists channels whose subscribers are gone.", "CHANNELS-13", "CHANNELS-14", "ROBUSTNESS-21",
           state=keeping(_RememberingClosed)),
    mutant("channels-with-star", "CHANNELS lists the channel * though nobody is subscribed to it.", "CHANNELS-14", "CHANNELS-13", "FRAGMENT-14",
           handlers=_listed(lambda rows, ask: [*rows, ChannelsRow(b"*", 0, 0, 0)])),
    mutant("channels-without-automatic", "CHANNELS leaves out the automatic channels.", "CHANNELS-15", "CHANNELS-12",
           handlers=_listed(lambda rows, ask: [row for row in rows if not _is_automatic(row.channel)])),
)  # fmt: skip
# fmt: on
MUTANTS = _LAYOUT + _FIELDS + _LISTED
