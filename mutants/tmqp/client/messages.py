"""Mutants in what the SDK hands on."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, after, before, edit, first
from wireproof.mutants.tmqp.client.mutant import mutant

__all__ = ["MUTANTS"]


def handed_on(field: str, value: str, kind: str = "QueueMessage") -> Edit:
    """Return the edit that hands messages of a kind on with another value of a field: an expression of `push`."""
    return first("Client._pushed", f"if isinstance(push, {kind}): push = replace(push, {field}={value})")


def unread(size: str) -> Edit:
    """Return the edit that cannot read what holds these bytes, in hex."""
    return first(
        "Link.data_received", f'if bytes.fromhex("{size}") in data: return self.fail(BadReplyError("an unknown size"))'
    )


MUTANTS = (
    mutant("segments-lost", "A frame that comes in several segments is lost.", "CLIENT-13",
           after("Link.data_received", "self._read()", "if self.ended is None: self._codec._buffer.drop()")),
    mutant("joined-frames-lost", "Of several messages in one segment the first is read.", "CLIENT-13 CLIENT-16",
           after("Link._read", "self._on_push(push)", "self._codec._buffer.drop()")),
    mutant("cut-behind-the-target", "A frame must hold its names in its first segment.", "CLIENT-13",
           first("Link.data_received", "if len(data) == 9: return self.fail(BadReplyError('the frame is too short'))")),
    mutant("size-of-two-bytes-unread", "A payload size in the form FD is not read.", "CLIENT-14", unread("fd2c01")),
    mutant("size-of-four-bytes-unread", "A payload size in the form FE is not read.", "CLIENT-14", unread("fe05000000")),
    mutant("size-of-eight-bytes-unread", "A payload size in the form FF is not read.", "CLIENT-14", unread("ff0500000000000000")),
    mutant("large-messages-end", "A message of more than 100,000 bytes ends the connection.", "CLIENT-14",
           edit("Client.__init__", "self.connection_class(codec)", "self.connection_class(codec, max_frame=100_000)")),
    mutant("large-messages-cut", "A message is cut at 65535 bytes.", "CLIENT-14", handed_on("payload", "push.payload[:65535]")),
    mutant("headers-read-once", "Of headers with one name the first is handed on.", "CLIENT-15",
           handed_on("headers", "tuple({one.name: one for one in push.headers[::-1]}.values())[::-1]")),
    mutant("header-values-read-trimmed", "Spaces around the values of headers are taken off.", "CLIENT-15",
           handed_on("headers", "tuple(replace(one, value=one.value.strip()) for one in push.headers)")),
    mutant("headers-sorted", "Headers are handed on in the order of their names.", "CLIENT-15",
           handed_on("headers", "tuple(sorted(push.headers, key=lambda one: one.name.lower()))")),
    mutant("messages-not-handed-on", "Nothing is handed on.", "CLIENT-16 CLIENT-13 CLIENT-14 CLIENT-15 CLIENT-17 CLIENT-18",
           first("Client._pushed", "return")),
    mutant("last-hop-dropped", "A message whose TTL is 1 is dropped.", "CLIENT-16 CLIENT-17",
           first("Client._pushed", "if getattr(push, 'ttl', 2) < 2: return")),
    mutant("messages-without-source", "A message is handed on without its source.", "CLIENT-16", handed_on("source", 'b""')),
    mutant("long-ids-cut", "An id is handed on cut at 127 bytes.", "CLIENT-16", handed_on("id", "push.id[:127]")),
    mutant("targets-as-text", "A target is decoded as text.", "CLIENT-16",
           handed_on("target", 'push.target.decode("utf-8", "replace").encode()')),
    mutant("messages-as-text", "A payload is decoded as text.", "CLIENT-16",
           handed_on("payload", 'push.payload.decode("utf-8", "replace").encode()')),
    mutant("messages-trimmed", "White space around a payload is taken off.", "CLIENT-16", handed_on("payload", "push.payload.strip()")),
    mutant("queues-of-a-byte", "The queue of a message is its low byte.", "CLIENT-16",
           handed_on("content_type", "push.content_type & 0xFF")),
    mutant("flags-lost", "A message is handed on without pending acknowledge.", "CLIENT-16", handed_on("pending_ack", "0")),
    mutant("priority-lost", "A message is handed on without high priority.", "CLIENT-16", handed_on("high_priority", "0")),
    mutant("messages-lost-while-waiting", "A message that comes while a request waits is lost.", "CLIENT-16",
           first("MatchedLink._pushed", "if self._asked and self._codec.answered is None: return")),
    mutant("direct-messages-lost", "Direct messages to a name or type are lost.", "CLIENT-17",
           first("Client._pushed", "if isinstance(push, DirectMessage) and push.target.startswith(b'@'): return")),
    mutant("direct-messages-as-messages", "A direct message is handed on as a message of a queue.", "CLIENT-17",
           before("Client._pushed", "if isinstance(push, QueueMessage):",
                  "if isinstance(push, DirectMessage): push = QueueMessage(*(getattr(push, one) for one in push.__struct_fields__))")),
    mutant("notifications-lost", "Events of queues are lost.", "CLIENT-18",
           first("Client._pushed", "if isinstance(push, Notification) and push.source.startswith(b'Queue'): return")),
    mutant("notifications-without-queue", "An event is handed on with content type 0.", "CLIENT-18",
           handed_on("content_type", "0", "Notification")),
    mutant("unknown-types-end", "A frame of an unknown type ends the connection.", "CLIENT-19",
           first("MatchedLink._pushed", "if push.NAME == 'OTHER': return self.fail(ClosedError('an unknown type'))")),
    mutant("unknown-types-handed-on", "A frame of an unknown type is handed on.", "CLIENT-19",
           first("Client._pushed", "if push.NAME == 'OTHER': push = QueueMessage(id=push.id, target=push.target, payload=push.payload)")),
    mutant("pings-not-answered", "A PING of the server is not answered.", "CLIENT-20",
           edit("AnsweringLink._pushed", "self.send_unanswered([AnswerPing()])", "pass")),
    mutant("pings-answered-by-pings", "A PING of the server is answered by PING.", "CLIENT-20",
           edit("AnsweringLink._pushed", "self.send_unanswered([AnswerPing()])", "self.send_unanswered([Ping()])")),
    mutant("pongs-of-other-flags", "PONG is 0A 10 and six zero bytes.", "CLIENT-20",
           edit("AnsweringLink._pushed", "self.send_unanswered([AnswerPing()])", "self._transport.write(bytes.fromhex('0a10000000000000'))")),
    mutant("pings-not-answered-while-waiting", "A PING that comes while a request waits is not answered.", "CLIENT-20",
           edit("AnsweringLink._pushed", "self.send_unanswered([AnswerPing()])", "if not self._asked: self.send_unanswered([AnswerPing()])")),
    mutant("short-pings-unread", "A PING with other flags ends the connection.", "CLIENT-20",
           first("Link.data_received", "if data[:1] == b'\\x09': return self.fail(BadReplyError('what is this?'))")),
)  # fmt: skip
