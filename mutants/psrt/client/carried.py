"""Mutants in what the SDK puts into datagrams, unsubscriptions and replicated messages, and hands on of a message."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.psrt.client.mutant import mutant

__all__ = ["MUTANTS"]

MUTANTS = (
    mutant("datagram-priority-zero", "Every datagram has the priority 00.", "DATAGRAM-1",
           edit("Client.datagram", "Content(op, priority,", "Content(op, 0,")),
    mutant("datagram-without-login", "A datagram in clear carries no login and password.", "DATAGRAM-1",
           edit("packed", "encryption, login, password, *values)", 'encryption, b"", b"", *values)')),
    mutant("datagram-message-cut", "The last byte of a datagram's message is left out.", "DATAGRAM-25 DATAGRAM-1",
           edit("Client.datagram", "priority, topic, message)", "priority, topic, message[:-1])")),
    mutant("datagram-topic-ends-early", "The last byte of a datagram's topic is left out.", "DATAGRAM-1 DATAGRAM-2",
           edit("Client.datagram", "priority, topic, message)", "priority, topic[:-1], message)")),
    mutant("datagram-topic-cut-at-zero", "A datagram's topic that holds 00 is cut there and sent.", "CLIENT-13",
           first("Client.datagram", r'topic = topic.partition(b"\0")[0]')),
    mutant("datagram-always-answered", "An answer is waited for that was not asked for.", "DATAGRAM-3 SEALED-8",
           edit("Client.datagram", "asks = op != DatagramOperation.PUBLISH_NO_ACK", "asks = True")),
    mutant("sealed-login-underscore", "An empty login is sent as `_` in a sealed datagram.", "SEALED-6 SEALED-5",
           first("packed", 'login = login or (b"_" if encryption != Encryption.PLAIN else b"")')),
    mutant("unsubscribe-subscribes", "SUBSCRIBE is sent for UNSUBSCRIBE.", "UNSUBSCRIBE-1 UNSUBSCRIBE-2",
           edit("Client.unsubscribe", "Unsubscribe(_joined(topics))", "Subscribe(_joined(topics))")),
    mutant("topics-beyond-three-left", "UNSUBSCRIBE names no more than three topics.", "UNSUBSCRIBE-2",
           edit("Client.unsubscribe", "Unsubscribe(_joined(topics))",
                r'Unsubscribe(b"\0".join(_joined(topics).split(b"\0")[:3]))')),
    mutant("topics-subscribed-sorted", "SUBSCRIBE names its topics by alphabet.", "SUBSCRIBE-3 SUBSCRIBE-2",
           edit("Client.subscribe", "Subscribe(_joined(topics))",
                r'Subscribe(b"\0".join(sorted(_joined(topics).split(b"\0"))))')),
    mutant("replicated-message-cut", "The last byte of a replicated message is left out.", "REPL_DATA-1 REPL_DATA-6",
           edit("Client.publish_repl", "timestamp, message)", "timestamp, message[:-1])")),
    mutant("message-topic-cut", "The last byte of a message's topic is not handed on.", "CLIENT-8",
           edit("Session._pushed", "push.topic,", "push.topic[:-1],")),
    mutant("message-topic-trimmed", "White space around a message's topic is taken off.", "CLIENT-8",
           edit("Session._pushed", "push.topic,", "push.topic.strip(),")),
    mutant("message-priority-lost", "Every message is handed on with another priority.", "CLIENT-8",
           edit("Session._pushed", "Message(push.priority,", "Message(push.priority ^ 1,")),
    mutant("lost-is-ok", "A request after the connection was lost is reported as success.", "CLIENT-19",
           edit("Client._do", "return accepted(request.NAME, await self._conversation.ask(request))",
                "try: return accepted(request.NAME, await self._conversation.ask(request))",
                "except Exception as error:",
                '    if type(error).__name__ != "ClosedError": raise',
                "    return ResponseCode.OK")),
)  # fmt: skip
