"""Mutants of how two rules meet, in sessions, rights and masks: walks kill them, and few written cases do."""

from __future__ import annotations

from wireproof.mutants.edits import before, edit
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

UNSUBSCRIBED = "self._state.subscriptions.remove(_client(session), mask)"
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("silent-stays-subscribed", "The subscriptions of a session that is closed for its silence outlive it.", "SUBSCRIBE-19",
           edit("PsrtSession.too_late", "self.end()", "vars(self.state)['late'] = self.client", "self.end()"),
           edit("State.forget", "self.subscriptions.leave(client)", "if vars(self).pop('late', None) is not client: self.subscriptions.leave(client)")),
    mutant("hash-needs-a-text", "A right that ends with # does not cover an empty last level in its place.", "ACL-6",
           edit("topics.matches", "return True", "return not place or topic[place:] != ('',)"),
           edit("topics.covers", "return True", "return not place or asked[place:] != ('',)")),
    mutant("denied-takes-back", "A list answered FE ends the subscriptions of its topics that were there before.", "SUBSCRIBE-14",
           edit("ControlRequests.subscribe", "client, options = _client(session), self._state.options",
                "client, options = _client(session), self._state.options; there = self._state.subscriptions.of(client); done = []"),
           edit("ControlRequests.subscribe", "return DENIED", "for one in done: one in there and subscriptions.remove(client, one)", "return DENIED"),
           edit("ControlRequests.subscribe", "subscriptions.add(client, mask)", "subscriptions.add(client, mask); done.append(mask)")),
    mutant("too-deep-takes-back", "A list answered FF ends the subscriptions of its topics that were there before.", "SUBSCRIBE-14",
           edit("ControlRequests.subscribe", "client, options = _client(session), self._state.options",
                "client, options = _client(session), self._state.options; there = self._state.subscriptions.of(client); done = []"),
           edit("ControlRequests.subscribe", "if depth(mask) > self._state.max_depth:", "if depth(mask) > self._state.max_depth:",
                "    for one in done: one in there and subscriptions.remove(client, one)"),
           edit("ControlRequests.subscribe", "subscriptions.add(client, mask)", "subscriptions.add(client, mask); done.append(mask)")),
    mutant("text-ends-the-plus", "UNSUBSCRIBE of a topic ends the mask with + in its last place, too.", "UNSUBSCRIBE-11 UNSUBSCRIBE-9",
           before("ControlRequests.unsubscribe", UNSUBSCRIBED,
                  "parent, slash, level = mask.rpartition('/')",
                  "if self._state.subscriptions.has(_client(session), mask) and level not in ('+', '#'):",
                  "    self._state.subscriptions.remove(_client(session), parent + slash + '+')")),
    mutant("replicator-gets-none", "A replicator that is subscribed does not get what it replicates.", "REPL_DATA-3",
           edit("ControlRequests.repl_data", "self._state.publish(_client(session).waiting_for, request.priority, request.message)",
                "self._state.skipped = _client(session)",
                "self._state.publish(_client(session).waiting_for, request.priority, request.message)",
                "self._state.skipped = None"),
           edit("State.publish", "for client in clients:", "for client in (one for one in clients if one is not vars(self).get('skipped')):")),
)  # fmt: skip
