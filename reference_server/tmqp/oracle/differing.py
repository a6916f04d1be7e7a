"""Which clause a message breaks in which one field, or one member of its JSON, is another than was expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp.enums import QueueStatus, ResultCode
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.profiles import OPERATIONS
from wireproof.protocols.tmqp.requests import (
    ChannelInfo,
    CreateChannel,
    CreateQueue,
    DeleteChannel,
    DeleteQueue,
    Join,
    Leave,
    ListConsumers,
    ListQueues,
    Produce,
    Pull,
    QueueInfo,
    Subscribe,
)
from wireproof.reference_server.tmqp.oracle.expected import Body, Expected, Headers, Refusal, Rows, Shape
from wireproof.reference_server.tmqp.oracle.reading import first_header, number_in
from wireproof.reference_server.tmqp.oracle.world import Line, Mistaken, ModelChannel, ModelQueue, World

__all__ = ["DESTROYED", "MARKED", "OTHER_CASE", "clause_of_field", "clause_of_refusal", "clause_of_removed"]

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
STORED = ("PriorityMessages", "Messages")
RECEIVED = (*STORED, "ReceivedMessages")
KEEPS_NO_MORE = {
    QueueStatus.BROADCAST: "TMQP-BROADCAST-2",
    QueueStatus.CACHE: "TMQP-CACHE-1",
    QueueStatus.STOPPED: "TMQP-STOPPED-2",
}
"""State -> the clause by which a queue stores nothing, or one message alone."""
WAYS = ("TMQP-COPY-", "TMQP-ROUTE-")
"""Begins the clauses by which messages come into queues that nobody pushed there."""
WITHOUT = {
    "AllowMultipleQueues": True,
    "AllowedQueues": None,
    "ClientLimit": 0,
    "QueueLimit": 0,
    "DestroyWhenEmpty": False,
}
"""Option of a channel -> what it is where nobody gave one; those of queues differ by server."""
CALLED = {"OnlyFirstAcquirer": "SendOnlyFirstAcquirer"}
"""Member of these -> the option that it tells, where that is called otherwise."""
OF_HEADERS = {
    b"request-id": "TMQP-PULL-3",
    b"index": "TMQP-PULL-3",
    b"priority-messages": "TMQP-PULL-14",
    b"messages": "TMQP-PULL-14",
}
"""Header of what is pulled, in lower case -> the clause that fixes it; Count differs by profile."""
QUEUE, CHANNEL, QUEUES, CHANNELS = (
    "TMQP-QUEUE_INFO-1",
    "TMQP-CHANNEL_INFO-1",
    "TMQP-LIST_QUEUES-1",
    "TMQP-LIST_CHANNELS-1",
)
PULLED, RELAYED = "TMQP-PULL-", "TMQP-RESPOND-"
"""Begins the clauses of what a pull is answered: they fix its headers, too; and of what is relayed by its target."""
UNNAMED = frozenset(f"TMQP-{one}" for one in ("UPDATE_QUEUE-3", "UPDATE_QUEUE-4", "CREATE_QUEUE-2"))
"""What is broken where an option counts that no valid request has named: its fields say so, too."""
OF_CHANNELS = (ChannelInfo, DeleteChannel, Join, Leave, ListConsumers, ListQueues)
"""Requests that are about a channel and no queue of it."""
OTHER_CASE = "TMQP-CREATE_CHANNEL-2"
HEADERS_KEPT = "TMQP-HEADER-3"
CONTENT = "TMQP-MESSAGE-1"
UNAUTHORIZED = "TMQP-RESPONSE-9"
DESTROYED = "TMQP-LEAVE-3"
MARKED = "TMQP-MESSAGE-3"
TAKEN = "TMQP-PRODUCE-1"


def clause_of_field(world: World, line: Line, one: Expected, shape: Shape, message: Message, name: str) -> str:
    """Return the clause about the first field in which a message differs from what was expected."""
    wanted, got = shape.fields[name], getattr(message, name)
    request = line.requests.get(getattr(message, "id", b""))
    found = ""
    if name == "payload" and isinstance(wanted, Body | Rows) and request is not None:
        found = _of_body(world, request, one.clause, wanted, got)
    elif name == "content_type" and message.NAME == "WELCOME":
        found = "TMQP-ROBUSTNESS-2" if got == ResultCode.BUSY and _id_wanted(shape) in world.former_ids else ""
    elif name == "content_type" and message.NAME == "RESPONSE" and request is not None and got != wanted:
        is_forbidden = isinstance(request, OPERATIONS) and ResultCode.UNAUTHORIZED in (wanted, got)
        found = UNAUTHORIZED if is_forbidden else _of_result(world, request, int(got))
    elif name == "headers":
        found = _of_headers(world, line, one, message, wanted, got)
    elif name == "id" and message.NAME == "MESSAGE" and _is_nothing(wanted):
        found = "TMQP-MESSAGE-6"
    elif isinstance(one.queue, ModelQueue) and message.NAME == "MESSAGE":
        found = _of_queue(world, one.queue, name, got)
    if one.clause.startswith(RELAYED) and name in ("source", "target"):
        found = one.clause
    return found or one.of_fields.get(name) or OF_FIELDS.get((message.NAME, name), one.clause)


def clause_of_refusal(world: World, line: Line, id_: bytes, why: object) -> str:
    """Return the clause that the refusal of a PRODUCE breaks: by its code, or by the words that stand for it."""
    request = line.requests.get(id_)
    if request is None:
        return TAKEN
    words = why.replace(b"_", b"-").lower() if isinstance(why, bytes) else b""
    if (why == ResultCode.NOT_FOUND or words == b"not-found") and _is_spelled_otherwise(world, request):
        return OTHER_CASE
    channel = world.channel(request.target)
    queue = None if channel is None else channel.queues.get(getattr(request, "content_type", -1))
    if (why == ResultCode.LIMIT_EXCEEDED or words == b"limit-exceeded") and queue and queue.options["MessageLimit"]:
        return "TMQP-LIMIT-1"
    is_outside = channel is not None and line.client not in channel.members
    is_stopped = world.rules.stopped_is_unauthorized and queue is not None and queue.status is QueueStatus.STOPPED
    is_unauthorized = (why == ResultCode.UNAUTHORIZED and not is_stopped) or words == b"unauthorized"
    return "TMQP-PRODUCE-2" if is_outside and is_unauthorized else TAKEN


def clause_of_removed(world: World, request: RequestFrame) -> str:
    """Return what says that the channel or queue of a request is gone; nothing where it never was."""
    named = first_header(request, b"channel-name") if isinstance(request, Subscribe) else None
    channel, key = world.channel(named or request.target), (named or request.target).lower()
    if channel is None or isinstance(request, CreateChannel):
        is_gone = (key, None) in world.removed
        return "" if not is_gone else DESTROYED if key in world.destroyed else "TMQP-DELETE_CHANNEL-1"
    is_by_number = isinstance(request, Produce | Pull)
    number = request.content_type if is_by_number else number_in(first_header(request, b"queue-id"))
    if isinstance(request, QueueInfo | DeleteQueue) and not world.rules.reads_queue_id_header:
        number = int.from_bytes(request.payload[:2], "little")
    is_gone = number is not None and number not in channel.queues and (key, number) in world.removed
    return "TMQP-DELETE_QUEUE-1" if is_gone else ""


def _is_nothing(wanted: object) -> bool:
    return getattr(wanted, "value", None) == b""


def _id_wanted(shape: Shape) -> object:
    return getattr(shape.fields.get("target"), "value", None)


def _is_spelled_otherwise(world: World, request: RequestFrame) -> bool:
    """Say whether a request names a channel in other letters than it, or the queue, was created: a clause allows it."""
    channel = world.channel(request.target)
    if channel is None or not world.rules.answers_duplicates or OTHER_CASE in world.proven:
        return False
    is_by_number = isinstance(request, Produce | Pull)
    number = request.content_type if is_by_number else number_in(first_header(request, b"queue-id"))
    queue = None if number is None else channel.queues.get(number)
    return request.target != (channel.name if queue is None else queue.spelled)


def _of_result(world: World, request: RequestFrame, code: int) -> str:
    """Return the clause by which an operation had another result; nothing where it is the operation's own."""
    key, channel = request.target.lower(), world.channel(request.target)
    if code == ResultCode.NOT_FOUND and channel is not None and isinstance(request, OF_CHANNELS):
        is_fleeting = channel.options.get("DestroyWhenEmpty") and channel.is_used
        return OTHER_CASE if _is_spelled_otherwise(world, request) else DESTROYED if is_fleeting else ""
    if channel is None and code in (ResultCode.OK, ResultCode.DUPLICATE):
        if (key, None) in world.removed:
            return DESTROYED if key in world.destroyed else "TMQP-DELETE_CHANNEL-1"
        return "TMQP-JOIN-3" if key in world.unjoined and not isinstance(request, Join) else ""
    number = number_in(first_header(request, b"queue-id"))
    if code == ResultCode.DUPLICATE and isinstance(request, CreateQueue) and (key, number) in world.removed:
        return f"TMQP-DELETE_{'CHANNEL' if (key, None) in world.removed else 'QUEUE'}-1"
    if code == ResultCode.NOT_FOUND and channel is not None and number in channel.queues:
        return OTHER_CASE if _is_spelled_otherwise(world, request) else ""
    is_there = channel is not None and code in (ResultCode.OK, ResultCode.DUPLICATE)
    return clause_of_removed(world, request) if is_there else ""


