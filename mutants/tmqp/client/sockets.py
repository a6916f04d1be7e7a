"""Mutants in how the SDK begins a connection, loses it and makes it again."""

from __future__ import annotations

from wireproof.mutants.edits import before, edit, first
from wireproof.mutants.tmqp.client.mutant import mutant

__all__ = ["MUTANTS"]

MUTANTS = (
    mutant("any-version", "TMQ/1.01 of a server is taken.", "CLIENT-3",
           edit("greet", "if not isinstance(reply, ProtocolReply) or reply.version != VERSION:", "if False:")),
    mutant("any-eight-bytes", "Any eight bytes of a server are taken.", "CLIENT-3",
           edit("TmqpClient._decode_next", "return self.codec.decode_protocol(ProtocolReply, data, at, end, context)",
                "return self.codec.decoders[ProtocolReply](data, at, end, context)"),
           edit("greet", "if not isinstance(reply, ProtocolReply) or reply.version != VERSION:", "if False:")),
    mutant("ended-greeting-is-connected", "A connection that ends before the eight bytes is told as one that is open.", "CLIENT-3",
           edit("greet", "reply = await greeting", "try: reply = await greeting", "except ConnectionError: return"),
           edit("Client._prepare", "link.ask(again)", "link.ask(again) if again else ()")),
    mutant("refused-is-connected", "A HELLO that is refused is told as a connection.", "CLIENT-4",
           edit("greet", "if answer.content_type != ResultCode.ACCEPTED:", "if False:")),
    mutant("closed-is-connected", "A connection that ends in place of the WELCOME is told as one that is open.", "CLIENT-4",
           edit("greet", "with suppress(TimeoutError):", "with suppress(TimeoutError, ConnectionError):"),
           edit("Client._prepare", "link.ask(again)", "link.ask(again) if again else ()")),
    mutant("welcome-wanted", "Without a WELCOME the connection is given up.", "CLIENT-5",
           edit("greet", "with suppress(TimeoutError):", "with suppress(KeyError):")),
    mutant("hangs-on-close", "What waits when the connection is lost waits on.", "CLIENT-26",
           edit("MatchedLink._end", "self._waiting.extend(answer for _, answer in self._asked.values())", "pass")),
    mutant("loss-is-success", "What waits when the connection is lost is reported done.", "CLIENT-26",
           edit("Client._sent", "return await answer", "try: return await answer", "except ClosedError: return None")),
    mutant("half-messages-handed-on", "A message that breaks off is handed on as far as it came.", "CLIENT-26",
           first("Link.eof_received", "from wireproof.protocols.tmqp.replies import QueueMessage",
                 "rest = bytes(self._codec._buffer.gathered) or bytes(self._codec._buffer.data[self._codec._buffer.at : self._codec._buffer.end])",
                 "if rest: self._on_push(QueueMessage(payload=rest))")),
    mutant("asks-the-dead", "A request after the end waits for its answer.", "CLIENT-26",
           first("Client._lost", "return"),
           edit("Client._sent", "link = await self._connection.link()", "try: link = await self._connection.link()",
                "except ClosedError: await asyncio.sleep(60)")),
    mutant("close-leaves-open", "Closing the client leaves the connection open.", "CLIENT-26",
           edit("Client.close", "await self._connection.close()", "pass")),
    mutant("joins-nothing-again", "What was joined is not joined again.", "CLIENT-28",
           edit("Client._prepare", "for one in self._kept.values()", "for one in () if isinstance(one, Join)")),
    mutant("subscribes-nothing-again", "Events are not subscribed to again.", "CLIENT-28",
           edit("Client._prepare", "for one in self._kept.values()", "for one in self._kept.values() if not isinstance(one, Subscribe)")),
    mutant("joins-what-was-left", "What was left is joined again.", "CLIENT-28",
           edit("Client._remember", "self._kept.pop(key, None)", "pass")),
    mutant("joins-what-was-refused", "What could not be joined is joined again.", "CLIENT-28",
           before("Client.ask", "done = None", "self._remember(request)")),
    mutant("part-survives-the-loss", "What came of a message before a loss is read before what comes on the next connection.",
           "CLIENT-26", first("Link.eof_received", "rest = bytes(self._codec._buffer.gathered) or bytes(self._codec._buffer.data[self._codec._buffer.at : self._codec._buffer.end])",
                 "type(self).left = rest"),
           first("Link.data_received", "data, type(self).left = vars(type(self)).get('left', b'') + data, b''")),
)  # fmt: skip
