"""Mutants in what the SDK makes of pings, and of Errors that answer nothing."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.namechan.client.mutant import mutant

__all__ = ["MUTANTS"]

ACK = "self.send_unanswered([Ack(push.time * SECOND)])"
ON_ERROR = "self.on_error(reply)"


def acked(*lines: str) -> object:
    """Return the edit of what a Ping is answered by."""
    return edit("TopicLink._pushed", ACK, *lines)


MUTANTS = (
    mutant("pings-not-answered", "A Ping is not answered.", "17 18 13 21", edit("TopicLink._pushed", ACK, "pass")),
    mutant("pings-answered-twice", "A Ping is answered twice.", "17 18 13 21", edit("TopicLink._pushed", ACK, ACK, ACK)),
    mutant("pings-of-one-time-answered-once", "A Ping with the time of the last one is not answered.", "17",
           edit("TopicLink._pushed", ACK, "if push.time != getattr(self, 'time', None): " + ACK, "self.time = push.time")),
    mutant("pings-of-later-times-answered", "A Ping with a time before that of the last one is not answered.", "17",
           edit("TopicLink._pushed", ACK, "if push.time >= getattr(self, 'time', 0): " + ACK, "self.time = push.time")),
    mutant("pings-answered-in-milliseconds", "An Ack has a thousandth of the time.", "17", edit("TopicLink._pushed", ACK, ACK.replace("SECOND", "1000"))),
    mutant("pings-answered-by-our-clock", "An Ack has the time of the client.", "17",
           edit("TopicLink._pushed", ACK, "from time import time_ns", "self.send_unanswered([Ack(time_ns() // 1000)])")),
    mutant("pings-answered-in-another-zone", "An Ack has the time of another zone without saying so.", "17",
           edit("TopicLink._pushed", ACK, "self.send_unanswered([Ack((push.time + 3600) * SECOND)])")),
    mutant("pings-answered-a-second-late", "An Ack has the time a second later.", "17",
           edit("TopicLink._pushed", ACK, "self.send_unanswered([Ack((push.time + 1) * SECOND)])")),
    mutant("pings-signed", "The time of a Ping is read with a sign.", "17",
           edit("TopicLink._pushed", ACK, "self.send_unanswered([Ack((push.time - (push.time >> 31 << 32)) * SECOND)])")),
    mutant("pings-low-byte-first", "The time of a Ping is read with its lowest byte first.", "17",
           edit("TopicLink._pushed", ACK, "self.send_unanswered([Ack(int.from_bytes(push.time.to_bytes(4, 'big'), 'little') * SECOND)])")),
    mutant("pings-not-answered-while-waiting", "A Ping that comes while a request waits is not answered.", "17 18",
           edit("TopicLink._pushed", ACK, "if not self._asked: " + ACK)),
    mutant("pings-answered-to-subscribers", "A Ping is answered only once a topic is subscribed.", "17 18 13 21",
           edit("TopicLink._pushed", ACK, "if self.names: " + ACK)),
    mutant("pings-answered-later", "A Ping is answered with the next request.", "17",
           edit("TopicLink._pushed", ACK, "self.late = [Ack(push.time * SECOND)]"),
           first("MatchedLink.send_unanswered", "requests = [*self.__dict__.pop('late', []), *requests]")),
    mutant("ping-is-an-answer", "A Ping answers the oldest request.", "18",
           edit("TopicLink._pushed", ACK, ACK, "for one, waiting in self._asked.values():",
                "    if one.NAME != 'VERSION' and not waiting.done(): waiting.set_result(Error(b'ping')); break")),
    mutant("ping-is-handed-on", "A Ping is handed on as a message.", "18",
           edit("TopicLink._pushed", ACK, ACK, "from wireproof.protocols.namechan.replies import Message as M",
                "self._hand_on(M(0, 0, push.time.to_bytes(4, 'big')))")),
    mutant("ping-subscribes", "After a Ping the topics are subscribed again.", "18 17",
           edit("TopicLink._pushed", ACK, ACK, "from wireproof.protocols.namechan.requests import Subscribe",
                "for one in self.names.values(): self.send_unanswered([Subscribe(one)])")),
    mutant("errors-kept", "An Error that answers nothing is the answer to the next request.", "21",
           edit("TopicLink._answer", ON_ERROR, "self.kept = reply"),
           edit("Client.ask", "(answer,) = link.ask([replace(request)])\n            reply = await answer", "(answer,) = link.ask([replace(request)])",
                "reply = link.__dict__.pop('kept', None) or await answer")),
    mutant("unasked-errors-close", "An Error that answers nothing ends the connection.", "21 11",
           edit("TopicLink._answer", ON_ERROR, "self.fail(BadReplyError('what is this?'))")),
    mutant("unasked-errors-are-messages", "An Error that answers nothing is handed on as a message.", "21 11 22",
           edit("TopicLink._answer", ON_ERROR, "from wireproof.protocols.namechan.replies import Message as M", "self._hand_on(M(0, 0, reply.text))")),
    mutant("unasked-errors-unread", "An Error that comes while nothing waits cannot be read.", "21 11",
           edit("NamechanClient._decode_next", "if self._due else (Error,)", "if self._due else ()")),
)  # fmt: skip
