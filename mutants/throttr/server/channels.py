"""Mutants of CHANNELS and PUBLISH."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.server import Ask, HandlerPatch, changed, field_kind, taking, with_answer
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import WIDE, swapped, with_reply, with_rows
from wireproof.protocols.fields import U32, Repeated
from wireproof.protocols.throttr.replies import ChannelsFragment, ChannelsReply, ChannelsRow
from wireproof.protocols.throttr.requests import Channels as Asked
from wireproof.protocols.throttr.requests import Publish
from wireproof.reference_server.throttr.listings import row_size
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["MUTANTS"]


def _shown(**fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Show other values in every row."""
    return with_rows(
        Asked,
        lambda rows, ask: [changed(row, **{name: make(row, ask) for name, make in fields.items()}) for row in rows],
    )


def _laid_out(order: Callable[[list[bytes], list[bytes]], list[bytes]]) -> HandlerPatch:
    """Answer one fragment whose rows and names lie as `order(rows, names)` says."""

    def change(reply: Any, ask: Ask) -> bytes:
        codec, found = ask.state.codec, [row for fragment in reply.fragments for row in fragment.rows]
        head: bytes = codec.encode(ChannelsReply((ChannelsFragment(1, ()),)))[:-8] + len(found).to_bytes(8, "little")
        rows = [codec.encode(ChannelsReply((ChannelsFragment(1, (row,)),)))[len(head) :] for row in found]
        size = row_size(ask.state, ChannelsRow)
        return head + b"".join(order([row[:size] for row in rows], [row[size:] for row in rows]))

    return with_reply(Asked, change)


# fmt: off
def _per_profile(suffix: str, starts: str, row: str, count: str) -> tuple[ServerMutant, ...]:
    """Return mutants of what each profile describes in clauses of its own."""
    return (
        mutant(f"channels-count-of-4-bytes{suffix}", "The fragment count of CHANNELS has 4 bytes.", starts,
               profile=field_kind(ChannelsReply, "fragments", Repeated(ChannelsFragment, U32))),
        mutant(f"channels-row-with-2-more{suffix}", "A row of CHANNELS is 2 bytes longer.", row,
               handlers=_laid_out(lambda rows, names: [row + bytes(2) for row in rows] + names)),
        mutant(f"channels-of-1-subscriber{suffix}", "CHANNELS shows 1 subscriber for every channel.", count,
               edit("ChannelRequests._rows", "len(subscriptions))", "1)")),
        mutant(f"channels-count-of-one-byte{suffix}", "CHANNELS counts subscribers modulo 256.", count,
               edit("ChannelRequests._rows", "len(subscriptions))", "len(subscriptions) & 0xFF)")),
        mutant(f"channels-of-all-ever{suffix}", "CHANNELS counts those who left and closed, too.", count,
               first("Channels.add", "ever = vars(self).setdefault('ever', {}); ever[name] = ever.get(name, 0) + 1"),
               edit("ChannelRequests._rows", "len(subscriptions))", "self._channels.ever[name])")),
        mutant(f"channels-count-big-endian{suffix}", "CHANNELS counts subscribers in big-endian order.",
               f"{count} FRAMING-1",
               handlers=_shown(subscribed_connections=lambda row, ask: swapped(row.subscribed_connections, 4))),
    )
