"""Which clause a message breaks that was not to come so: the field that differs, or what forbids it."""

from __future__ import annotations

from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp.enums import QueueStatus, ResultCode
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.profiles import OPERATIONS
from wireproof.protocols.tmqp.replies import Confirmation, DirectMessage, Notification, QueueMessage, Response
from wireproof.protocols.tmqp.requests import (
    ClearQueue,
    CreateChannel,
    ListConsumers,
    ListNodes,
    Operation,
    Produce,
    Respond,
    Route,
    SendDirect,
    Subscribe,
)
from wireproof.reference_server.tmqp.oracle.differing import (
    DESTROYED,
    MARKED,
    OTHER_CASE,
    clause_of_field,
    clause_of_refusal,
    clause_of_removed,
)
from wireproof.reference_server.tmqp.oracle.expected import Expected, Made, Shape
from wireproof.reference_server.tmqp.oracle.world import Line, ModelQueue, World

__all__ = [
    "asked_clause",
    "broken_clause",
    "is_altered_from",
    "is_no_member",
    "is_refused",
    "missing_clause",
    "repeated_clause",
    "shown_by",
]

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
OF_REQUESTS = {
    ClearQueue: "TMQP-DELETE_QUEUE-3",
    ListConsumers: "TMQP-CHANNEL_INFO-5",
    ListNodes: "TMQP-NODE-1",
    Operation: "",
}
"""Request -> the clause that says what it does, where its group has none."""
MESSAGE_ORDER = "TMQP-MESSAGE-5"
OPERATION = "TMQP-RESPONSE-4"
"""Of the acknowledgement of a server operation, which need not come where a response answers it, too (E11)."""
BOTH = "TMQP-RESPONSE-7"
SERVERS_OWN = "TMQP-CONFIRMATION-1"
"""Of an acknowledgement of the server: it has no source."""
SERVERS = (SERVERS_OWN, "TMQP-CONFIRMATION-2")
INHERITED = "TMQP-CREATE_QUEUE-9"
GIVEN = (INHERITED, "TMQP-UPDATE_QUEUE-1")
"""Clauses by which a queue has the options that it was given, or its channel was."""
ACKNOWLEDGING = ("after-received", "after-sent")
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
    if again := repeated_clause(world, line, message):
        return again
    found: list[tuple[int, str]] = []
    certain = [one for one in line.due if one.is_certain]
    for one in certain:
        for shape in one.shapes:
            if type(message) is shape.kind and _is_alike(shape, message):
                wrong = shape.differing(message)
                clause = clause_of_field(world, line, one, shape, message, wrong[0]) if wrong else MESSAGE_ORDER
                found.append((len(wrong), clause))
    if found:
        return min(found, key=lambda one: one[0])[1]
    id_ = getattr(message, "id", None)
    like = next((one for one in certain if id_ and any(_has_id(shape, id_) for shape in one.shapes)), None)
    if like is None or isinstance(message, DirectMessage):
        return _forbidding(world, line, message)
    if like.queue is not None and isinstance(message, Response) and _is_refusal(message):
        return clause_of_refusal(world, line, message.id, message.content_type)
    request = line.requests.get(getattr(message, "id", b""))
    return (clause_of_removed(world, request) if request is not None else "") or like.clause


def missing_clause(world: World, line: Line, one: Expected) -> str:
    """Return the clause that is broken where a message does not come that must."""
    if rested := _rested(world, one):
        return rested
    shape, wanted = one.shapes[0], one.shapes[0].fields.get("id")
    request = line.requests.get(wanted) if isinstance(wanted, bytes) and shape.kind is Response else None
    code = shape.fields.get("content_type")
    if isinstance(request, OPERATIONS) and not request.pending_response:
        return f"TMQP-RESPONSE-{11 if code is ResultCode.NOT_FOUND else 10}"
    if isinstance(request, CreateChannel) or (isinstance(request, Produce) and code is ResultCode.NOT_FOUND):
        return clause_of_removed(world, request) or one.clause
    if not isinstance(request, RequestFrame) or not isinstance(request, OPERATIONS):
        return one.clause
    is_open = any(other.clause == OPERATION and _has_id(other.shapes[0], request.id) for other in line.due)
    return BOTH if request.pending_response and request.pending_ack and not is_open else one.clause


