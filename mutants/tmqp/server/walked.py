"""Mutants of how two rules meet, which no written case and no combination kills: walks do."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.tmqp.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

DOC, RELEASED = ("doc",), ("twino-3.0.0",)
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("acknowledged-as-pushed", "Whether consumers must acknowledge is decided when a message is pushed, not when it is sent.", "MESSAGE-4 UPDATE_QUEUE-1",
           first("queue.Queue.push", "message.asks = self.requests_ack"),
           edit("StoredMessage.delivered", "self.asks is None and ", ""),
           edit("queue.Queue.send", "if message.asks is not None and", "if False and"),
           edit("queue.Queue.send", "self.requests_ack and message.asks is not False", "bool(message.asks)"),
           profiles=DOC),
    mutant("bad-queue-makes-its-channel", "CREATE_QUEUE with bad options in a channel that is not there creates the channel.", "CREATE_QUEUE-1 JOIN-3 LIST_QUEUES-2",
           edit("QueueOperations.create_queue", "return wrong(state, request, client, ResultCode.BAD_REQUEST, error)",
                "if channel is None: self._channels.create(request.target, state.settings)",
                "return wrong(state, request, client, ResultCode.BAD_REQUEST, error)"), profiles=DOC),
    mutant("cache-is-dropped", "A CACHE queue that becomes another kind loses its message.", "UPDATE_QUEUE-1 PULL-2 PUSH-2",
           edit("queue.Queue.change", "self.settings = settings",
                "if self.settings.status is QueueStatus.CACHE and settings.status is not QueueStatus.CACHE: self.clear()", "self.settings = settings"),
           profiles=DOC),
    mutant("deleted-unsubscribes", "Subscriptions to a channel's events are gone when it is created anew.", "EVENT-2 NOTIFICATION-4 NOTIFICATION-5",
           edit("Channels.remove", "channel.is_removed = True", "channel.is_removed = True", "for key in [key for key in self._state.subscribers if key[1] == channel.key]:",
                "    for client in list(self._state.subscribers[key]): self.events.unsubscribe(client, key)"), profiles=DOC),
    mutant("left-cannot-acknowledge", "The acknowledgement of a client that left the channel does not count.", "ACKNOWLEDGE-1 CONFIRMATION-3 QUEUE_INFO-5",
           first("queue.Queue.acknowledged", "if client not in self.channel.members: return None"), profiles=DOC),
    mutant("stored-takes-a-turn", "A message that is stored takes a turn of ROUND_ROBIN, too.", "ROUND_ROBIN-2 ROUND_ROBIN-1 PRODUCE-1 PRODUCE-3",
           edit("queue.Queue.push", "self.store(message)", "self.store(message); self._turn += 1"), profiles=DOC),
    mutant("stop-forgets", "A queue that stops forgets the acknowledgements that it waits for.", "CONFIRMATION-3 ACKNOWLEDGE-1",
           edit("queue.Queue.change", "if settings.status is QueueStatus.STOPPED:", "if settings.status is QueueStatus.STOPPED:",
                "    self._state.retire(self._awaited); self._awaited = {}"), profiles=DOC),
    mutant("update-turns-anew", "UPDATE_QUEUE begins the turns of a ROUND_ROBIN queue anew.", "ROUND_ROBIN-1 PRODUCE-1 PRODUCE-3",
           edit("queue.Queue.change", "self.settings = settings", "self.settings = settings; self._turn = 0"), profiles=DOC),
    mutant("stops-in-parts", "A queue that stops drops a thousand messages at once, and the others in the next turn.", "STOPPED-2",
           edit("queue.Queue.clear", "self._normal = OrderedDict()", "pass")),
    mutant("left-pulls", "A client that left a channel may pull from it.", "PULL-9",
           edit("Operations.leave", "self._channels.leave(channel, client)", "vars(channel).setdefault('were', set()).add(client); self._channels.leave(channel, client)"),
           edit("Messaging.pull", "if client not in channel.members:", "if client not in channel.members and client not in vars(channel).get('were', ()):")),
    mutant("joins-out-of-turn", "What is put back into a ROUND_ROBIN queue goes to the member that joined last.", "ROUND_ROBIN-3",
           edit("Channels.join", "queue.drain()", "before, queue._turn = queue._turn, len(channel.members) - 1; queue.drain(); queue._turn = before"), profiles=RELEASED),
    mutant("info-after-clear", "Info counts what Clear leaves.", "PULL-14",
           edit("Pulled._headers", "left = ", "if (header(self._request.headers, b'clear') or b'').strip() and self._sent == self._count:",
                "    return (*found, Header(b'Priority-Messages', b'0'), Header(b'Messages', b'0'))", "left = "), profiles=RELEASED),
    mutant("counts-what-was-awaited", "Acks and NegativeAcks count only what was waited for.", "QUEUE_INFO-5",
           edit("queue.Queue.acknowledged", "self.counters.negative_acks += negative", "if (id_, client) not in self._awaited: return None", "self.counters.negative_acks += negative"),
           profiles=RELEASED),
    mutant("comes-again-as-before", "A client that comes again has its former name.", "HELLO-4 LIST_CLIENTS-1 SEND_DIRECT-2 NOTIFICATION-6 NOTIFICATION-4",
           first("TmqpSession.opened", "client.name = vars(self.state).setdefault('names', {}).setdefault(client.id, client.name)")),
    mutant("first-of-turns", "ROUND_ROBIN with SendOnlyFirstAcquirer sends to the first member alone.", "ROUND_ROBIN-1 PRODUCE-3 PRODUCE-1",
           edit("queue.Queue._receivers", "is QueueStatus.ROUND_ROBIN and members", "is QueueStatus.ROUND_ROBIN and members and not self.settings.only_first"), profiles=RELEASED),
)  # fmt: skip
