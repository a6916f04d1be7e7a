"""Mutants of SUBSCRIBE, UNSUBSCRIBE and CHANNEL."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.mutants.edits import Edit, after, before, edit, first
from wireproof.mutants.server import HandlerPatch, taking, with_answer
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import V732
from wireproof.protocols.throttr.requests import Channel, Publish, Subscribe, Unsubscribe

__all__ = ["MUTANTS"]

NAMED = (Subscribe, Unsubscribe, Publish, Channel)
AUTOMATIC = "name == b'*' or len(name) == 32"
"""Whether it is the name of a channel that a connection may be subscribed to from its beginning."""


def _named(change: Callable[[bytes], bytes]) -> HandlerPatch:
    """Take `change(name)` for the name of the channel."""
    return taking(NAMED, channel=change)


def _subscriber(old: str, new: str) -> Edit:
    """Show other values in every row of CHANNEL, about `one` subscription."""
    return edit("ChannelRequests.channel", old, new)


def _counted(number: str) -> Edit:
    """Announce another number of rows."""
    return edit(
        "ChannelRequests.channel",
        "return self._state.codec.encode(ChannelReply(rows))",
        "answer = self._state.codec.encode(ChannelReply(rows))",
        f"return answer[:1] + ({number}).to_bytes(8, 'little') + answer[9:]",
    )


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("subscribe-answers-twice", "SUBSCRIBE is answered with two bytes 01.", "SUBSCRIBE-4",
           handlers=with_answer(Subscribe, lambda answer, ask: answer * 2)),
    mutant("subscribe-answers-the-count", "SUBSCRIBE is answered with the number of subscriptions the channel has.",
           "SUBSCRIBE-4 FRAMING-5",
           handlers=with_answer(Subscribe, lambda answer, ask: bytes([len(ask.state.channels.of(ask.request.channel))]))),
    mutant("subscribe-without-effect", "SUBSCRIBE is answered with 01 and subscribes nobody.",
           "SUBSCRIBE-5 SUBSCRIBE-6", first("ChannelRequests.subscribe", "return ACCEPTED")),
    mutant("subscribe-not-again", "SUBSCRIBE to a channel that was left is answered with 01 and subscribes nobody.",
           "SUBSCRIBE-5", first("Channels.add", "if (name, session.id) in vars(self).get('gone', ()): return"),
           first("Channels.remove", "vars(self).setdefault('gone', set()).add((name, session.id))")),
    mutant("subscribe-one-subscriber-each", "SUBSCRIBE ends the channel's other subscriptions.",
           "SUBSCRIBE-6 PUSH-4 UNSUBSCRIBE-6",
           first("Channels.add", "for one in self.of(name) if name != b'*' else (): self.remove(name, one.session)")),
    mutant("subscribe-at-most-16", "A connection may hold 16 channels and no more.", "SUBSCRIBE-6 SUBSCRIBE-5",
           first("ChannelRequests.subscribe", "if session.subscribed >= 16: return DENIED")),
    mutant("subscriptions-outlive-connections", "Subscriptions stay when their connection has gone.",
           "SUBSCRIBE-7 PUBLISH-13 CHANNEL-12 CHANNEL-13 CHANNELS-9 CHANNELS-10 CHANNELS-13 INFO-26 INFO-27 "
           "INFO-28 ROBUSTNESS-21", first("Channels.leave", "return")),
    mutant("every-second-subscription-outlives-its-connection", "Every second subscription of a connection stays.",
           "SUBSCRIBE-7 PUBLISH-13 CHANNEL-12 CHANNEL-13 CHANNELS-9 CHANNELS-10 CHANNELS-13 INFO-26 INFO-27 INFO-28 ROBUSTNESS-21",
           edit("Channels.leave", "list(session.subscriptions)", "list(session.subscriptions)[::2]")),
    mutant("unsubscribe-forgets-the-last", "UNSUBSCRIBE of what is not held forgets which channel was held last.",
           "SUBSCRIBE-7 UNSUBSCRIBE-6 PUBLISH-13 CHANNEL-12 CHANNEL-13 CHANNELS-9 CHANNELS-10 CHANNELS-13 INFO-26 INFO-27 INFO-28 ROBUSTNESS-21",
           first("ChannelRequests.unsubscribe",
                 "held = session.subscriptions",
                 "if held and request.channel not in held: held.popitem()")),
    mutant("subscriptions-inherited", "Who subscribes next gets the subscriptions of the connection that went last.",
           "SUBSCRIBE-7 PUSH-5 PUBLISH-8 PUBLISH-13",
           first("Channels.leave", f"self.left = [name for name in session.subscriptions if not ({AUTOMATIC})]"),
           after("Channels.add", "self.subscriptions += 1",
                 "left, self.left = vars(self).get('left', ()), ()",
                 "for one in left:",
                 "    if one not in session.subscriptions: self.add(one, session, since)")),
    mutant("channel-names-stripped", "Blanks and line ends at the end of a channel's name are dropped.",
           "SUBSCRIBE-10 PUSH-5 PUBLISH-8 PUSH-3", handlers=_named(bytes.rstrip)),
    mutant("channel-names-in-utf-8", "Bytes of a channel's name that are no UTF-8 are dropped.",
           "SUBSCRIBE-10 PUSH-5 PUBLISH-8 PUSH-3 SUBSCRIBE-12",
           handlers=_named(lambda name: name.decode("utf-8", "ignore").encode())),
    *(mutant(f"channels-{name}", text, "SUBSCRIBE-10 PUSH-5 PUBLISH-8 PUBLISH-7",
             *(first(f"Channels.{one}", f"name = {fold}") for one in ("of", "add", "remove")))
      for name, text, fold in (
          ("in-utf-8-at-best", "Channels are the same where decoding UTF-8 puts the same character for what it cannot read.",
           "name.decode(errors='replace').encode()"),
          ("in-seven-bits", "Channels are the same where their names are in seven bits.", "bytes(one & 0x7F for one in name)"),
          ("of-letters-normalized", "Channels are the same where their names are the same normalized text.",
           "__import__('unicodedata').normalize('NFC', name.decode('utf-8', 'surrogateescape')).encode('utf-8', 'surrogateescape')"))),
    mutant("channel-names-of-graphic-characters", "Bytes of a name that are no graphic characters are dropped.",
           "SUBSCRIBE-10 PUSH-5 PUBLISH-8 PUSH-3",
           handlers=_named(lambda name: bytes(one for one in name if 0x20 < one < 0x7F))),
    mutant("channel-names-without-patterns", "The characters * and / of a channel's name are dropped.",
           "SUBSCRIBE-10 PUSH-5 PUBLISH-8 PUSH-3",
           handlers=_named(lambda name: name if name == b"*" else name.translate(None, b"*/"))),
    mutant("channel-names-that-begin-others", "What is published to a name that nobody holds reaches who holds its beginning.",
           "SUBSCRIBE-10 PUSH-5 PUBLISH-8",
           first("ChannelRequests.publish",
                 "sizes = [one for one in range(len(request.channel), 0, -1) if self._channels.of(request.channel[:one])]",
                 "request = Publish(channel=request.channel[:sizes[0]], payload=request.payload) if sizes else request")),
    mutant("unsubscribe-leaves-star-too", "UNSUBSCRIBE from a channel that was asked for also ends the subscription to *.",
           "UNSUBSCRIBE-5 CHANNEL-16 PUSH-13",
           before("ChannelRequests.unsubscribe", "return ACCEPTED", "self._channels.remove(b'*', session)"),
           profiles=("7.3.2",)),
    mutant("channel-names-of-255-refused", "SUBSCRIBE to a name of 255 bytes is refused.", "SUBSCRIBE-12 SUBSCRIBE-5",
           first("ChannelRequests.subscribe", "if len(request.channel) == 255: return DENIED")),
    mutant("subscribed-to-star-and-id", "A fresh connection is subscribed to * and to its own id.",
           "SUBSCRIBE-13 CHANNELS-14 INFO-26 PUSH-5", rules={"auto_subscribe": True}),
    mutant("subscribed-to-nothing", "A fresh connection holds no subscription.",
           "SUBSCRIBE-14 CHANNELS-15 CHANNEL-16 PUBLISH-11 PUSH-13 PUSH-14 INFO-27", rules={"auto_subscribe": False}),
    mutant("subscribed-to-star-alone", "A fresh connection is not subscribed to its own id.",
           "SUBSCRIBE-14 CHANNELS-15 PUSH-14 INFO-27",
           first("Channels.add", "if not session.read_bytes and name != b'*': return")),
    mutant("subscribed-to-id-alone", "A fresh connection is not subscribed to *.",
           "SUBSCRIBE-14 CHANNELS-15 CHANNEL-16 PUBLISH-11 PUSH-13 INFO-27",
           first("Channels.add", "if not session.read_bytes and name == b'*': return")),
    mutant("subscribed-to-id-in-capitals", "A fresh connection is subscribed to its id in capitals.",
           "SUBSCRIBE-14 CHANNELS-15 PUSH-14",
           first("Channels.add", "name = name if session.read_bytes else name.upper()")),
    mutant("unsubscribe-from-id-leaves-all", "UNSUBSCRIBE from the channel of the own id ends the subscription to * too.",
           "UNSUBSCRIBE-6 PUSH-13 CHANNEL-12 CHANNELS-10 PUBLISH-11",
           first("ChannelRequests.unsubscribe",
                 "if request.channel == session.id.hex().encode(): self._channels.remove(b'*', session)"), profiles=V732),
    mutant("unsubscribe-answers-twice", "UNSUBSCRIBE is answered with two bytes.", "UNSUBSCRIBE-4",
           handlers=with_answer(Unsubscribe, lambda answer, ask: answer * 2)),
    mutant("unsubscribe-without-effect", "UNSUBSCRIBE is answered with 01 and ends nothing.",
           "UNSUBSCRIBE-5 PUBLISH-13 CHANNEL-12 CHANNEL-13 CHANNELS-9 CHANNELS-10 CHANNELS-13 INFO-26 INFO-27",
           first("ChannelRequests.unsubscribe", "return ACCEPTED")),
    mutant("unsubscribe-only-from-the-first", "UNSUBSCRIBE ends only the first subscription the connection made.",
           "UNSUBSCRIBE-5 PUBLISH-13 CHANNEL-12 CHANNEL-13 CHANNELS-9 CHANNELS-10 CHANNELS-13 INFO-26 INFO-27",
           first("ChannelRequests.unsubscribe",
                 f"asked = [name for name in session.subscriptions if not ({AUTOMATIC})]",
                 "if request.channel in asked[1:]: return ACCEPTED")),
    mutant("unsubscribe-for-everybody", "UNSUBSCRIBE ends everybody's subscriptions to the channel.",
           "UNSUBSCRIBE-6 PUSH-4",
           first("ChannelRequests.unsubscribe",
                 "name, held = request.channel, request.channel in session.subscriptions and request.channel != b'*'",
                 "for one in self._channels.of(name) if held else ():",
                 "    if one.session is not session: self._channels.remove(name, one.session)")),
    mutant("unsubscribe-for-another", "UNSUBSCRIBE from a channel not held ends the oldest subscription to it.",
           "UNSUBSCRIBE-6 PUSH-4",
           first("ChannelRequests.unsubscribe",
                 "name, oldest = request.channel, self._channels.of(request.channel)[:1]",
                 "for one in () if name in session.subscriptions else oldest: self._channels.remove(name, one.session)")),
    mutant("unsubscribe-ends-the-last", "UNSUBSCRIBE ends the channel's last of three subscriptions, whosever it is.",
           "UNSUBSCRIBE-6 UNSUBSCRIBE-5 PUSH-4",
           first("ChannelRequests.unsubscribe",
                 "name, all_of_it = request.channel, self._channels.of(request.channel)",
                 "if len(all_of_it) > 2 and name != b'*' and name in session.subscriptions:",
                 "    self._channels.remove(name, all_of_it[-1].session); return ACCEPTED")),
    mutant("subscriptions-behind-the-third-outlive-connections",
           "Of the subscriptions of a connection that has gone, only the first three end.",
           "SUBSCRIBE-7 PUBLISH-13 CHANNEL-12 CHANNEL-13 CHANNELS-13 INFO-27 INFO-28 ROBUSTNESS-21",
           edit("Channels.leave", "list(session.subscriptions)", "list(session.subscriptions)[:3]"),
           profiles=("7.3.2",)),
    mutant("channel-count-is-1", "CHANNEL announces 1 subscriber, however many rows follow.", "CHANNEL-5 CHANNEL-6",
           _counted("1")),
    mutant("channel-count-up-to-8", "CHANNEL announces 8 subscribers at most.", "CHANNEL-5 CHANNEL-6",
           _counted("min(len(rows), 8)")),
    mutant("channel-name-follows", "The name of the channel stands after the rows of CHANNEL.", "CHANNEL-6",
           edit("ChannelRequests.channel", "encode(ChannelReply(rows))",
                "encode(ChannelReply(rows)) + request.channel")),
    mutant("channel-id-of-the-asking", "Every row of CHANNEL shows the id of the connection that asks.",
           "CHANNEL-7 CHANNEL-12", _subscriber("one.session.id", "session.id")),
    mutant("channel-subscribed-at-an-age", "SUBSCRIBED_AT is how long the subscription lasts.", "CHANNEL-8",
           _subscriber("one.since", "self._state.wall(now) - one.since")),
    mutant("channel-subscribed-at-of-the-connection", "SUBSCRIBED_AT is when the connection was made.", "CHANNEL-8",
           _subscriber("one.since", "one.session.connected_at")),
    mutant("channel-subscribed-at-not-filled-in", "SUBSCRIBED_AT is always 0.", "CHANNEL-8", _subscriber("one.since", "0")),
    mutant("channel-read-bytes-from-1", "READ BYTES of CHANNEL begins with 1.", "CHANNEL-10",
           _subscriber("one.read_bytes", "one.read_bytes + 1")),
    mutant("channel-with-everybody", "CHANNEL has a row for whoever subscribed to anything.",
           "CHANNEL-12 CHANNEL-13 CHANNEL-16",
           before("ChannelRequests.channel", "rows = tuple(",
                  "held = [(name, some) for who in self._state.sessions.values() for name, some in who.subscriptions.items()]",
                  f"subscriptions = {{some[0].session: some[0] for name, some in held if not ({AUTOMATIC})}}.values()")),
    mutant("channel-with-those-closed", "CHANNEL still has rows of closed connections.",
           "CHANNEL-13 CHANNEL-12 ROBUSTNESS-21",
           before("Channels.remove", "if held is None:",
                  "if session.closed: vars(self).setdefault('ended', {}).setdefault(name, []).extend(held or ())"),
           edit("ChannelRequests.channel", "for one in subscriptions)",
                "for one in (*subscriptions, *vars(self._channels).get('ended', {}).get(request.channel, ())))")),
    mutant("channel-of-nobody-is-the-asking", "CHANNEL shows the asking connection where nobody is subscribed.",
           "CHANNEL-14 CHANNEL-12",
           edit("ChannelRequests.channel", "return DENIED",
                "return self._state.codec.encode(ChannelReply((Subscriber(session.id, session.connected_at, 0, 0),)))")),
    mutant("channel-of-nobody-is-empty", "CHANNEL answers 01 and no rows where nobody is subscribed.", "CHANNEL-15",
           edit("ChannelRequests.channel", "return DENIED", "return ACCEPTED + bytes(8)")),
    mutant("channel-star-without-the-silent", "CHANNEL on * has no row for those who subscribed to nothing themselves.",
           "CHANNEL-16 CHANNEL-12",
           edit("ChannelRequests.channel", "for one in subscriptions)",
                "for one in subscriptions if request.channel != b'*' or one.session is session)")),
)  # fmt: skip
