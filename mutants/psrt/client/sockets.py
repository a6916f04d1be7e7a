"""Mutants of the SDK's two sockets: beginning, staying alive, reading pushes, ending."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.client.mutant import mutant

__all__ = ["MUTANTS"]

MUTANTS = (
    mutant("any-version", "The version in the server's greetings is not looked at.", "CLIENT-1",
           edit("Session._greet", "if reply.version != PROTOCOL_VERSION:", "if False:")),
    mutant("refused-login-is-connected", "A login that is refused is told as one that went well.", "CLIENT-2",
           edit("Session.begin", "token = await self._log_in(control)", "try: token = await self._log_in(control)",
                "except AccessError: return")),
    mutant("no-pings", "A client with nothing to say says nothing.", "CLIENT-3", first("Pings.begin", "return")),
    mutant("slow-pings", "Pings come at four times the interval.", "CLIENT-3",
           edit("Conversation.__init__", "way.timeout / 2", "way.timeout * 2")),
    mutant("ping-answers-mixed-up", "The answer to a ping goes to the next request that waits.", "CLIENT-4",
           before("Link.ask", "return replies", "from wireproof.protocols.psrt.replies import Response",
                  "for request, reply in zip(requests, replies):",
                  '    if request.NAME == "NOP": self._waiting.remove(reply); reply.set_result(Response(1))'),
           first("Link._answer", "if not self._waiting: return")),
    mutant("any-certificate", "Every certificate is taken.", "CLIENT-15",
           edit("Session.__init__", "self._way = way", "from dataclasses import replace",
                "self._way = way if way.tls is None else replace(way, tls=ssl._create_unverified_context())")),
    mutant("bare-end-of-bye-is-error", "A close in place of the answer to BYE is an error.", "CLIENT-18",
           edit("Conversation.leave", "return Response(ResponseCode.OK)",
                'raise BadReplyError("the server did not answer BYE") from None')),
    mutant("bye-is-not-said", "BYE is told as done, and nothing is sent or closed.", "CLIENT-18",
           first("Client.bye", "return ResponseCode.OK")),
    mutant("hangs-on-close", "What waits when a socket is lost waits on.", "CLIENT-19",
           first("Link._end", "if detail: self._waiting.clear()")),
    mutant("cut-pushes-lost", "A push that comes in several segments is lost.", "CLIENT-7",
           after("WatchedLink.data_received", "super().data_received(data)",
                 "if self._patience: self._codec._buffer.drop()")),
    mutant("joined-pushes-lost", "Of several pushes in one segment the first is read.", "CLIENT-7",
           after("Link._read", "self._on_push(push)", "self._codec._buffer.drop()")),
    mutant("messages-end-at-zero", "A message ends at its first 00.", "CLIENT-8",
           edit("Session._pushed", "push.message)", r'push.message.split(b"\0")[0])')),
    mutant("messages-as-text", "A message is decoded as text.", "CLIENT-8",
           edit("Session._pushed", "push.message)", 'push.message.decode("utf-8", "replace").encode())')),
    mutant("messages-trimmed", "White space around a message is taken off.", "CLIENT-8",
           edit("Session._pushed", "push.message)", "push.message.strip())")),
    mutant("beacons-handed-on", "A beacon is handed on as an empty message.", "CLIENT-9",
           first("Session._pushed", 'if not isinstance(push, PushedMessage): push = PushedMessage(0x7F, b"", b"")')),
    mutant("beacons-answered", "A beacon is answered.", "CLIENT-9",
           after("WatchedLink.data_received", "super().data_received(data)",
                 r'if self._patience and data == b"\0" and self.ended is None: self._transport.write(b"\1")')),
    mutant("endless-patience", "A data socket may say nothing for ever.", "CLIENT-10",
           first("WatchedLink._look", "return")),
    mutant("unreadable-data-ignored", "A byte on the data socket that begins no push ends nothing.", "CLIENT-10",
           first("Link._broken", 'if hasattr(self, "_patience"): self._on_end = lambda *_: None')),
    mutant("lost-data-socket-ignored", "The end of the data socket ends nothing.", "CLIENT-19 CLIENT-10",
           edit("Session.begin", 'lambda why: control.fail(type(why)(f"the data socket: {why}"))', "lambda why: None")),
    mutant("second-data-socket", "Two data sockets are attached.", "CLIENT-11",
           after("Session.begin",
                 'self._data = await self._listen(token, lambda why: control.fail(type(why)(f"the data socket: '
                 '{why}")))', "try: await self._listen(token, lambda why: None)", "except Exception: pass")),
)  # fmt: skip
