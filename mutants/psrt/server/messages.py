"""Mutants of pushes: how they are laid out, what is in them, who gets them, and in which order."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import changed, pushing

__all__ = ["MUTANTS"]

USUAL_PRIORITY = 0x7F
EVERY = "MESSAGE-4 MESSAGE-3 MESSAGE-5 MESSAGE-12 MESSAGE-17 REPL_DATA-3 SUBSCRIBE-6 SEALED-17 STARTTLS-5"


def _shorter(frame: bytes) -> bytes:
    """Return a push whose LEN is one less."""
    return frame[:2] + (int.from_bytes(frame[2:6], "little") - 1).to_bytes(4, "little") + frame[6:]


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("pushes-by-priority", "Messages that wait for a data socket are written by their priority, the highest first.",
           "ORDER-3", first("Feed.flush", "self._waiting.sort(key=lambda frame: -frame[1])")),
    mutant("push-len-without-00", "The LEN of a push does not count the 00 after the topic.",
           f"MESSAGE-3 {EVERY} MESSAGE-1 STARTTLS-13", state=pushing(lambda message, state: _shorter(state.codec.encode(message)))),
    mutant("priority-of-a-segment", "Messages of one segment have the priority of the first.", "MESSAGE-2 ORDER-3",
           first("PsrtSession._work", "self.priority = None"),
           edit("ControlRequests.publish", "request.priority, request.message)",
                "first, request.message)"),
           before("ControlRequests.publish", "self._state.publish(",
                  "first = session.priority = request.priority if session.priority is None else session.priority")),
    mutant("push-priority-7f", "Every push has the priority 7F.",
           "MESSAGE-2 REPL_DATA-3 DATAGRAM-24 SEALED-17 PUBLISH-20 MESSAGE-4",
           state=pushing(lambda message, state: changed(message, priority=USUAL_PRIORITY))),
    mutant("push-priority-of-7-bits", "The upper bit of a priority is lost.",
           "MESSAGE-2 REPL_DATA-3 DATAGRAM-24 SEALED-17 PUBLISH-20",
           state=pushing(lambda message, state: changed(message, priority=message.priority & 0x7F))),
    mutant("push-cut-at-128", "A message is cut after 128 bytes.",
           "MESSAGE-17 MESSAGE-5 REPL_DATA-6 MESSAGE-4 PUBLISH-4 LIMIT-7 DATAGRAM-25",
           state=pushing(lambda message, state: changed(message, message=message.message[:128]))),
    mutant("push-of-nothing-left-out", "An empty message is not pushed.",
           "MESSAGE-5 PUBLISH-5 REPL_DATA-6 DATAGRAM-25 SEALED-17 MESSAGE-4 MESSAGE-8",
           state=pushing(lambda message, state: message if message.message else None)),
    mutant("push-of-the-mask", "A push has the mask that was subscribed in place of its topic.",
           "MESSAGE-6 TOPIC-14 TOPIC-10 TOPIC-17",
           first("state.State.publish", "from wireproof.reference_server.psrt.topics import levels, matches"),
           edit("state.State.publish", "client.deliver(frame)",
                "mask = next(text for text in sorted(self.subscriptions.of(client)) if matches(levels(text), "
                'tuple(topic.split("/"))))',
                "client.deliver(self.codec.encode(PushedMessage(priority, mask.encode(), message)))")),
    mutant("push-topic-as-written", "A push has the topic as it was written, not normalised.",
           "MESSAGE-6 TOPIC-2 TOPIC-3 DATAGRAM-26 SEALED-17 TOPIC-6",
           edit("state.State.publish", "topic.encode()", 'vars(self).pop("raw", None) or topic.encode()'),
           edit("ControlRequests.publish", "self._state.publish(topic, request.priority, request.message)",
                "self._state.raw = request.topic; self._state.publish(topic, request.priority, request.message)"),
           edit("DatagramRequests._publish", "self._state.publish(topic, content.priority, content.message)",
                "self._state.raw = content.topic; self._state.publish(topic, content.priority, content.message)")),
    mutant("push-for-each-mask", "A session gets a copy of a message for each of its masks that match.",
           "MESSAGE-7 SUBSCRIBE-16 UNSUBSCRIBE-15 ROBUSTNESS-13 UNSUBSCRIBE-11",
           first("Subscriptions.match",
                 'from wireproof.reference_server.psrt.topics import matches; there = tuple(topic.split("/")); '
                 "return [who for who, texts in self._texts.items() for text in sorted(texts) if "
                 "matches(levels(text), there)]")),
    mutant("push-for-each-subscribe", "A session gets a copy for each time that it subscribed to a topic.",
           "SUBSCRIBE-16 UNSUBSCRIBE-8 MESSAGE-7 NOP-3",
           first("Subscriptions.add",
                 'times = vars(self).setdefault("times", {}); times[who, text] = times.get((who, text), 0) + 1'),
           first("Subscriptions.remove", 'vars(self).setdefault("times", {}).pop((who, text), None)'),
           edit("Subscriptions.match",
                "if len(found) == 1:\n            return list(found[0])\n        return list(dict.fromkeys(who for table in found for who in table))",
                'from wireproof.reference_server.psrt.topics import matches; there = tuple(topic.split("/"))',
                "return [who for who in dict.fromkeys(who for table in found for who in table) for _ in "
                "range(max(self.times.get((who, text), 1) for text in self.of(who) if matches(levels(text), there)))]")),
    mutant("push-to-the-first-only", "Only the session that subscribed first gets a message.",
           "MESSAGE-8 REPL_DATA-3 ROBUSTNESS-13 ORDER-4 SUBSCRIBE-6 UNSUBSCRIBE-12 LOGIN-16 ATTACH-16 MESSAGE-16",
           edit("state.State.publish", "self.subscriptions.match(topic)", "self.subscriptions.match(topic)[:1]")),
    mutant("push-to-all-who-want-any", "Who is subscribed to anything gets what anybody is subscribed to.",
           "MESSAGE-9 ATTACH-16 SUBSCRIBE-18 UNSUBSCRIBE-12 UNSUBSCRIBE-11 UNSUBSCRIBE-4 ROBUSTNESS-13",
           edit("state.State.publish", "self.subscriptions.match(topic)",
                "self.subscriptions.match(topic) and [one for one in self.clients.values() if "
                "self.subscriptions.count(one)]")),
    mutant("push-on-the-control-socket", "Who lost its data socket gets messages on the control socket.",
           "MESSAGE-11 ATTACH-13 SUBSCRIBE-17 PUBLISH_REPL-5 PUBLISH-18 ORDER-1 FRAMING-3",
           after("state.State.publish", "client.deliver(frame)",
                 'if client.data is not None: vars(self).setdefault("had", set()).add(client)',
                 'elif client in vars(self).get("had", ()): [one._write(frame) for one in self.sessions if '
                 "one.client is client]")),
    mutant("push-of-the-last-message", "Who subscribes gets the last message of the topic.",
           "MESSAGE-10 SUBSCRIBE-12 SUBSCRIBE-16 UNSUBSCRIBE-4 NOP-3 SUBSCRIBE-19 ORDER-2",
           first("state.State.publish",
                 'vars(self).setdefault("kept", {})[topic] = self.codec.encode(PushedMessage(priority, '
                 "topic.encode(), message))"),
           before("ControlRequests.subscribe", "return OK",
                  '[client.deliver(frame) for topic, frame in vars(self._state).get("kept", {}).items() if client in '
                  "subscriptions.match(topic)]")),
    mutant("push-not-of-datagrams", "What comes by datagram is answered and not pushed.",
           "MESSAGE-12 DATAGRAM-7 DATAGRAM-24 DATAGRAM-25 DATAGRAM-26 DATAGRAM-31 DATAGRAM-5 SEALED-8 SEALED-17 "
           "DATAGRAM-1 DATAGRAM-2",
           edit("DatagramRequests._publish", "self._state.publish(topic, content.priority, content.message)", "pass")),
    mutant("push-numbers-of-all", "Sessions number their messages, and a reader drops a number that it had, whoever sent it.",
           "MESSAGE-8 SUBSCRIBE-6",
           edit("ControlRequests.publish", "self._state.publish(topic, request.priority, request.message)",
                'session.number = self._state.number = vars(session).get("number", 0) + 1',
                "self._state.publish(topic, request.priority, request.message)", "self._state.number = 0"),
           first("Feed.push", 'number, last = vars(self._state).get("number", 0), vars(self).get("number", 0)',
                 "if 0 < number <= last: return", "self.number = max(number, last)")),
    mutant("push-newest-first", "More than ten messages of one segment are pushed newest first.",
           "ORDER-3 ROBUSTNESS-5 MESSAGE-1 MESSAGE-4",
           first("Feed.flush", "if len(self._waiting) > 10: self._waiting.reverse()")),
)  # fmt: skip
