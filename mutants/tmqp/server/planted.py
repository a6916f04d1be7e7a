"""Mutants that planted faults left to ask for: bytes that mean the same, what is told in vain, who is looked up too early."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.tmqp.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

DOC, RELEASED = ("doc",), ("twino-3.0.0",)
HEADER_FIRST = (
    "given = whole(header(request.headers, QUEUE_ID))",
    "if given is not None: request = __import__('msgspec').structs.replace(request, payload=given.to_bytes(2, 'little'))",
)
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("copy-id-stays", "A copy for which no id is given has that of the copy before.", "COPY-3",
           edit("Pushing.copy", "for value in wanted:", "id_ = b''", "for value in wanted:"),
           edit("Pushing.copy", "name, number, id_ = _copied(value)", "name, number, given = _copied(value)", "id_ = given or id_")),
    mutant("block-of-nothing", "A message without headers is delivered with the header flag and a block of no bytes.", "HEADER-8",
           edit("queue.Queue.send", "for client in receivers:", "if frame[7] < 253 and not (message.frame.headers or headers):",
                "    at = 8 + sum(frame[2:5])", "    frame, others = (one and one[:1] + bytes([one[1] | 32]) + one[2:at] + bytes(2) + one[at:] for one in (frame, others))",
                "for client in receivers:")),
    mutant("sizes-of-three-bytes", "The size of a short payload is written in three bytes.", "FRAME-5",
           first("Client.push", "frame = frame[:7] + bytes((253, frame[7], 0)) + frame[8:] if frame[7] < 253 else frame")),
    mutant("pong-without-flags", "PONG is 0A 10 and six zero bytes.", "PING-2",
           edit("Handshake.ping", "return Pong()", "return bytes.fromhex('0a10000000000000')")),
    mutant("server-pings-without-flags", "The PING of the server is 09 10 and six zero bytes.", "PING-1",
           edit("TmqpSession.missed", "self.connection.send(ServerPing())", "bytes.fromhex('0910000000000000')")),
    mutant("full-queue-is-told", "MessageProduced is told of a message that a full queue refuses.", "NOTIFICATION-6",
           edit("Pushing.push", "if refused := self._refused(queue, request):", "if refused := self._refused(queue, request):",
                "    if refused == ResultCode.LIMIT_EXCEEDED: self._channels.events.of_message(StoredMessage(request, queue, client, client.id, 15, False))"), profiles=DOC),
    mutant("stopped-queue-is-told", "MessageProduced is told of a message that a STOPPED queue refuses.", "NOTIFICATION-6",
           edit("Pushing.push", "if refused := self._refused(queue, request):", "if refused := self._refused(queue, request):",
                "    if queue.settings.status is QueueStatus.STOPPED: self._channels.events.of_message(StoredMessage(request, queue, client, client.id, 15, False))"), profiles=DOC),
    mutant("queue-created-in-vain", "QueueCreated is told of a queue that exists.", "NOTIFICATION-5",
           edit("QueueOperations.create_queue", "if refused:", "if refused == ResultCode.DUPLICATE: self._channels.events.of_queue(b'QueueCreated', channel.queues[number])", "if refused:")),
    mutant("channel-created-in-vain", "ChannelCreated is told of a channel that exists.", "NOTIFICATION-3",
           edit("Operations.create_channel", "if state.channel(request.target) is not None:", "if state.channel(request.target) is not None:",
                "    self._channels.events.of_channel(b'ChannelCreated', state.channel(request.target))")),
    mutant("cut-off-stays", "A client that is disconnected since it did not answer a ping stays a member, and nobody is told.", "ROBUSTNESS-2 NOTIFICATION-7",
           first("TmqpSession.missed", "self.silent = self.client is not None and self._is_pinged"),
           edit("TmqpSession.connection_lost", "list(client.channels)", "([] if vars(self).get('silent') else list(client.channels))"),
           edit("TmqpSession.connection_lost", 'channels.events.of_client(b"ClientDisconnected", client)', 'vars(self).get("silent") or channels.events.of_client(b"ClientDisconnected", client)')),
    mutant("header-before-payload", "QUEUE_INFO reads the header Queue-Id, and the payload where there is none.", "QUEUE_INFO-1",
           first("QueueOperations.queue_info", *HEADER_FIRST), profiles=RELEASED),
    mutant("deletes-by-header", "DELETE_QUEUE reads the header Queue-Id, and the payload where there is none.", "DELETE_QUEUE-1",
           first("QueueOperations.delete_queue", *HEADER_FIRST), profiles=RELEASED),
    mutant("receivers-of-the-first", "Whom a binding means is looked up when it is used first.", "ROUTE-1",
           edit("Routing._is_served", "found = receivers(state, target, only_first=False)", "known = vars(self).setdefault('known', {})",
                "found = known[target] = known.get(target) or receivers(state, target, only_first=False)")),
    mutant("star-lists-none", "The filter * lists what is called so.", "LIST_CHANNELS-2 LIST_CLIENTS-1",
           edit("headers.filtered", "if not wanted or wanted == ANY:", "if wanted == ANY:", "    return name == ANY", "if not wanted:"), profiles=DOC),
    mutant("request-to-one", "A message to a type that asks for a response goes to one client.", "SEND_DIRECT-2",
           edit("Direct.send_direct", "only_first=bool(request.one_delivery)", "only_first=bool(request.one_delivery or (request.pending_response and request.target.startswith(BY_TYPE)))")),
)  # fmt: skip
