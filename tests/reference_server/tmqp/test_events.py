"""Events: subscriptions, what is told, in which order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.reference_server.tmqp.simulated import WAITS, Server, heading, produce, rows
from wireproof.protocols.tmqp.requests import (
    CreateChannel,
    CreateQueue,
    DeleteChannel,
    DeleteQueue,
    Join,
    Leave,
    Subscribe,
    UpdateQueue,
)


def subscribe(event: str, content_type: int = 1, channel: str = "", queue: str = "", **flags: Any) -> Subscribe:
    headers = {**({"Channel_Name": channel} if channel else {}), **({"Queue_Id": queue} if queue else {})}
    given = {"id": b"e", **WAITS, **flags}
    return Subscribe(target=event.encode(), content_type=content_type, headers=rows(**headers), **given)


def reported(line: Any, *sent: Any) -> list[tuple[str, Any]]:
    found = line.send(*sent) if sent else line.take()
    return [(one.source.decode(), msgspec.json.decode(one.payload)) for one in found if one.NAME == "NOTIFICATION"]


def watch(server: Server, *events: str, channel: str = "", queue: str = "") -> Any:
    line = server.client("watcher")
    for event in events:
        assert line.codes(subscribe(event, 1, channel, queue)) == [("RESPONSE", 0)]
    return line


def test_clients(server: Server) -> None:
    watcher = watch(server, "ClientConnected", "ClientConnected", "ClientDisconnected")
    other = server.client("o", "bob", "worker")
    other.session.eof_received()
    body = {"Id": "o", "Name": "bob", "Type": "worker", "Node": None}
    assert reported(watcher) == [("ClientConnected", body), ("ClientDisconnected", body)]


def test_channels_and_members(server: Server) -> None:
    watcher = watch(server, "ChannelCreated", "ChannelRemoved", "ClientDisconnected")
    channel = {"Name": "Ch", "ActiveClients": 0, "ClientLimit": 0, "Node": None}
    assert reported(watcher, CreateChannel(target=b"Ch")) == [("ChannelCreated", channel)]
    for event in ("ClientJoined", "ClientLeft"):
        watcher.send(subscribe(event, 1, "cH"))
    other = server.client("o", "bob", "worker")
    other.send(Join(target=b"ch"), Leave(target=b"ch"), Join(target=b"ch"))
    member = {"Channel": "Ch", "ClientId": "o", "ClientName": "bob", "ClientType": "worker", "Node": None}
    other.session.eof_received()
    assert [name for name, _ in reported(watcher)] == [
        "ClientJoined", "ClientLeft", "ClientJoined", "ClientLeft", "ClientDisconnected",
    ]  # fmt: skip
    other = server.client("o", "bob", "worker")
    other.send(Join(target=b"ch"))
    assert reported(watcher) == [("ClientJoined", member)]
    channel["ActiveClients"] = 0
    assert reported(watcher, DeleteChannel(target=b"ch")) == [("ChannelRemoved", channel)]


def test_queues_and_messages(server: Server) -> None:
    watcher = server.client("watcher")
    server.channel(watcher, "Ch")
    for event in ("QueueCreated", "QueueUpdated", "QueueRemoved"):
        watcher.send(subscribe(event, 1, "Ch"))
    queue = {"target": b"ch", "headers": rows(Queue_Id="7"), "payload": b'{"Status":3}'}
    watcher.send(CreateQueue(**queue), UpdateQueue(**queue))
    found: list[Any] = watcher.send(subscribe("MessageProduced", 1, "Ch", "7"))
    assert found[-1].content_type == 0
    other = server.client("o", "bob", "worker")
    other.send(produce(b"x", 7, id=b"m"))
    (message,) = watcher.take()
    assert (message.id, message.source, message.target, message.content_type) == (b"", b"MessageProduced", b"Ch", 7)
    named = b"Ch" if server.rules.reports_queue_of_message else b"ch"
    assert message.payload == (
        b'{"Channel":"%s","Queue":7,"Id":"m","Saved":false,"ProducerId":"o","ProducerName":"bob","ProducerType":"worker"}'
        % named
    )
    described = server.rules.describes_events
    assert heading(message, b"Queue-Id") == (b"7" if described else None)
    removed = DeleteQueue(**{**queue, **({} if described else {"payload": b"\7\0"})})
    (event,) = watcher.send(removed)
    status = "Pull" if server.rules.reports_last_state else "Stopped"
    assert msgspec.json.decode(event.payload) == {
        "Channel": "Ch", "Id": 7, "Tag": None, "Status": status, "PriorityMessages": 0, "Messages": 0, "Node": None,
    }  # fmt: skip


def test_one_of_two_subscribers_of_an_event_goes(document: Server) -> None:
    watchers = [document.client("1"), document.client("2")]
    document.channel(watchers[0])
    for one in watchers:
        one.send(subscribe("QueueCreated", 1, "ch"))
    watchers[0].send(subscribe("QueueCreated", 0, "ch"))
    assert watchers[0].send(CreateQueue(target=b"ch", headers=rows(Queue_Id="2"))) == []
    assert [name for name, _ in reported(watchers[1])] == ["QueueCreated"]


def test_unsubscribing(server: Server) -> None:
    watcher = watch(server, "ChannelCreated")
    for content_type in (0, 7, 0):
        assert watcher.codes(subscribe("ChannelCreated", content_type)) == [("RESPONSE", 0)]
    assert watcher.send(CreateChannel(target=b"a")) == []
    assert server.service.state.subscribers == {}


def test_what_cannot_be_subscribed(document: Server, released: Server) -> None:
    for server in (document, released):
        line = server.client("me")
        server.channel(line)
        for request in (
            subscribe("ClientJoined"),
            subscribe("ClientJoined", 1, "none"),
            subscribe("MessageProduced", 1, "ch"),
        ):
            assert line.codes(request) == [("RESPONSE", 1)]
        unknown = [("RESPONSE", 404)] if server is document else []
        assert line.codes(subscribe("Other")) == unknown


def test_what_flags_ask_for(document: Server, released: Server) -> None:
    for server, answers in ((document, []), (released, [("RESPONSE", 0)])):
        line = server.client("me")
        assert line.codes(subscribe("ClientConnected", pending_response=0)) == answers
        assert line.codes(subscribe("ClientConnected", pending_response=0, id=b"")) == answers
        assert [name for name, _ in line.codes(subscribe("ClientConnected", pending_response=0, pending_ack=1))] == (
            ["CONFIRMATION"] if not answers else ["RESPONSE"]
        )


def test_a_client_may_subscribe_to_so_many() -> None:
    server = Server(limits={"max_subscriptions": 1})
    line = server.client("me")
    found = line.codes(subscribe("ClientConnected"), subscribe("ClientConnected"), subscribe("ChannelCreated"))
    assert found == [("RESPONSE", 0), ("RESPONSE", 0), ("RESPONSE", 482)]


@pytest.mark.parametrize("name", ["ClientConnected", "ChannelRemoved"])
def test_subscriptions_end_with_the_client(server: Server, name: str) -> None:
    watch(server, name).session.eof_received()
    assert server.service.state.subscribers == {}
