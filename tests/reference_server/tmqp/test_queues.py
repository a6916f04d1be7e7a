"""Queues: seven states, options, priorities, limits, copies, what is told of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference_server.tmqp.simulated import WAITS, Server, heading, payloads, produce, rows
from wireproof.protocols.tmqp import Header
from wireproof.protocols.tmqp.bodies import ChannelInformation, QueueInformation, QueueList, QueueOptions
from wireproof.protocols.tmqp.requests import (
    ChannelInfo,
    ClearQueue,
    CreateQueue,
    DeleteQueue,
    Leave,
    ListQueues,
    QueueInfo,
    UpdateQueue,
)
from wireproof.reference_server.tmqp.session import DELIVERIES

BROADCAST, PUSH, ROUND_ROBIN, PULL, CACHE, PAUSED, STOPPED = range(7)


def asked(kind: Any, server: Server, number: int = 1, **more: Any) -> Any:
    """A request about a queue, its id where the profile has it."""
    by_header = server.rules.reads_queue_id_header or kind not in (DeleteQueue, QueueInfo)
    named = {"headers": rows(Queue_Id=str(number))} if by_header else {"payload": number.to_bytes(2, "little")}
    return kind(**{"id": b"1", "target": b"ch", **named, **WAITS, **more})


def info(server: Server, line: Any, number: int = 1) -> Any:
    (found,) = line.send(asked(QueueInfo, server, number))
    return server.codec.decode(QueueInformation, found.payload)


def update(server: Server, line: Any, **options: Any) -> None:
    found = line.send(asked(UpdateQueue, server, payload=server.codec.encode(QueueOptions(**options))))
    assert [one.content_type for one in found if one.NAME == "RESPONSE"] == [0]


def test_creating(server: Server) -> None:
    line = server.client("me")
    assert line.codes(asked(CreateQueue, server)) == [("RESPONSE", 0)]
    assert line.codes(asked(CreateQueue, server)) == [("RESPONSE", 481)]
    assert line.codes(asked(CreateQueue, server, 65535)) == [("RESPONSE", 0)]
    (found,) = line.send(ChannelInfo(id=b"1", target=b"ch", **WAITS))
    assert server.codec.decode(ChannelInformation, found.payload).Queues == (1, 65535)  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", ["", "x", "-1", "65536", "1.5", "9999999999"])
def test_ids_that_are_none(document: Server, released: Server, number: str) -> None:
    request = CreateQueue(id=b"1", target=b"ch", headers=rows(Queue_Id=number), **WAITS)
    assert document.client("me").codes(request) == [("RESPONSE", 406)]
    line = released.client("me")
    assert line.codes(request) == []
    assert line.closed


def test_without_an_id(document: Server, released: Server) -> None:
    line = document.client("me")
    assert line.codes(CreateQueue(id=b"1", target=b"ch", **WAITS)) == [("RESPONSE", 406)]
    assert line.codes(ChannelInfo(id=b"1", target=b"ch", **WAITS)) == [("RESPONSE", 404)]
    line = released.client("me")
    assert line.codes(CreateQueue(id=b"1", target=b"ch")) == [("RESPONSE", 406)]
    (found,) = line.send(ChannelInfo(id=b"1", target=b"ch", **WAITS))
    assert released.codec.decode(ChannelInformation, found.payload).Queues == (0,)  # type: ignore[attr-defined]
    assert line.codes(CreateQueue(id=b"1", target=b"c2", **WAITS)) == [("RESPONSE", 406), ("RESPONSE", 0)]
    assert not line.closed


def test_what_a_channel_does_not_allow(document: Server, released: Server) -> None:
    for server, answers in ((document, [("RESPONSE", 482)]), (released, [])):
        line = server.client("me")
        options = {"AllowedQueues": (1, 2)} | ({"QueueLimit": 1} if server is document else {})
        line.send(asked(CreateQueue, server, 1))
        server.service.state.channels[b"ch"].settings = server.service.state.settings.changed(
            server.codec.profile.messages["CHANNEL_OPTIONS"](**options), has_limits=server is document
        )
        assert line.codes(asked(CreateQueue, server, 3)) == answers
    document.channel(line := document.client("x"), "one", AllowMultipleQueues=False)
    document.queue(line, 1, "one")
    request = CreateQueue(id=b"1", target=b"one", headers=rows(Queue_Id="2"), **WAITS)
    assert line.codes(request) == [("RESPONSE", 482)]


def test_wrong_options_and_names(document: Server) -> None:
    line = document.client("me")
    assert line.codes(asked(CreateQueue, document, payload=b"[]")) == [("RESPONSE", 400)]
    unknown = document.codec.encode(QueueOptions(MessageDeliveryHandler=b"unknown"))
    assert line.codes(asked(CreateQueue, document, payload=unknown)) == [("RESPONSE", 400)]
    assert line.codes(asked(CreateQueue, document, target=b"a b")) == [("RESPONSE", 406)]
    document.queue(line)
    assert line.codes(asked(UpdateQueue, document, payload=b"[]")) == [("RESPONSE", 400)]
    server = Server(max_queues=1, max_channels=1)
    line = server.client("me")
    assert line.codes(asked(CreateQueue, server), asked(CreateQueue, server, 2)) == [("RESPONSE", 0), ("RESPONSE", 482)]
    server = Server(max_channels=1)
    line = server.client("me")
    server.channel(line, "other")
    assert line.codes(asked(CreateQueue, server)) == [("RESPONSE", 482)]


def test_broadcast(server: Server) -> None:
    one, two = server.client("one"), server.client("two")
    server.queue(one)
    assert payloads(one.send(produce(b"lost"))) == []
    server.join(one)
    assert server.join(two) == []
    found = one.send(produce(b"a", headers=rows(Key="v"), pending_response=1))
    assert payloads(found) == payloads(two.take()) == [b"a"]
    message: Any = next(one for one in found if one.NAME == "MESSAGE")
    assert (message.source, message.ttl, message.one_delivery, message.pending_response) == (b"one", 15, 1, 1)
    assert message.headers == rows(Key="v")
    assert (info(server, one).Messages, info(server, one).ReceivedMessages) == (0, 2)


def test_push(server: Server) -> None:
    one, two = server.client("one"), server.client("two")
    server.queue(one, Status=PUSH)
    for body in (b"a", b"b"):
        one.send(produce(body))
    one.send(produce(b"high", high_priority=1))
    reported = info(server, one)
    assert (reported.Messages, reported.PriorityMessages, reported.Status) == (2, 1, b"push")
    assert payloads(server.join(two)) == [b"high", b"a", b"b"]
    server.join(one)
    assert [m.one_delivery for m in [*two.take(), *one.send(produce(b"c")), *two.take()] if m.NAME == "MESSAGE"] == [
        0,
        1,
    ]  # type: ignore[attr-defined]
    assert info(server, one).Messages == 0


def test_round_robin(server: Server) -> None:
    producer, one, two = server.client("p"), server.client("one"), server.client("two")
    server.queue(producer, Status=ROUND_ROBIN)
    producer.send(produce(b"0"))
    assert payloads(server.join(one)) == [b"0"]
    server.join(two)
    for body in (b"1", b"2", b"3"):
        producer.send(produce(body))
    assert (payloads(one.take()), payloads(two.take())) == ([b"2"], [b"1", b"3"])


def test_paused_and_stopped(server: Server) -> None:
    line = server.client("me")
    server.queue(line, Status=PAUSED)
    server.join(line)
    assert payloads(line.send(produce(b"a"), produce(b"b"))) == []
    assert info(server, line).Status == b"paused"
    found = line.send(asked(UpdateQueue, server, payload=b'{"Status":1}'))
    assert payloads(found) == [b"a", b"b"]
    update(server, line, Status=PAUSED)
    line.send(produce(b"c"))
    update(server, line, Status=STOPPED)
    assert info(server, line).Messages == 0
    code = 406 if server.rules.refuses_by_acknowledgement else 401
    (refused,) = line.send(produce(b"d", pending_response=1))
    assert (refused.content_type, refused.target) == (code, b"ch")  # type: ignore[attr-defined]
    (refused,) = line.send(produce(b"d", pending_ack=1))
    assert ("CONFIRMATION" if code == 406 else "RESPONSE") == refused.NAME
    given = [("RESPONSE", 401)] if server.rules.gives_ids else []
    assert line.codes(produce(b"d", id=b"", pending_ack=1)) == given
    assert line.codes(produce(number=9), produce(name="none")) == [("RESPONSE", 404)] * 2


def test_entering_cache_keeps_the_newest(document: Server) -> None:
    line = document.client("me")
    document.queue(line, Status=PULL)
    line.send(produce(b"a"), produce(b"b"), produce(b"c"))
    update(document, line, Status=CACHE)
    assert info(document, line).Messages == 1
    line.send(produce(b"d", high_priority=1))
    assert (info(document, line).Messages, info(document, line).PriorityMessages) == (0, 1)


def test_what_a_release_does_not_count(released: Server) -> None:
    line = released.client("me")
    released.queue(line, Status=CACHE)
    line.send(produce(b"a"), produce(b"b", high_priority=1))
    reported = info(released, line)
    assert (reported.Messages, reported.PriorityMessages, reported.ReceivedMessages) == (0, 0, 2)


def test_information_for_pending_acknowledge_alone(document: Server, released: Server) -> None:
    for server, answers in ((document, [("CONFIRMATION", 0)]), (released, [("RESPONSE", 0)])):
        line = server.client("me")
        server.queue(line)
        assert line.codes(ChannelInfo(id=b"1", target=b"ch", pending_ack=1)) == answers
        assert line.codes(ChannelInfo(id=b"1", target=b"ch")) == (answers if server is released else [])


def test_options_of_delivery(server: Server) -> None:
    one, two = server.client("one"), server.client("two")
    server.queue(one, Status=PUSH, SendOnlyFirstAcquirer=True, HideClientNames=True, UseMessageId=False)
    server.join(one)
    server.join(two)
    (message,) = two.send(produce(b"a", id=b"")) or one.take()
    assert message.source == b""  # type: ignore[attr-defined]
    assert len(message.id) == (32 if server.rules.gives_ids else 0)  # type: ignore[attr-defined]
    assert two.take() == []


def test_messages_without_id_get_one(server: Server) -> None:
    line = server.client("me")
    server.queue(line)
    server.join(line)
    found = [one for one in line.send(produce(b"a", id=b"", pending_response=1)) if one.NAME == "MESSAGE"]
    assert [(len(one.id), one.pending_response) for one in found] == [(32, 0)]  # type: ignore[attr-defined]


def test_messages_expire(server: Server) -> None:
    line = server.client("me")
    server.queue(line, Status=PULL, MessageTimeout=1000)
    line.send(produce(b"a"), produce(b"b", high_priority=1))
    server.wait(0.9)
    assert info(server, line).Messages == 1
    server.wait(0.2)
    reported = info(server, line)
    assert (reported.Messages, reported.PriorityMessages, reported.TimeoutMessages) == (0, 0, 2)
    assert server.service.state.held == 0


def test_limits(document: Server) -> None:
    line = document.client("me")
    document.queue(line, Status=PULL, MessageLimit=2)
    assert line.codes(*[produce(id=b"%d" % n, pending_response=1) for n in range(3)]) == [("RESPONSE", 482)]
    server = Server(message_size_limit=3, max_stored=2000)
    line = server.client("me")
    server.queue(line, Status=PULL)
    assert line.codes(produce(b"1234")) == [("RESPONSE", 482)]
    assert line.codes(*[produce(b"123")] * 4) == [("RESPONSE", 482)]
    assert server.service.state.held <= 2000


def test_deleting_and_clearing(server: Server) -> None:
    line = server.client("me")
    server.queue(line, Status=PULL)
    for _ in range(1500):
        line.send(produce(b"a"))
    assert line.codes(asked(QueueInfo, server, 2), asked(DeleteQueue, server, 2)) == [("RESPONSE", 404)] * 2
    assert line.codes(asked(DeleteQueue, server)) == [("RESPONSE", 0)]
    assert server.service.state.held == 0
    for request in (DeleteQueue, QueueInfo):
        assert line.codes(request(id=b"1", target=b"none", **WAITS)) == [("RESPONSE", 404)]
    update = line.codes(UpdateQueue(id=b"1", target=b"none", **WAITS))
    assert update == [
        ("RESPONSE", code) for code in ((406, 404) if server.service.state.rules.makes_queue_without_id else (404,))
    ]


def test_a_queue_that_nobody_names(document: Server, released: Server) -> None:
    line = document.client("me")
    document.queue(line)
    assert line.codes(QueueInfo(id=b"1", target=b"ch", **WAITS)) == [("RESPONSE", 406)]
    assert line.codes(QueueInfo(id=b"1", target=b"ch", payload=b"\1\0", **WAITS)) == [("RESPONSE", 0)]
    line = released.client("me")
    released.queue(line)
    assert line.codes(QueueInfo(id=b"1", target=b"ch", headers=rows(Queue_Id="1"), **WAITS)) == []
    assert line.closed


def test_clearing_by_priority(released: Server) -> None:
    line = released.client("me")
    released.queue(line, Status=PULL)
    line.send(produce(b"a"), produce(b"b", high_priority=1))
    assert line.codes(asked(ClearQueue, released, 2)) == [("RESPONSE", 404)]
    headers = (*rows(Queue_Id="1"), Header(b"messages", b"yes"))
    assert line.codes(asked(ClearQueue, released, headers=headers)) == [("RESPONSE", 0)]
    assert (info(released, line).Messages, info(released, line).PriorityMessages) == (0, 1)


def test_what_is_reported_of_queues(server: Server) -> None:
    line = server.client("me")
    server.queue(line, Status=ROUND_ROBIN, RequestAcknowledge=True, AcknowledgeTimeout=7)
    server.queue(line, 2)
    (found,) = line.send(ListQueues(id=b"1", target=b"ch", **WAITS))
    listed: Any = server.codec.decode(QueueList, found.payload)  # type: ignore[attr-defined]
    assert [(one.Id, one.Status) for one in listed.rows] == [(1, b"roundrobin"), (2, b"broadcast")]
    reported = info(server, line)
    own = server.rules.reports_options_of_queue
    assert (reported.RequestAcknowledge, reported.AcknowledgeTimeout) == ((True, 7) if own else (False, 15000))
    assert line.codes(ListQueues(id=b"1", target=b"none", **WAITS)) == [("RESPONSE", 404)]


def test_operations_on_queues_without_administrators() -> None:
    server = Server(admin=False)
    line = server.client("me")
    server.queue(line)
    for request in (DeleteQueue, QueueInfo, UpdateQueue, ListQueues):
        assert line.codes(asked(request, server)) == [("RESPONSE", 401)]


def test_copies(document: Server, released: Server) -> None:
    for server in (document, released):
        line = server.client("me")
        for name, number in (("ch", 1), ("other", 1), ("other", 7), ("third", 9)):
            server.queue(line, number, name, Status=PUSH)
        cc = [Header(b"CC", value) for value in (b"other", b"other ; 7 ; given", b"none", b"third;8")]
        line.send(produce(b"a", headers=(*cc, *rows(Key="v")), ttl=9))
        found: Any = server.join(line, "other")
        own = server.rules.addresses_copies
        assert [(one.target, one.content_type, one.ttl) for one in found] == [
            (b"other" if own else b"ch", 1, 16),
            (b"other" if own else b"ch", 7 if own else 1, 16),
        ]
        assert (len(found[0].id), found[1].id, found[0].headers) == (32, b"given", rows(Key="v"))
        (original,) = server.join(line, "ch")
        assert len(original.headers) == 5  # type: ignore[attr-defined]
        line.send(produce(b"a", headers=(Header(b"cc", b"other;x"),)))
        assert line.closed == (server is released)


def test_storing_100_000_messages_and_sending_them_is_sliced(document: Server) -> None:
    line = document.client("me")
    document.queue(line, Status=PUSH)
    queue = document.service.state.channels[b"ch"].queues[1]
    for _ in range(1000):
        line.session.take(produce(b"a"))
    found = document.join(line)
    assert len(found) == 1000
    assert queue.counters.sent == 1000
    assert line.send(Leave(target=b"ch")) == []
    assert heading(found[0], b"none") is None


def test_one_turn_of_the_loop_delivers_so_much(document: Server) -> None:
    producer = document.client("p")
    document.queue(producer, Status=PUSH)
    for number in range(100):
        document.join(document.client(f"c{number}"))
    producer.write(document.codec.encode(produce(b"x")) * 64)
    first = document.service.state.spent
    assert first <= DELIVERIES + 100
    producer.take()
    assert document.service.state.spent == 6400
