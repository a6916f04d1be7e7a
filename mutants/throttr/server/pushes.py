"""Mutants of pushes: their form, who receives them, how often and when."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, before, edit, first
from wireproof.mutants.server import derived, taking
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.protocols.throttr import RequestType
from wireproof.protocols.throttr.replies import PushedMessage
from wireproof.protocols.throttr.requests import Publish

__all__ = ["MUTANTS"]

AUTOMATIC = "name == b'*' or len(name) == 32"


def _delivering(picked: str) -> tuple[Edit, ...]:
    """Deliver to the subscriptions `picked`, an expression of `right`; the publisher is answered what is right."""
    return (
        edit("ChannelRequests.publish", "if not subscriptions:", "right = list(subscriptions)", "if False:"),
        edit("ChannelRequests.publish", "for subscription in subscriptions:", f"for subscription in {picked}:"),
        edit("ChannelRequests.publish", "ACCEPTED if delivered",
             "ACCEPTED if any(self._rules.deliver_to_publisher or one.session is not session for one in right)"),
    )  # fmt: skip


def _and_also(wanted: str) -> tuple[Edit, ...]:
    """Deliver also to connections that hold a channel whose `name`, with the request, is wanted."""
    return (
        before("ChannelRequests.publish", "frame = self._frame(",
               "from wireproof.reference_server.throttr.channels import Subscription",
               "there = {one.session for one in right} | {session}",
               "others = [one for one in self._state.sessions.values() if one not in there]",
               f"wanted = [one for one in others if any({wanted} for name in one.subscriptions or [b''])]"),
        *_delivering("[*right, *(Subscription(one, 0) for one in wanted)]"),
    )  # fmt: skip


def _later(size: str) -> tuple[Edit, ...]:
    """Write as many bytes of an answer at once, the rest 200 ms later; pushes do not wait for it."""
    return (
        first("ThrottrSession._answer",
              "bare = self._at < len(self._data) and self._dispatch.is_bare[self._data[self._at]]"),
        edit("ThrottrSession._answer", "self._write(data)",
             "rest, clock = vars(self).setdefault('rest', []), self._state.clock",
             f"at = 0 if rest else {size}",
             "if at: self._write(data[:at])",
             "send = lambda: rest and (self._write(b''.join(rest)), rest.clear())",
             "if at < len(data):",
             "    rest or clock.call_at(clock.monotonic_ns() + 200_000_000, send)",
             "    rest.append(data[at:])"),
        first("ThrottrSession.end", "rest = vars(self).get('rest')",
              "rest and (self._write(b''.join(rest)), rest.clear())"),
    )  # fmt: skip


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("push-for-a-minute", "A subscription that is a minute old is sent nothing.", "ROBUSTNESS-27 PUSH-1",
           *_delivering("[one for one in right if self._state.wall(now) - one.since < 60 * 10**9]")),
    mutant("push-without-channel", "A push is 03, payload size and payload, as in an early release.",
           "PUSH-2 PUSH-3 EVENT-2", profile=derived(pushes=(PushedMessage,), leads={PushedMessage: b"\x03"})),
    mutant("push-names-up-to-127", "The channel name in a push is cut at 127 bytes.", "EVENT-2 PUSH-3",
           edit("ChannelRequests.publish", "self._frame(request.channel,", "self._frame(request.channel[:127],")),
    mutant("push-names-no-channel", "The channel name in a push is empty.", "PUSH-3",
           edit("ChannelRequests.publish", "self._frame(request.channel,", "self._frame(b'',")),
    mutant("push-names-the-first-channel", "A push names the first channel its receiver subscribed to.", "PUSH-3",
           edit("ChannelRequests.publish", "subscription.session.push(frame, size)",
                f"names = [name for name in subscription.session.subscriptions if not ({AUTOMATIC})]",
                "subscription.session.push(self._frame([*names, b'*'][0], payload), size)")),
    mutant("push-ends-with-00", "A byte 00 is put after every payload.", "PUSH-7 PUBLISH-14 PUBLISH-3",
           handlers=taking(Publish, payload=lambda payload: payload[:254] + b"\0")),
    mutant("push-to-nobody", "No message is pushed.", "PUSH-4 SUBSCRIBE-5", *_delivering("()")),
    mutant("push-not-to-the-latest", "The latest of several subscribers receives nothing.", "PUSH-4 SUBSCRIBE-5",
           *_delivering("right[: len(right) - 1 or 1]")),
    mutant("push-not-from-a-subscriber", "What a subscribed connection publishes reaches nobody.",
           "PUSH-4 PUSH-13 SUBSCRIBE-5",
           *_delivering("[one for one in right if one.session is session or request.channel not in session.subscriptions]")),
    mutant("push-to-whoever-subscribed", "A message is pushed to everybody who subscribed to anything.", "PUSH-5",
           *_and_also(f"name and not ({AUTOMATIC})")),
    mutant("push-star-at-the-end-is-a-pattern", "Who is subscribed to a name ending in * receives what begins like it.",
           "PUSH-5 SUBSCRIBE-10",
           *_and_also("len(name) > 1 and name[-1:] == b'*' and request.channel.startswith(name[:-1])")),
    mutant("push-twice", "Every message is pushed twice.", "PUSH-6", *_delivering("right * 2")),
    mutant("push-to-star-twice", "A message to * is pushed twice.", "PUSH-13 PUSH-6",
           *_delivering("right * (2 if request.channel == b'*' else 1)")),
    mutant("push-to-star-to-three", "A message to * is pushed to three connections at most.", "PUSH-13 PUSH-4",
           *_delivering("right[-3:] if request.channel == b'*' else right")),
    mutant("push-of-an-id-to-everybody", "A message to a connection's id is pushed to everybody.", "PUSH-14 PUSH-5",
           *_and_also("len(request.channel) == 32")),
    mutant("push-of-an-id-to-its-owner",
           "A message to a connection's id is pushed to nobody else who subscribed to it.", "PUSH-14 PUSH-4",
           *_delivering("[one for one in right if len(request.channel) != 32 or one.session.id.hex().encode() == request.channel]")),
    mutant("push-star-is-a-pattern", "Who is subscribed to * receives every message.", "PUSH-15 PUSH-5 PUSH-14",
           *_and_also("name == b'*'")),
    mutant("push-newest-first", "Of several pushes that wait the newest goes first.", "PUSH-10",
           first("ThrottrSession.flush", "self._pushes.reverse()")),
    mutant("push-within-an-answer", "A push may come between the halves of a long answer.", "PUSH-11",
           *_later("len(data) // 2 + 1 if len(data) > 200 else len(data)")),
    mutant("push-awaits-an-answer", "The byte that a subscriber sends after a push is taken for its answer.", "PUSH-12",
           first("ThrottrSession.flush", "self.owed = vars(self).get('owed') or bool(self._pushes)"),
           first("ThrottrSession.data_received", "if vars(self).pop('owed', False): data = data[1:]",
                 "if not data: return")),
    mutant("push-before-a-bare-answer", "A push overtakes the answer of LIST, INFO and the like.",
           "PUSH-17 ROBUSTNESS-4", *_later("0 if bare else len(data)")),
    mutant("slow-requests-forgotten", "A request that takes more than half a second to come is forgotten.",
           "ROBUSTNESS-6",
           first("ThrottrSession.data_received", "now = self._clock_ns()",
                 "if self._tail and now - self.since > 500_000_000: self._tail.clear()",
                 "elif not self._tail: self.since = now")),
    mutant("channel-unanswered-at-half-close", "CHANNEL is not answered when the client ends its side right after it.",
           "ROBUSTNESS-9",
           first("ThrottrSession.data_received",
                 f"self.is_alone = data[:1] == bytes([{int(RequestType.CHANNEL)}]) and [*data[1:2]] == [len(data) - 2]",
                 "self.send() if 'send' in vars(self) else None"),
           edit("ThrottrSession._answer", "self._write(data)",
                "due, clock = [data], self._state.clock",
                "self.send = lambda: due and not self.closed and self._write(due.pop())",
                "if self.is_alone: clock.call_at(clock.monotonic_ns() + 5_000_000, self.send)",
                "else: self.send()")),
    mutant("pushes-turn-round-within-a-request", "While a part of a request is there, pushes come newest first.", "PUSH-10",
           edit("ThrottrSession.push", "self._pushes.append(frame)",
                "self._pushes.insert(0 if self._tail else len(self._pushes), frame)")),
)  # fmt: skip
