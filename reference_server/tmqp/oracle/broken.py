"""Which clause a message breaks that was not to come so: the field that differs, or what forbids it."""

from __future__ import annotations

from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp.enums import QueueStatus, ResultCode
from wireproof.protocols.tmqp.replies import Confirmation, DirectMessage, Notification, QueueMessage, Response
from wireproof.reference_server.tmqp.oracle.expected import Body, Expected, Headers, Made, Refusal, Shape
from wireproof.reference_server.tmqp.oracle.world import Line, ModelQueue, World

__all__ = ["broken_clause"]

OF_FIELDS = {
    **{("MESSAGE", name): "TMQP-MESSAGE-1" for name in ("id", "target", "content_type", "headers", "payload")},
    ("MESSAGE", "source"): "TMQP-MESSAGE-2",
    ("MESSAGE", "one_delivery"): "TMQP-MESSAGE-3",
    ("MESSAGE", "pending_ack"): "TMQP-MESSAGE-4",
    ("MESSAGE", "pending_response"): "TMQP-PRODUCE-6",
    ("MESSAGE", "ttl"): "TMQP-TTL-2",
    ("DIRECT", "source"): "TMQP-SOURCE-1",
    ("DIRECT", "target"): "TMQP-SEND_DIRECT-2",
    ("DIRECT", "ttl"): "TMQP-TTL-2",
    ("DIRECT", "headers"): "TMQP-HEADER-3",
    ("RESPONSE", "source"): "TMQP-RESPONSE-1",
    ("RESPONSE", "target"): "TMQP-RESPONSE-2",
    ("RESPONSE", "one_delivery"): "TMQP-RESPONSE-8",
    ("RESPONSE", "high_priority"): "TMQP-RESPONSE-8",
    ("NOTIFICATION", "target"): "TMQP-NOTIFICATION-1",
    ("NOTIFICATION", "content_type"): "TMQP-NOTIFICATION-1",
}
"""Message and field -> the clause that fixes it, where that is another than what the message is expected by."""
OF_MEMBERS = {
    **dict.fromkeys(("Messages", "PriorityMessages", "Status"), "TMQP-QUEUE_INFO-3"),
    **dict.fromkeys(("ReceivedMessages", "SentMessages", "Deliveries", "Acks", "NegativeAcks"), "TMQP-QUEUE_INFO-5"),
    "TimeoutMessages": "TMQP-QUEUE_INFO-6",
    **dict.fromkeys(("ActiveClients", "Queues"), "TMQP-CHANNEL_INFO-3"),
}
"""Member of QUEUE_INFORMATION and CHANNEL_INFORMATION -> the clause that fixes it."""
OF_HEADERS = {
    b"request-id": "TMQP-PULL-3",
    b"index": "TMQP-PULL-3",
    b"priority-messages": "TMQP-PULL-14",
    b"messages": "TMQP-PULL-14",
}
"""Header of what is pulled, in lower case -> the clause that fixes it; Count differs by profile."""
INFORMED = ("TMQP-QUEUE_INFO-1", "TMQP-CHANNEL_INFO-1")
PULLED = "TMQP-PULL-"
"""Begins the clauses of what a pull is answered: they fix its headers, too."""
IDENTITY = {"MESSAGE": ("id", "payload"), "NOTIFICATION": ("source",), "DIRECT": ("id", "payload")}
"""Message -> the fields by which it is known which one it is: it is another one where all of them differ."""

OF_EVENTS = {
    b"ClientConnected": "TMQP-NOTIFICATION-2",
    b"ClientDisconnected": "TMQP-NOTIFICATION-2",
    b"ChannelCreated": "TMQP-NOTIFICATION-3",
    b"ChannelRemoved": "TMQP-NOTIFICATION-3",
    b"ClientJoined": "TMQP-NOTIFICATION-4",
    b"ClientLeft": "TMQP-NOTIFICATION-4",
    b"QueueCreated": "TMQP-NOTIFICATION-5",
    b"QueueUpdated": "TMQP-NOTIFICATION-5",
    b"QueueRemoved": "TMQP-NOTIFICATION-5",
    b"MessageProduced": "TMQP-NOTIFICATION-6",
}
"""Event -> the clause that says what it is told of."""
MESSAGE_ORDER = "TMQP-MESSAGE-5"
OPERATION = "TMQP-RESPONSE-4"
"""Of the acknowledgement of a server operation, which need not come where a response answers it, too (E11)."""
TAKEN = "TMQP-PRODUCE-1"
SILENT = {
    QueueStatus.PULL: "TMQP-PULL-1",
    QueueStatus.PAUSED: "TMQP-PAUSED-1",
    QueueStatus.STOPPED: "TMQP-STOPPED-2",
    QueueStatus.ROUND_ROBIN: "TMQP-ROUND_ROBIN-1",
}
"""State -> the clause by which members get nothing, or one alone something."""