def _of_headers(world: World, line: Line, one: Expected, message: Message, wanted: object, got: Sequence[Any]) -> str:
    """Return the clause about headers that are not as they should be; nothing where it is the message's own."""
    if isinstance(wanted, Refusal):
        if wanted.fails or one.queue is None:
            return ""
        why = next((header.value for header in got if header.name.lower() == b"nack-reason"), b"")
        is_refused = why.replace(b"-", b"_").upper().decode("latin-1") in ResultCode.__members__
        return clause_of_refusal(world, line, getattr(message, "id", b""), why) if is_refused else one.clause
    if not isinstance(wanted, Headers):
        return ""
    if one.clause.startswith(PULLED):
        request = line.requests.get(getattr(message, "id", b""))
        content = next((header.value for header in got if header.name.lower() == b"no-content"), b"")
        if content in (b"No-Channel", b"No-Queue") and request is not None and _is_spelled_otherwise(world, request):
            return OTHER_CASE
        header = wanted.first_differing(got)
        count = "TMQP-PULL-4" if world.rules.counts_what_there_is else "TMQP-PULL-5"
        if header and header not in (b"count", b"no-content", *OF_HEADERS):
            return HEADERS_KEPT if any(other.name.lower() == header for other in got) else CONTENT
        if content == b"Empty" and (by := next((each.by for each in line.due if each.queue is one.queue), "")):
            return one.clause if by in world.proven else by
        return count if header == b"count" else OF_HEADERS.get(header, one.clause)
    there = [(header.name.lower(), header.value) for header in got]
    is_kept = sorted(there) == sorted(wanted.wanted) or [one for one, _ in there] == [one for one, _ in wanted.wanted]
    return HEADERS_KEPT if there and is_kept else ""