def shown_by(world: World, line: Line, one: Expected, message: Message) -> set[str]:
    """Return the clauses that a message shows to hold which came as it was expected."""
    if isinstance(message, Response):
        request = line.requests.get(message.id)
        named = request if isinstance(request, OPERATIONS) and message.content_type == ResultCode.OK else None
        return {OTHER_CASE} if named is not None and _is_other_case(world, named.target) else set()
    if isinstance(message, Confirmation) and isinstance(one.queue, ModelQueue):
        known, delivery = one.queue.mistaken, one.queue.delivery
        one.queue.mistaken = [each for each in known if each[0]["MessageDeliveryHandler"] == delivery]
    if not isinstance(message, QueueMessage):
        return set()
    asked = [each.line.requests.get(message.id) for each in world.clients]
    is_marked = message.one_delivery and not any(each is not None and each.one_delivery for each in asked)
    case = OTHER_CASE if _is_other_case(world, message.target) else ""
    inherits = INHERITED if isinstance(one.queue, ModelQueue) and _inherited(world, one.queue) else ""
    return {one.by, MARKED if is_marked else "", case, inherits} - {""}


def asked_clause(request: RequestFrame, takes_options: bool) -> str:
    """Return the clause that is broken where a request leads to no answer to the ping after it; nothing if none is."""
    if isinstance(request, CreateChannel) and request.payload:
        return f"TMQP-CREATE_CHANNEL-{6 if takes_options else 10}"
    if isinstance(request, Produce) and any(one.name.lower() == b"cc" for one in request.headers):
        return "TMQP-COPY-4"
    return OF_REQUESTS.get(type(request), f"TMQP-{request.NAME}-1")


def is_no_member(world: World, line: Line, message: Message) -> bool:
    """Say whether a message of a queue came to a client that is no member of its channel, and did not pull it."""
    if not isinstance(message, QueueMessage) or any(one.name.lower() == b"request-id" for one in message.headers):
        return False
    channel = world.channel(message.target)
    return channel is not None and line.client not in channel.members


def is_refused(one: Expected, message: Message) -> bool:
    """Say whether the server says that it did not do what leads to a message."""
    id_ = getattr(message, "id", b"")
    return bool(id_) and _is_refusal(message) and any(_has_id(shape, id_) for shape in one.shapes)


def is_altered_from(one: Expected, message: Message) -> bool:
    """Say whether a message is the one that is expected, but for some field."""
    return any(type(message) is shape.kind and _is_alike(shape, message) for shape in one.shapes)


def _is_refusal(message: Message) -> bool:
    """Say whether the server says that it did not do what was asked."""
    return isinstance(message, Response) and not message.source and message.content_type != ResultCode.OK


def _is_alike(shape: Shape, message: Message) -> bool:
    """Say whether a message can be the one that is meant, with some field wrong."""
    known = [name for name in IDENTITY.get(message.NAME, ("id",)) if name in shape.fields]
    wrong = shape.differing(message)
    if message.NAME == "NOTIFICATION" and {"content_type", "payload"} <= {*wrong}:
        return False  # the same event, of another queue
    return not known or any(name not in wrong for name in known)


def _has_id(shape: Shape, id_: bytes) -> bool:
    wanted = shape.fields.get("id")
    return id_ == (wanted.value if isinstance(wanted, Made) else wanted)


def _is_other_case(world: World, name: bytes) -> bool:
    """Say whether a channel has that name in letters in which nobody has created it."""
    return world.channel(name) is not None and name not in world.spelled


