"""Mutants of the SDK's state: what it keeps of requests that are over, and of a session for the next one."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.client.mutant import mutant

__all__ = ["MUTANTS"]

MUTANTS = (
    mutant("late-answer-is-the-next", "An answer to what was given up is given to the request after it.", "CLIENT-22",
           before("Link._answer", "waiting = self._waiting.popleft()",
                  "while self._waiting and self._waiting[0].cancelled(): self._waiting.popleft()",
                  "if not self._waiting: return")),
    mutant("old-token", "A new session attaches its data socket with the first token.", "CLIENT-23",
           after("Session.begin", "token = await self._log_in(control)",
                 "self.first = token = vars(self).get('first', token)")),
    mutant("restored-once", "Only the first loss of a session is repaired.", "CLIENT-23",
           edit("ServerConnection._lost", "if self._reconnect is None:",
                "if self._reconnect is None or self._reconnecting is not None:")),
    mutant("last-topic-comes-back", "Of a list only the last topic comes back in a new session.", "CLIENT-24",
           edit("Client.subscribe", r'filter(None, request.topics.split(b"\0"))',
                r'list(filter(None, request.topics.split(b"\0")))[-1:]')),
    mutant("refused-comes-back", "Topics that were refused come back in a new session.", "CLIENT-24",
           before("Client.subscribe", "code = await", r'self._topics |= dict.fromkeys(request.topics.split(b"\0"))')),
    mutant("given-up-comes-back", "Of a list that was unsubscribed all but the first come back.", "CLIENT-24",
           edit("Client.unsubscribe", r'request.topics.split(b"\0")', r'request.topics.split(b"\0")[:1]')),
    mutant("refused-unsubscribe-forgets", "What was not unsubscribed, for it was refused, does not come back.", "CLIENT-24",
           before("Client.unsubscribe", "code = await",
                  r'for topic in request.topics.split(b"\0"): self._topics.pop(topic, None)')),
    mutant("masks-match-nothing", "A message is handed on only if its topic was subscribed in these letters.", "CLIENT-21",
           before("Client.subscribe", "code = await",
                  "asked = vars(self._conversation._session).setdefault('asked', set())",
                  r'asked |= set(request.topics.split(b"\0"))'),
           first("Session._pushed", "asked = vars(self).get('asked')",
                 'if asked is not None and getattr(push, "topic", None) not in asked: return')),
    mutant("empty-topic-dropped", "A message of the empty topic is dropped.", "CLIENT-21",
           first("Session._pushed", 'if getattr(push, "topic", None) == b"": return')),
    mutant("ping-in-replication", "A ping may come between the halves of a replication.", "REPL_DATA-1 CLIENT-3",
           edit("Conversation._ping", "accepted(Nop.NAME, await self.ask(Nop()))",
                "answer = asyncio.get_running_loop().create_future()",
                "link._codec._pending.append(Nop()); link._waiting.append(answer)",
                "link._transport.write(bytes(1)); self._pings.sent()", "accepted(Nop.NAME, await answer)")),
    mutant("answers-to-pings-first", "The next answer goes to the last ping, before what waits longer.", "CLIENT-4",
           before("Link.ask", "return replies", 'if [one.NAME for one in requests] == ["NOP"]: self._waiting.rotate(1)')),
    mutant("only-beacons-are-signs", "Messages are no sign of life: a data socket without beacons is given up.", "CLIENT-10 CLIENT-21",
           first("WatchedLink.data_received", "if self._patience and data[:1] != b'\\0': return super().data_received(data)")),
    mutant("refused-list-is-deaf", "Messages of a topic in a list that was refused are dropped.", "CLIENT-21",
           edit("Client.subscribe", "code = await self._do(request)", "try: code = await self._do(request)",
                "except Exception: vars(self._conversation._session).setdefault('deaf', set()).update(request.topics.split(b'\\0')); raise"),
           first("Session._pushed", 'if getattr(push, "topic", None) in vars(self).get("deaf", ()): return')),
    mutant("equal-messages-once", "A message that is equal to the one before is dropped.", "CLIENT-7 CLIENT-8",
           first("Session._pushed", 'if getattr(push, "topic", None) is not None:',
                 "    before, self.before = vars(self).get('before'), push", "    if before == push: return")),
    mutant("close-leaves-data", "Closing leaves the data socket open.", "CLIENT-18",
           edit("Conversation.close", "self._session.end()", "pass")),
)  # fmt: skip