def _of_queue(world: World, queue: ModelQueue, name: str, got: object) -> str:
    """Return the clause by which a field of a message tells another option, or the place of who has left."""
    known = [one for one in queue.mistaken if one[1] in UNNAMED]
    if name == "pending_ack":
        return _mistaken(known, lambda one: int(bool(one["RequestAcknowledge"])) == got)
    if name == "source":
        return _mistaken(known, lambda one: bool(one["HideClientNames"]) == (got == b""))
    is_lost = name == "one_delivery" and got == 0 and queue.status is not QueueStatus.PULL
    return _of_leaving(queue.channel) if is_lost and MARKED in world.proven else ""


def _of_leaving(channel: ModelChannel) -> str:
    """Return what says that who left is no member; nothing where nobody has left."""
    if not channel.left:
        return ""
    return "TMQP-ROBUSTNESS-2" if all(one.is_gone for one in channel.left) else "TMQP-LEAVE-1"


def _mistaken(known: Sequence[Mistaken], fits: Callable[[Mapping[str, object]], bool]) -> str:
    """Return the clause of the last mistake that explains a value."""
    return next((clause for options, clause in reversed(known) if fits(options)), "")


def _of_body(world: World, request: RequestFrame, clause: str, wanted: Body | Rows, got: object) -> str:
    """Return the clause about what a JSON body tells otherwise; nothing where it is the message's own."""
    try:
        found = json.loads(got) if isinstance(got, bytes) else None
    except ValueError:
        return ""
    channel = world.channel(request.target)
    if isinstance(wanted, Body) and isinstance(found, dict) and clause in (QUEUE, CHANNEL):
        number = number_in(first_header(request, b"queue-id"))
        queue = channel.queues.get(number) if channel is not None and number is not None else None
        return _of_member(world, queue if clause == QUEUE else channel, wanted, found)
    if isinstance(wanted, Rows) and isinstance(found, list) and clause in (QUEUES, CHANNELS):
        return _of_rows(world, channel, clause, wanted, [one for one in found if isinstance(one, dict)])
    return ""


