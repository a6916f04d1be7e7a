"""Mutants that need a second feature, a second time or a number beyond a small one."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, after, edit, first
from wireproof.mutants.tmqp.server import mutant as mutants
from wireproof.mutants.tmqp.server.mutant import ServerMutant

__all__ = ["MUTANTS"]


def mutant(name: str, description: str, clauses: str, *edits: Edit) -> ServerMutant:
    """Return a mutant of the profile `doc`, which the combinations are of."""
    return mutants.mutant(name, description, clauses, *edits, profiles=("doc",))


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("hides-what-is-sent-at-once", "HideClientNames does not count for what was stored.", "MESSAGE-2",
           first("queue.Queue.store", "message.due = message.due or -1"),
           edit("StoredMessage.delivered", "self.queue.settings.hide_names", "self.queue.settings.hide_names and self.due != -1")),
    mutant("queues-ever-made", "QueueLimit counts queues that were deleted.", "CREATE_QUEUE-5 CREATE_QUEUE-6",
           edit("Channels.may_create_queue", "len(channel.queues) >= limit", 'vars(channel).get("made", 0) >= limit'),
           first("Channels.create_queue", "vars(channel)['made'] = vars(channel).get('made', 0) + 1")),
    mutant("members-ever-joined", "ClientLimit counts members that left.", "JOIN-4",
           edit("Operations.join", "len(channel.members)", 'vars(channel).get("made", 0)'),
           first("Channel.join", "vars(self)['made'] = vars(self).get('made', 0) + 1")),
    mutant("joins-one-queue", "Who joins is sent what the first queue of the channel stored.", "PUSH-2",
           edit("Channels.join", "list(channel.queues.values())", "list(channel.queues.values())[:1]")),
    mutant("finds-128-clients", "A name or type means 128 clients at most.", "SEND_DIRECT-2",
           edit("receivers", "return found[:1] if only_first else found", "return found[:1] if only_first else found[:128]")),
    mutant("lists-128-channels", "LIST_CHANNELS lists 128 channels at most.", "LIST_CHANNELS-1",
           edit("Operations.list_channels", "if filtered(wanted, one.name))", "if filtered(wanted, one.name))[:128]")),
    mutant("cache-of-64k", "What is pulled from a CACHE queue ends after 65535 bytes.", "CACHE-2",
           edit("Messaging._cached", "else message.frame.payload", "else message.frame.payload[:65535]")),
    mutant("put-back-as-normal", "What is put back has normal priority.", "ACKNOWLEDGE-3",
           edit("queue.Queue._follow", "message.put_backs += 1", "message.put_backs += 1",
                "message.frame = __import__('msgspec').structs.replace(message.frame, high_priority=0)")),
    mutant("put-back-once", "A message is put back once.", "ACKNOWLEDGE-3",
           edit("queue.Queue._follow", "message.put_backs < self._state.put_back_limit", "message.put_backs < 1")),
    mutant("one-turn-for-all", "Routers take turns together.", "ROUTE-3",
           edit("Router.tried", "turn, self._turn = self._turn % len(self.bindings), self._turn + 1",
                "turn, Router.shared = vars(Router).get('shared', 0) % len(self.bindings), vars(Router).get('shared', 0) + 1")),
    mutant("refused-is-served", "A binding whose queue refuses a message counts as served.", "ROUTE-2",
           edit("Routing._is_served", "== ResultCode.OK", "!= ResultCode.NOT_FOUND")),
    mutant("names-by-prefix", "A target means clients whose name begins so.", "SEND_DIRECT-2 SEND_DIRECT-4",
           edit("receivers", "one.name == target[len(BY_NAME) :]", "one.name.startswith(target[len(BY_NAME) :])")),
    mutant("names-by-case", "Names of clients are compared without regard to case.", "SEND_DIRECT-2",
           edit("receivers", "one.name == target[len(BY_NAME) :]", "one.name.lower() == target[len(BY_NAME) :].lower()")),
    mutant("answers-lose-flags", "RESPOND is relayed without its pending flags.", "RESPOND-1",
           edit("Direct.respond", "relayed(Response, request,",
                "relayed(Response, __import__('msgspec').structs.replace(request, pending_response=0, pending_ack=0),")),
    mutant("update-keeps-delivery", "UPDATE_QUEUE does not change the delivery.", "UPDATE_QUEUE-1",
           first("queue.Queue.change", "settings = __import__('dataclasses').replace(settings, delivery=self.settings.delivery)")),
    mutant("update-forgets-awaited", "UPDATE_QUEUE forgets which acknowledgements are waited for.", "CONFIRMATION-3 ACKNOWLEDGE-3",
           first("queue.Queue.change", "self._state.retire(self._awaited); self._awaited = {}")),
    mutant("clear-forgets-awaited", "To clear a queue forgets which acknowledgements are waited for.", "CONFIRMATION-3 ACKNOWLEDGE-3",
           first("queue.Queue.clear", "self._state.retire(self._awaited); self._awaited = {}")),
    mutant("counts-a-byte", "ReceivedMessages is a byte.", "QUEUE_INFO-5",
           edit("queue.Queue.push", "self.counters.received += 1", "self.counters.received = (self.counters.received + 1) & 255")),
    mutants.mutant("value-ends-at-colon", "The value of a property ends at a second colon.", "HELLO-1",
                   edit("properties", ".lower(), value)", ".lower(), value.split(b':')[0])")),
    mutant("left-still-served", "A ROUND_ROBIN queue goes on to send to one who left, until somebody joins.", "ROUND_ROBIN-1",
           edit("queue.Queue._receivers", "members = self.channel.members", "members = self.channel.members",
                "if self.settings.status is QueueStatus.ROUND_ROBIN:", "    kept = vars(self).get('kept') or list(members)",
                "    members = self.kept = list(members) if set(members) - set(kept) else kept")),
    mutant("failed-acknowledged-alike", "Of operations that fail JOIN and CREATE_CHANNEL alone are acknowledged as negative.", "RESPONSE-4",
           edit("state.State.answer", "client.id, code, code)", "client.id, code, code if type(request).__name__ in ('Join', 'CreateChannel') else 0)")),
    mutant("done-acknowledged-as-failed", "The acknowledgement of what DELETE_QUEUE, LEAVE and UPDATE_QUEUE did is negative.", "RESPONSE-4",
           edit("state.State.answer", "client.id, code, code)",
                "client.id, code, code or int(type(request).__name__ in ('DeleteQueue', 'Leave', 'UpdateQueue')))")),
    mutant("ids-stripped", "Spaces around the id of a request are no part of its answer's.", "RESPONSE-1 RESPONSE-3 RESPONSE-4",
           edit("state.State.answer", "id=request.id,", "id=request.id.strip(),"),
           edit("state.State._confirmation", "id=request.id,", "id=request.id.strip(),")),
    mutant("message-ids-stripped", "Spaces around the id of a message are no part of it.", "MESSAGE-1 CONFIRMATION-1",
           first("Pushing.push", "request = replace(request, id=request.id.strip())")),
    mutant("relayed-ids-stripped", "Spaces around the id of what is relayed are no part of it.", "SEND_DIRECT-1 RESPOND-1 ACKNOWLEDGE-2",
           edit("relaying.relayed", "request.id,", "request.id.strip(),")),
    mutant("one-time-out-for-all", "An acknowledgement that is overdue ends the wait for the other consumers of its message.", "QUEUE_INFO-6",
           after("queue.Queue.missed", "self._settle(awaited)",
                 "for key in [one for one in self._awaited if one[0] == awaited.message.id]: self._settle(self._awaited.pop(key))")),
    mutants.mutant("events-by-case", "Events of a channel are for who names it as it was created.", "EVENT-1 EVENT-2",
                   edit("Direct.event", "channel_name, number = channel.key, found",
                        "channel_name, number = channel.key if header(request.headers, b'channel-name') == channel.name else b'?', found")),
    mutants.mutant("priorities-as-texts", "Priorities of bindings are compared as texts: 9 before 10.", "ROUTE-2",
                   edit("Router.__init__", "key=lambda one: -one.priority", "key=lambda one: str(one.priority), reverse=True")),
)  # fmt: skip