def _inherited(world: World, queue: ModelQueue) -> str:
    """Return the clause by which a queue has the state of its channel; nothing where it has its own, or any would."""
    is_other = queue.status != world.defaults["Status"] and queue.status == queue.channel.options.get("Status")
    known = [clause for options, clause in queue.mistaken if options["Status"] == world.defaults["Status"]]
    return INHERITED if is_other and INHERITED in known else ""


def _rested(world: World, one: Expected) -> str:
    """Return the clause that a message rests on that does not come, where nothing has shown that it holds."""
    if one.by and one.by not in world.proven:
        return one.by
    if not isinstance(one.queue, ModelQueue):
        return ""
    if one.clause in SERVERS:
        return _retuned(one.queue, sends=False)
    is_stored = one.shapes[0].kind is QueueMessage and one.clause.endswith("-2")
    return _inherited(world, one.queue) if is_stored and INHERITED not in world.proven else ""


def _retuned(queue: ModelQueue, *, sends: bool) -> str:
    """Return the clause by which a queue has the delivery that it was given, where another one would explain it.

    `sends`: the server acknowledges a message that it should not.
    """
    for options, clause in reversed(queue.mistaken):
        delivery = options["MessageDeliveryHandler"]
        if clause in GIVEN and delivery != queue.delivery and (not sends or delivery in ACKNOWLEDGING):
            return clause
    return ""


def repeated_clause(world: World, line: Line, message: Message) -> str:
    """Return what says that a message which was sent before is sent no more; nothing where it was not, or may be."""
    channel = world.channel(message.target) if isinstance(message, QueueMessage) and message.id else None
    queue = None if channel is None else channel.queues.get(getattr(message, "content_type", -1))
    if channel is None or queue is None or not isinstance(message, QueueMessage):
        return ""
    item = next((one for one in reversed(queue.sent) if one.id.value == message.id), None)
    if item is None or any(_has_id(shape, message.id) for one in line.due for shape in one.shapes):
        return ""
    came_later = line.client in channel.members or line.client in channel.left - item.left
    is_again = line.client in item.receivers or (line.client not in item.members and came_later)
    return item.again if is_again else ""


def _forbidding(world: World, line: Line, message: Message) -> str | None:
    """Return the clause that a message breaks which is like nothing that was to come; None where none is known."""
    if isinstance(message, Notification):
        if message.source not in OF_EVENTS:
            return "TMQP-NOTIFICATION-1"
        is_told = any(one[0][0] == message.source and one[1] is line.client for one in world.subscriptions)
        return OF_EVENTS[message.source] if is_told else "TMQP-EVENT-2"
    if isinstance(message, QueueMessage):
        return _of_message(world, line, message)
    if isinstance(message, DirectMessage):
        if routed := _routed(world, message):
            return world.routers.get(routed.target, "TMQP-ROUTE-4")
        is_id = not message.target.startswith((b"@name:", b"@type:"))
        return "TMQP-SEND_DIRECT-1" if is_id else f"TMQP-SEND_DIRECT-{3 if message.one_delivery else 2}"
    if isinstance(message, Confirmation):
        return _of_confirmation(world, line, message)
    return _of_response(world, line, message) if isinstance(message, Response) else None


def _of_confirmation(world: World, line: Line, message: Confirmation) -> str:
    """Return what forbids an acknowledgement: of a consumer one with a source, of the server one without."""
    if message.source:
        return "TMQP-ACKNOWLEDGE-2" if message.high_priority else _of_acknowledgement(world, message)
    if isinstance(asked := line.requests.get(message.id), Route) and message.target == asked.target:
        return _of_answer(asked)
    if any(one.clause == OPERATION and _has_id(shape, message.id) for one in line.due for shape in one.shapes):
        return OPERATION
    queue = _queue_of(world, message)
    is_unasked = isinstance(asked, Produce) and not asked.pending_ack
    if is_unasked and world.rules.acknowledges_when_asked:
        return "TMQP-PRODUCE-7"
    if queue is not None and (clause := _retuned(queue, sends=True)):
        return clause
    if queue is not None and queue.delivery == "after-sent":
        return "TMQP-CONFIRMATION-2"
    return "TMQP-PRODUCE-7" if world.rules.acknowledges_when_asked else "TMQP-PRODUCE-8"