def broken_clause(world: World, line: Line, message: Message) -> str | None:
    """Return the clause that a message breaks that nothing explains; None where none is known.

    It is compared with what is most like it of all that must come: in the wrong order, with one wrong field. What is
    like nothing is forbidden by something.
    """
    found: list[tuple[int, str]] = []
    certain = [one for one in line.due if one.is_certain]
    for one in certain:
        for shape in one.shapes:
            if type(message) is shape.kind and _is_alike(shape, message):
                wrong = shape.differing(message)
                found.append((len(wrong), _of_field(world, one, shape, message, wrong[0]) if wrong else MESSAGE_ORDER))
    if found:
        return min(found, key=lambda one: one[0])[1]
    id_ = getattr(message, "id", None)
    like = next((one for one in certain if id_ and any(_has_id(shape, id_) for shape in one.shapes)), None)
    if like is None:
        return _forbidding(world, line, message)
    return TAKEN if like.queue is not None and _is_refusal(message) else like.clause


def _is_refusal(message: Message) -> bool:
    """Say whether the server says that it did not do what was asked."""
    return isinstance(message, Response) and not message.source and message.content_type != ResultCode.OK


def _is_alike(shape: Shape, message: Message) -> bool:
    """Say whether a message can be the one that is meant, with some field wrong."""
    known = [name for name in IDENTITY.get(message.NAME, ("id",)) if name in shape.fields]
    wrong = shape.differing(message)
    return not known or any(name not in wrong for name in known)


def _has_id(shape: Shape, id_: bytes) -> bool:
    wanted = shape.fields.get("id")
    return id_ == (wanted.value if isinstance(wanted, Made) else wanted)


def _of_field(world: World, one: Expected, shape: Shape, message: Message, name: str) -> str:
    """Return the clause about the first field in which a message differs from what was expected."""
    wanted, got = shape.fields[name], getattr(message, name)
    if name == "payload" and isinstance(wanted, Body) and one.clause in INFORMED:
        return OF_MEMBERS.get(wanted.first_differing(got), one.clause)
    if name == "headers" and isinstance(wanted, Headers) and one.clause.startswith(PULLED):
        header = wanted.first_differing(got)
        count = "TMQP-PULL-4" if world.rules.counts_what_there_is else "TMQP-PULL-5"
        return count if header == b"count" else OF_HEADERS.get(header, one.clause)
    if isinstance(wanted, Refusal) and not wanted.fails and one.queue is not None:
        return TAKEN
    return one.of_fields.get(name) or OF_FIELDS.get((message.NAME, name), one.clause)


def _forbidding(world: World, line: Line, message: Message) -> str | None:
    """Return the clause that a message breaks which is like nothing that was to come; None where none is known."""
    if isinstance(message, Notification):
        is_told = any(one[0][0] == message.source and one[1] is line.client for one in world.subscriptions)
        return OF_EVENTS.get(message.source, "TMQP-EVENT-2") if is_told else "TMQP-EVENT-2"
    if isinstance(message, QueueMessage):
        return _of_message(world, line, message)
    if isinstance(message, DirectMessage):
        is_id = not message.target.startswith((b"@name:", b"@type:"))
        return "TMQP-SEND_DIRECT-1" if is_id else f"TMQP-SEND_DIRECT-{3 if message.one_delivery else 2}"
    if isinstance(message, Confirmation):
        if message.source:
            return f"TMQP-{'ACKNOWLEDGE-2' if message.high_priority else 'CONFIRMATION-3'}"
        if any(one.clause == OPERATION and _has_id(shape, message.id) for one in line.due for shape in one.shapes):
            return OPERATION
        return "TMQP-PRODUCE-7" if world.rules.acknowledges_when_asked else "TMQP-PRODUCE-8"
    return None


def _of_message(world: World, line: Line, message: QueueMessage) -> str | None:
    """Return what forbids a message of a queue: the end of the channel, queue or membership, the state, its options."""
    if any(one.name.lower() in (b"request-id", b"no-content") for one in message.headers):
        return None
    channel = world.channel(message.target)
    if channel is None:
        return "TMQP-DELETE_CHANNEL-1"
    queue = channel.queues.get(message.content_type)
    if queue is None:
        return "TMQP-DELETE_QUEUE-1"
    if line.client not in channel.members:
        return "TMQP-LEAVE-1"
    return _of_member(queue) or ("TMQP-JOIN-2" if line.client in channel.again else None)


def _of_member(queue: ModelQueue) -> str | None:
    if queue.status in SILENT:
        return SILENT[queue.status]
    if queue.options["WaitForAcknowledge"] and queue.awaited:
        return "TMQP-ACKNOWLEDGE-4"
    return "TMQP-PUSH-3" if queue.options["SendOnlyFirstAcquirer"] else None