# fmt: on

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("unsubscribe-refused-makes-a-channel", "UNSUBSCRIBE of a channel that is not held leaves an empty one.",
           "CHANNELS-13 CHANNELS-14 CHANNEL-2 INFO-28",
           edit("channels.Channels.remove", "if held is None:", "if held is None:", "    self._channels.setdefault(name, {})")),
    *_per_profile("", "CHANNELS-2", "CHANNELS-4", "CHANNELS-9"),
    *_per_profile("-7.3.2", "CHANNELS-3", "CHANNELS-5", "CHANNELS-10"),
    mutant("channels-names-within-rows", "Each channel name stands after its row.",
           "CHANNELS-11 CHANNELS-4 CHANNELS-5 FRAGMENT-2 FRAGMENT-7",
           handlers=_laid_out(lambda rows, names: [one for pair in zip(rows, names, strict=True) for one in pair])),
    mutant("channels-names-reversed", "The channel names stand in the opposite order of their rows.",
           "CHANNELS-11 FRAGMENT-7", handlers=_laid_out(lambda rows, names: rows + names[::-1])),
    mutant("channels-without-names-of-1-byte", "CHANNELS leaves out names of 1 byte.", "CHANNELS-6 CHANNELS-12",
           handlers=with_rows(Asked,
                              lambda rows, ask: [row for row in rows if len(row.channel) != 1 or row.channel == b"*"])),
    mutant("channels-write-bytes-are-subscribers", "WRITE BYTES of CHANNELS shows the number of subscribers.",
           "CHANNELS-8", handlers=_shown(write_bytes=lambda row, ask: row.subscribed_connections)),
    mutant("channels-of-the-asking", "CHANNELS names only channels that the asking connection holds.",
           "CHANNELS-12 CHANNELS-15 FRAGMENT-8",
           handlers=with_rows(Asked,
                              lambda rows, ask: [row for row in rows if row.channel in ask.session.subscriptions])),
    mutant("channels-with-those-closed", "CHANNELS lists channels whose subscribers are gone.",
           "CHANNELS-13 CHANNELS-14 ROBUSTNESS-21",
           edit("Channels.__iter__", "((name, tuple(self._channels[name])) for name in sorted(self._channels))",
                "((name, self.of(name)) for name in sorted(self._channels.keys() | vars(self).get('idle', set())))"),
           before("Channels.remove", "if held is None:",
                  "if session.closed: vars(self).setdefault('idle', set()).add(name)")),
    mutant("channels-with-star", "CHANNELS lists the channel * though nobody is subscribed to it.",
           "CHANNELS-14 CHANNELS-13 FRAGMENT-14",
           handlers=with_rows(Asked, lambda rows, ask: [*rows, ChannelsRow(b"*", 0, 0, 0)])),
    mutant("channels-without-automatic", "CHANNELS leaves out the automatic channels.", "CHANNELS-15 CHANNELS-12",
           handlers=with_rows(Asked,
                              lambda rows, ask: [row for row in rows if row.channel != b"*" and len(row.channel) != 32])),
    mutant("publish-payload-size-of-12-bits", "PUBLISH ignores the upper bits of the payload size.",
           "PUBLISH-3 PUSH-7 PUBLISH-14", variants=WIDE,
           handlers=taking(Publish, payload=lambda payload: payload[: len(payload) & 0xFFF])),
    mutant("publish-payload-size-of-7-bits", "PUBLISH ignores the highest bit of a payload size up to 255.",
           "PUBLISH-3 PUSH-7 PUBLISH-14",
           handlers=taking(Publish, payload=lambda payload: payload[: len(payload) & ~0x80])),
    mutant("publish-payload-up-to-126", "PUBLISH cuts payloads at 126 bytes.", "PUBLISH-3 PUSH-7 PUBLISH-14",
           handlers=taking(Publish, payload=lambda payload: payload[:126])),
    mutant("publish-payload-of-1-byte-is-none", "PUBLISH takes a payload of 1 byte for an empty one.",
           "PUBLISH-3 PUSH-7 PUBLISH-14",
           handlers=taking(Publish, payload=lambda payload: payload[len(payload) == 1 :])),
    mutant("publish-payload-before-channel", "PUBLISH takes the payload before the channel.",
           "PUBLISH-4 PUBLISH-5 PUBLISH-7 PUSH-4 PUSH-7",
           first("ChannelRequests.publish", "both, size = request.channel + request.payload, len(request.payload)",
                 "request = Publish(channel=both[size:], payload=both[:size])")),
    mutant("publish-carries-its-payload-out", "A payload that is a request about a record is carried out.",
           "PUBLISH-5 PUBLISH-14",
           first("ChannelRequests.publish", "from contextlib import suppress",
                 "from wireproof.reference_server.throttr.record_requests import RecordRequests",
                 "with suppress(Exception):",
                 "    inner = self._state.codec.whole_request(request.payload)",
                 "    RecordRequests(self._state).handlers()[type(inner)](inner, session, now)")),
    mutant("publish-payload-ends-at-00", "A payload ends at its first byte 00.", "PUBLISH-14 PUSH-7",
           handlers=taking(Publish, payload=lambda payload: payload.split(b"\0")[0])),
    mutant("publish-payload-without-line-ends", "Line ends at the end of a payload are dropped.", "PUBLISH-14 PUSH-7",
           handlers=taking(Publish, payload=lambda payload: payload.rstrip(b"\r\n"))),
    mutant("publish-payload-of-7-bits", "The highest bit of each byte of a payload is cleared.", "PUBLISH-14 PUSH-7",
           handlers=taking(Publish, payload=lambda payload: bytes(one & 0x7F for one in payload))),
    mutant("publish-answers-twice", "PUBLISH is answered with two bytes.", "PUBLISH-6",
           handlers=with_answer(Publish, lambda answer, ask: answer * 2)),
    mutant("publish-unanswered", "PUBLISH that reaches somebody is not answered, as in an early release.",
           "PUBLISH-6 PUBLISH-7 PUBLISH-11 FRAMING-7",
           handlers=with_answer(Publish, lambda answer, ask: b"" if answer == ACCEPTED else answer)),
    mutant("publish-accepted-from-two", "PUBLISH answers 00 where only one connection receives the message.",
           "PUBLISH-7 PUBLISH-11",
           edit("ChannelRequests.publish", "ACCEPTED if delivered", "ACCEPTED if len(subscriptions) > 1")),
    mutant("publish-always-accepted", "PUBLISH answers 01 though nobody is subscribed.",
           "PUBLISH-8 PUBLISH-13 FRAMING-5", handlers=with_answer(Publish, lambda answer, ask: ACCEPTED)),
    mutant("publish-to-star-refused", "PUBLISH to * is delivered and answered with 00.", "PUBLISH-11 PUBLISH-7",
           handlers=with_answer(Publish, lambda answer, ask: DENIED if ask.request.channel == b"*" else answer)),
    mutant("publish-only-by-subscribers", "PUBLISH by a connection that is not subscribed is refused.",
           "PUBLISH-12 PUBLISH-7 SUBSCRIBE-5 PUSH-4",
           first("ChannelRequests.publish", "if request.channel not in session.subscriptions: return DENIED")),
    mutant("publish-to-channels-that-were", "PUBLISH answers 01 for every channel there ever was.",
           "PUBLISH-13 PUBLISH-8", first("Channels.add", "vars(self).setdefault('ever', set()).add(name)"),
           edit("ChannelRequests.publish", "return DENIED",
                "return ACCEPTED if request.channel in vars(self._channels).get('ever', ()) else DENIED")),
    mutant("publish-stores-the-last", "The last message of a channel is delivered to whoever subscribes later.",
           "PUBLISH-16 PUSH-6",
           first("ChannelRequests.publish", "vars(self).setdefault('last', {})[request.channel] = request.payload"),
           after("ChannelRequests.subscribe", "self._channels.add(request.channel, session, self._state.wall(now))",
                 "payload = vars(self).get('last', {}).get(request.channel)",
                 "if payload is not None: session.push(self._frame(request.channel, payload), len(payload))")),
)  # fmt: skip