def _of_response(world: World, line: Line, message: Response) -> str | None:
    """Return what forbids a response: that nobody asked, or that it was asked for otherwise."""
    request = line.requests.get(message.id)
    if message.source:
        return "TMQP-RESPOND-1"
    if message.id in line.unanswered:
        return line.unanswered[message.id]
    if isinstance(request, OPERATIONS):
        if request.pending_response or not (request.pending_ack or world.rules.answers_as_asked):
            return None if request.pending_response else "TMQP-RESPONSE-6"
        alone = 4 if world.rules.answers_as_asked else 5
        return f"TMQP-RESPONSE-{alone if request.pending_ack else 6}"
    if isinstance(request, Produce):
        return clause_of_refusal(world, line, message.id, message.content_type)
    if isinstance(request, Respond):
        return "TMQP-RESPOND-2"
    if isinstance(request, SendDirect):
        meant = [one for one in world.clients if request.target in (b"@name:" + one.name, b"@type:" + one.type)]
        nobody = 6 if world.rules.reports_unknown_clients else 4
        return f"TMQP-SEND_DIRECT-{2 if meant else 1 if world.client(request.target) else nobody}"
    if isinstance(request, Subscribe):
        return "TMQP-EVENT-1"
    return _of_answer(request) if isinstance(request, Route) else "TMQP-RESPONSE-1"


def _queue_of(world: World, message: Confirmation) -> ModelQueue | None:
    """Return the queue that an acknowledgement names."""
    channel = world.channel(message.target)
    return None if channel is None else channel.queues.get(message.content_type)


def _of_acknowledgement(world: World, message: Confirmation) -> str:
    """Return what forbids an acknowledgement of a consumer: that nobody waits for it, or that it does not travel."""
    if world.client(message.source) is None:
        return SERVERS_OWN
    queue = _queue_of(world, message)
    return "TMQP-ACKNOWLEDGE-1" if queue is None or message.id in queue.unwaited else "TMQP-CONFIRMATION-3"


def _of_answer(request: Route) -> str:
    """Return what forbids an answer of the server itself to a message for a router."""
    return f"TMQP-ROUTE-{7 if request.pending_response or request.pending_ack else 5}"


def _routed(world: World, message: DirectMessage) -> RequestFrame | None:
    """Return the message to a router that a client was sent; None where it was sent to the client itself."""
    asked = [one for client in world.clients for one in client.line.requests.values() if one.payload == message.payload]
    return asked[0] if asked and all(isinstance(one, Route) for one in asked) else None


def _of_message(world: World, line: Line, message: QueueMessage) -> str | None:
    """Return what forbids a message of a queue: the end of the channel, queue or membership, the state, its options."""
    if any(one.name.lower() in (b"request-id", b"no-content") for one in message.headers):
        return None
    channel = world.channel(message.target)
    if channel is None:
        return DESTROYED if message.target.lower() in world.destroyed else "TMQP-DELETE_CHANNEL-1"
    queue = channel.queues.get(message.content_type)
    if queue is None:
        return "TMQP-DELETE_QUEUE-1"
    if line.client not in channel.members:
        is_anew = line.client not in channel.left and (channel.key, None) in world.removed
        is_back = any(one.is_gone and line.client and one.id.value == line.client.id.value for one in channel.left)
        return "TMQP-DELETE_CHANNEL-1" if is_anew else "TMQP-ROBUSTNESS-2" if is_back else "TMQP-LEAVE-1"
    return _of_member(queue) or ("TMQP-JOIN-2" if line.client in channel.again else None)


def _of_member(queue: ModelQueue) -> str | None:
    if queue.status in SILENT:
        return SILENT[queue.status]
    if queue.options["WaitForAcknowledge"] and queue.awaited:
        return "TMQP-ACKNOWLEDGE-4"
    return "TMQP-PUSH-3" if queue.options["SendOnlyFirstAcquirer"] else None
