"""Mutants in what the SDK sends, and in what it makes of an answer."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.client.mutant import mutant

__all__ = ["MUTANTS"]

MUTANTS = (
    mutant("denied-is-error", "FE is reported as FF.", "CLIENT-5",
           edit("accepted", 'raise AccessError(f"{what}: access denied", reply)',
                'raise RefusedError(f"{what}: the server answered ERROR", Response(ResponseCode.ERROR))')),
    mutant("denied-is-ok", "FE is reported as success.", "CLIENT-5",
           edit("accepted", 'raise AccessError(f"{what}: access denied", reply)', "return ResponseCode.OK")),
    mutant("denied-ends-session", "On FE the client closes.", "CLIENT-5",
           edit("Client._do", "return accepted(request.NAME, await self._conversation.ask(request))",
                "try: return accepted(request.NAME, await self._conversation.ask(request))",
                "except Exception as error:", '    if type(error).__name__ == "AccessError": await self.close()',
                "    raise")),
    mutant("error-is-ok", "Every answer is reported as success.", "CLIENT-6 CLIENT-5",
           first("accepted", "return ResponseCode.OK")),
    mutant("error-is-denied", "Every answer but 01 is reported as access denied.", "CLIENT-5",
           edit("accepted", 'raise RefusedError(f"{what}: the server answered {code.name}", reply)',
                'raise AccessError(f"{what}: access denied", Response(ResponseCode.ERR_ACCESS))')),
    mutant("waiting-is-ok", "02 and E0 are success for every operation.", "CLIENT-6",
           first("accepted",
                 "if reply.code in (ResponseCode.OK_WAITING, ResponseCode.NOT_REQUIRED) and not also: return "
                 "ResponseCode.OK")),
    mutant("half-answers-are-broken", "An answer that comes in several segments is broken.", "CLIENT-20",
           after("Link.data_received", "self._read()",
                 'if self.ended is None and self._codec.buffered and not hasattr(self, "_patience"): '
                 'self.fail(BadReplyError("the answer is too short"))')),
    mutant("half-a-greeting-is-broken", "A greeting that comes in several segments is an error.", "CLIENT-25",
           after("Link.data_received", "self._read()",
                 'first = vars(self).setdefault("_heard", []); first.append(1)',
                 'if len(first) == 1 and self.ended is None and self._codec.buffered: '
                 'self.fail(BadReplyError("the greeting is too short"))')),
    mutant("datagram-codes-ignored", "Every answer to a datagram is success.", "CLIENT-17",
           edit("_code", "return accepted(request.NAME, reply)", "return ResponseCode.OK")),
    mutant("unanswered-datagram-is-ok", "A datagram that is not answered in time is success.", "CLIENT-17",
           edit("exchange", 'raise DeadlineError(f"no answer to {request.NAME} in {timeout:g} s") from None',
                "return ResponseCode.OK")),
    mutant("priority-zero", "Every message has the priority 00.", "CLIENT-12",
           edit("Client.publish", "Publish(priority,", "Publish(0,")),
    mutant("topic-with-zero-sent", "A topic that holds 00 is sent: the rest of it is message.", "CLIENT-13",
           first("Client.publish", r'topic, _, rest = topic.partition(b"\0"); message = rest + message')),
    mutant("topic-cut-at-zero", "A topic that holds 00 is cut there and sent.", "CLIENT-13",
           first("Client.publish", r'topic = topic.partition(b"\0")[0]')),
    mutant("length-in-characters", "LEN counts characters.", "CLIENT-14",
           before("ControlClient.send", "return data",
                  'at = {"PUBLISH": 2, "SUBSCRIBE": 1, "UNSUBSCRIBE": 1}.get(message.NAME, len(data))',
                  'if data[at:]: data = data[:at] + len(data[at + 4 :].decode("utf-8", "replace")).to_bytes(4, '
                  '"little") + data[at + 4 :]')),
    mutant("same-nonce", "Every datagram is sealed with the same nonce.", "CLIENT-16",
           edit("Client", "staticmethod(secrets.token_bytes)", "staticmethod(bytes)")),
)  # fmt: skip
