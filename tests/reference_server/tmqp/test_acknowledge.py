"""Acknowledgements: when a server confirms, what travels to producers, put back, time-outs, waiting for them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference_server.tmqp.simulated import Server, heading, payloads, produce, rows
from wireproof.protocols.tmqp.requests import Acknowledge, DeleteChannel, UpdateQueue
from wireproof.reference_server.tmqp.state import RETIRED

PUSH, PULL, STOPPED = 1, 3, 6


def ready(server: Server, delivery: str, *, joined: bool = True, **options: Any) -> tuple[Any, Any]:
    producer, consumer = server.client("p"), server.client("c")
    given = {"Status": PUSH, "RequestAcknowledge": True, "AcknowledgeTimeout": 2000}
    server.queue(producer, **{**given, "MessageDeliveryHandler": delivery.encode(), **options})
    if joined:
        server.join(consumer)
    return producer, consumer


def ack(reason: str = "", **more: Any) -> Acknowledge:
    headers = rows(Nack_Reason=reason) if reason else ()
    return Acknowledge(**{"id": b"m", "target": b"ch", "content_type": 1, "headers": headers, **more})


def test_after_received(server: Server) -> None:
    producer, consumer = ready(server, "after-received")
    (found,) = producer.send(produce(b"a", pending_ack=1))

    assert (found.NAME, found.id, found.source, found.target, found.one_delivery) == (
        "CONFIRMATION",
        b"m",
        b"",
        b"ch",
        1,
    )
    assert consumer.send(ack(), ack()) != []
    assert producer.take() == []


def test_only_who_asks_is_acknowledged(document: Server, released: Server) -> None:
    for server, count in ((document, 0), (released, 1)):
        producer, _ = ready(server, "after-received")
        assert len(producer.send(produce(b"a"))) == count


def test_after_sent(server: Server) -> None:
    producer, consumer = ready(server, "after-sent", joined=False)
    assert producer.send(produce(b"a", pending_ack=1)) == []
    server.join(consumer)
    (found,) = producer.take()
    assert (found.NAME, found.one_delivery) == ("CONFIRMATION", 0)


@pytest.mark.parametrize("reason", ["", "broken"])
@pytest.mark.parametrize("hidden", [False, True])
def test_after_acknowledged(server: Server, reason: str, hidden: bool) -> None:
    producer, consumer = ready(server, "after-acknowledged", HideClientNames=hidden)
    assert producer.send(produce(b"a", pending_ack=1)) == []
    consumer.send(ack(reason))
    (found,) = producer.take()

    assert (found.NAME, found.source, found.ttl) == ("CONFIRMATION", b"" if hidden else b"c", 15)
    assert heading(found, b"Nack-Reason") == (reason.encode() or None)
    consumer.send(ack())
    assert producer.take() == []


def test_refused_and_negative(server: Server) -> None:
    producer, consumer = ready(server, "refuse")
    (found,) = producer.send(produce(b"a", pending_ack=1))

    assert heading(found, b"Nack-Reason") == b"none"
    assert consumer.take() == []


def test_timeouts(document: Server, released: Server) -> None:
    for server, reported in ((document, [b"timeout"]), (released, [])):
        producer, consumer = ready(server, "after-acknowledged")
        producer.send(produce(b"a", pending_ack=1))
        server.wait(1.9)
        assert producer.take() == []
        server.wait(0.2)
        assert [heading(one, b"Nack-Reason") for one in producer.take()] == reported
        consumer.send(ack())
        assert producer.take() == []
        assert server.service.state.held == 0


@pytest.mark.parametrize(("delivery", "order"), [("put-back-start", [b"a", b"b"]), ("put-back-end", [b"b", b"a"])])
def test_put_back(server: Server, delivery: str, order: list[bytes]) -> None:
    producer, consumer = ready(server, delivery, WaitForAcknowledge=True)
    if not server.rules.waits_for_acknowledge:
        return
    producer.send(produce(b"a", id=b"1"), produce(b"b", id=b"2"))
    assert payloads(consumer.take()) == [b"a"]
    found = payloads(consumer.send(ack("broken", id=b"1")))
    assert found == order[:1]
    found += payloads(consumer.send(ack(id=b"1" if order[0] == b"a" else b"2")))
    assert found == order


def test_each_of_one_id_is_waited_for(server: Server) -> None:
    producer, consumer = ready(server, "after-acknowledged", AcknowledgeTimeout=60000)
    for _ in range(3):
        producer.send(produce(b"a", pending_ack=1))
    for _ in range(3):
        consumer.send(ack())
        assert len(producer.take()) == 1
    consumer.send(ack())
    assert (producer.take(), server.service.state.held) == ([], 0)


def test_the_second_of_one_id_may_be_missed_first(document: Server) -> None:
    producer, consumer = ready(document, "after-acknowledged", AcknowledgeTimeout=60000)
    producer.send(produce(b"a", pending_ack=1))
    brief = b'{"Status":1,"RequestAcknowledge":true,"AcknowledgeTimeout":1000,'
    brief += b'"MessageDeliveryHandler":"after-acknowledged"}'
    producer.send(UpdateQueue(target=b"ch", headers=rows(Queue_Id="1"), payload=brief))
    producer.send(produce(b"b", pending_ack=1), produce(b"c", pending_ack=1))
    document.wait(1.1)
    assert [heading(one, b"Nack-Reason") for one in producer.take()] == [b"timeout", b"timeout"]
    consumer.send(ack())
    assert [heading(one, b"Nack-Reason") for one in producer.take()] == [None]
    assert document.service.state.held == 0


def test_a_queue_that_goes_waits_for_none_of_one_id(document: Server) -> None:
    producer, _ = ready(document, "after-acknowledged")
    for _ in range(3):
        producer.send(produce(b"a"))
    assert producer.codes(DeleteChannel(id=b"r", pending_response=1, target=b"ch")) == [("RESPONSE", 0)]
    assert document.service.state.held == 0


def test_put_back_has_a_limit() -> None:
    server = Server(put_back_limit=2)
    producer, consumer = ready(server, "put-back-end")
    producer.send(produce(b"a"))
    for _ in range(5):
        server.wait(2.1)
    assert payloads(consumer.take()) == [b"a"] * 3


def test_two_that_refuse_put_a_message_back_once(document: Server) -> None:
    producer, one = ready(document, "put-back-end")
    two = document.client("two")
    document.join(two)
    producer.send(produce(b"a"))
    producer.send(produce(b"b", id=b"m"))
    one.take(), two.take()
    document.service.state.channels[b"ch"].members.clear()
    one.send(ack("broken"))
    two.send(ack("broken"))
    assert document.service.state.channels[b"ch"].queues[1].stored == 1


def test_waiting_for_acknowledgements(document: Server, released: Server) -> None:
    for server in (document, released):
        producer, consumer = ready(server, "just-allow", WaitForAcknowledge=True, RequestAcknowledge=False)
        producer.send(produce(b"a", id=b"1"), produce(b"b", id=b"2"), produce(b"c", id=b"3"))
        if server is released:
            assert payloads(consumer.take()) == [b"a", b"b", b"c"]
            continue
        assert payloads(consumer.take()) == [b"a"]
        assert payloads(consumer.send(ack(id=b"1"))) == [b"b"]
        server.wait(2.1)
        assert payloads(consumer.take()) == [b"c"]


def test_acknowledgements_that_nobody_waits_for(server: Server) -> None:
    producer, consumer = ready(server, "after-acknowledged")
    for wrong in (ack(id=b"x"), ack(content_type=9), ack(target=b"nobody")):
        assert consumer.send(wrong) == []
    assert producer.take() == []


def test_acknowledgements_of_direct_messages(server: Server) -> None:
    producer, consumer = ready(server, "after-acknowledged")
    for given in ({"high_priority": 1}, {}):
        consumer.send(ack("no", target=b"p", **given))
        (found,) = producer.take()
        assert (found.NAME, found.source, found.target, found.ttl) == ("CONFIRMATION", b"c", b"p", 15)


def test_a_producer_that_is_gone(server: Server) -> None:
    producer, consumer = ready(server, "after-acknowledged")
    producer.send(produce(b"a", pending_ack=1))
    producer.session.eof_received()
    assert payloads(consumer.send(ack())) == [b"a"]


def test_ids_used_twice_are_counted_twice(server: Server) -> None:
    producer, consumer = ready(server, "just-allow", AcknowledgeTimeout=0)
    producer.send(produce(b"a"), produce(b"b"))
    consumer.send(ack(), ack())
    assert server.service.state.held == 0
    producer.send(produce(b"c"))
    server.wait(16)
    assert server.service.state.held == 0


def test_a_removed_queue_waits_for_nothing(server: Server) -> None:
    producer, _ = ready(server, "put-back-end")
    producer.send(produce(b"a"))
    channel = server.service.state.channels[b"ch"]
    queue = channel.queues[1]
    queue.close()
    channel.is_removed = True
    queue._drain_on()
    server.wait(3)
    assert server.service.state.held == 0


def test_a_time_out_of_what_was_forgotten_leaves_its_id_awaited_anew(
    released: Server, caplog: pytest.LogCaptureFixture
) -> None:
    producer, consumer = ready(released, "after-acknowledged")
    status = b'{"Status":%d,"RequestAcknowledge":true,"AcknowledgeTimeout":2000}'
    again = [UpdateQueue(target=b"ch", headers=rows(Queue_Id="1"), payload=status % one) for one in (STOPPED, PUSH)]
    stream = b"".join(map(producer.codec.send, (*again, produce(b"anew", id=b"0"))))
    # in the turn of the loop in which the time-outs come, before them; what is dropped is let go of in the next ones
    released.clock.call_at(timed_out_ns(), lambda: producer.write(stream))
    producer.send(*(produce(b"a", id=b"%d" % one) for one in range(RETIRED + 1)))
    consumer.take()

    released.wait(3)
    assert payloads(consumer.take()) == [b"anew"]
    assert caplog.messages == []
    assert released.service.state.held > 0
    consumer.send(ack(id=b"0"))
    assert [one.NAME for one in producer.take()] == ["CONFIRMATION"]
    assert released.service.state.held == 0


def timed_out_ns() -> int:
    """When the time-out of what is sent at once comes."""
    server = Server("twino-3.0.0")
    producer, _ = ready(server, "after-acknowledged")
    producer.send(produce(b"a"))
    queue = server.service.state.channels[b"ch"].queues[1]
    while not queue.counters.negative_acks:
        assert server.clock.next_ns is not None
        server.clock.advance_to(server.clock.next_ns)
    return server.clock.monotonic_ns()