def _of_member(world: World, thing: ModelQueue | ModelChannel | None, wanted: Body, found: Mapping[str, object]) -> str:
    """Return the clause about the first member of information that is not as it should be."""
    name = next(wanted.differing(found), "")
    got, option = found.get(name), CALLED.get(name, name)
    if thing is None or not name:
        return OF_MEMBERS.get(name, "")
    if name == "ActiveClients" and isinstance(thing, ModelChannel) and isinstance(got, int):
        more = got - len(thing.members)
        if more > 0 and not (thing.again or thing.left) and (thing.key, None) in world.removed:
            return "TMQP-DELETE_CHANNEL-1"
        if more < 0 or not (thing.again or thing.left):
            return "TMQP-JOIN-1" if more < 0 else OF_MEMBERS[name]
        return "TMQP-JOIN-2" if thing.again and more != len(thing.left) else _of_leaving(thing)
    if name == "Queues" and isinstance(thing, ModelChannel) and isinstance(got, list):
        is_removed = any((thing.key, one) in world.removed and one not in thing.queues for one in got)
        return "TMQP-DELETE_QUEUE-1" if is_removed else OF_MEMBERS[name]
    if name == "Status":
        return _mistaken(thing.mistaken, lambda one: _status(one) == str(got).lower()) or OF_MEMBERS[name]
    if option in thing.options:
        known = _mistaken(thing.mistaken, lambda one: option in one and one[option] == got)
        its = "TMQP-QUEUE_INFO-4" if isinstance(thing, ModelQueue) else _of_option(world, thing, option, got)
        return known or (its if world.rules.has_limits else "")
    counted = _of_count(world, thing, wanted, found, name) if isinstance(thing, ModelQueue) else ""
    return counted or OF_MEMBERS.get(name, "")


def _of_option(world: World, channel: ModelChannel, option: str, got: object) -> str:
    """Return the clause about an option of a channel: it was given in vain, or is not told as it is."""
    usual = world.defaults.get(option, WITHOUT.get(option))
    return "TMQP-CREATE_CHANNEL-6" if option in channel.given and got == usual else "TMQP-CHANNEL_INFO-4"


def _of_count(world: World, queue: ModelQueue, wanted: Body, found: Mapping[str, object], name: str) -> str:
    """Return the clause by which a queue holds or had more or fewer messages; nothing where they are only counted so.

    More are stored than its state allows, or fewer came than were copied, or sent by routers.
    """
    names = STORED if name in STORED else (name,)
    told, real = (sum(int(str(one.get(each, 0))) for each in names) for one in (found, wanted.members))
    if name in STORED and told > real:
        is_refused = queue.status is QueueStatus.STOPPED and queue.counts["refused"]
        if (
            queue.status is QueueStatus.BROADCAST
            and told > queue.counts["ReceivedMessages"] - queue.counts["SentMessages"]
        ):
            return ""  # more than nobody got: they are counted wrongly
        return "TMQP-STOPPED-1" if is_refused else KEEPS_NO_MORE.get(queue.status, "")
    if name in STORED and not told:
        return ""  # perhaps none is counted
    items = [one.by for one in (*queue.high, *queue.normal)] if name in STORED else queue.counts
    ways = [one for one in set(items) if one.startswith(WAYS) and one not in world.proven]
    count = items.count if isinstance(items, list) else items.__getitem__
    return next((one for one in ways if name in RECEIVED and real - told == count(one)), "")


def _status(options: Mapping[str, object]) -> str:
    return QueueStatus(int(str(options["Status"]))).name.replace("_", "").lower()


def _of_rows(
    world: World, channel: ModelChannel | None, clause: str, wanted: Rows, found: Sequence[Mapping[str, object]]
) -> str:
    """Return the clause about rows of a list: one too many that was removed, or one with another member."""
    keys = {one.get(wanted.key) for one in found}
    if clause == CHANNELS:
        is_back = any((str(one).lower().encode(), None) in world.removed and _is_new(world, one) for one in keys)
        return "TMQP-DELETE_CHANNEL-1" if is_back else ""
    if channel is None:
        return ""
    if any(isinstance(one, int) and (channel.key, one) in world.removed and one not in channel.queues for one in keys):
        return "TMQP-DELETE_QUEUE-1"
    for row in wanted.rows:
        like = next((one for one in found if one.get(wanted.key) == row.members[wanted.key]), None)
        if like is not None and not row.holds(like):
            return _of_member(world, channel.queues.get(int(str(row.members[wanted.key]))), row, like)
    return ""


def _is_new(world: World, name: object) -> bool:
    return world.channel(str(name).encode()) is None
