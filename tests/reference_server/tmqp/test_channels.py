"""Channels: created, joined, left, listed, described and deleted; what flags ask for, and what releases do instead."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference_server.tmqp.simulated import WAITS, Server, heading, produce, pull, rows
from wireproof.protocols.tmqp.bodies import ChannelInformation, ChannelList, ChannelOptions, ClientList
from wireproof.protocols.tmqp.requests import (
    ChannelInfo,
    CreateChannel,
    DeleteChannel,
    Join,
    Leave,
    ListChannels,
    ListClients,
    ListConsumers,
    ListNodes,
    Operation,
)


def create(name: str, payload: bytes = b"", **flags: Any) -> CreateChannel:
    return CreateChannel(id=b"1", target=name.encode(), payload=payload, **(flags or WAITS))


def test_what_flags_ask_for(document: Server, released: Server) -> None:
    for server, acks in ((document, 1), (released, 0)):
        line = server.client("me")
        assert line.codes(create("a", pending_response=1)) == [("RESPONSE", 0)]
        assert line.codes(create("b", pending_response=0)) == []
        assert line.codes(create("c", pending_ack=1)) == [("CONFIRMATION", 0)] * acks
        both = line.send(create("d", pending_ack=1, pending_response=1, high_priority=1))
        assert [one.NAME for one in both] == ["RESPONSE", "CONFIRMATION"][: 1 + acks]
        assert {(one.id, one.target, one.source, one.high_priority) for one in both} == {(b"1", b"me", b"", 1)}  # type: ignore[attr-defined]
        assert line.codes(CreateChannel(target=b"e", pending_response=1)) == []


def test_a_failure_is_a_negative_acknowledgement(document: Server) -> None:
    line = document.client("me")
    (found,) = line.send(Join(id=b"1", target=b"none", pending_ack=1))

    assert heading(found, b"Nack-Reason") == b"not-found"


def test_duplicates(document: Server, released: Server) -> None:
    for server, answers in ((document, [("RESPONSE", 481)]), (released, [])):
        line = server.client("me")
        line.send(create("Demo"))
        assert line.codes(create("dEMO")) == answers


@pytest.mark.parametrize("name", ["", "a b", "a;b", "a@", "*"])
def test_names_that_no_channel_may_have(document: Server, released: Server, name: str) -> None:
    assert document.client("me").codes(create(name)) == [("RESPONSE", 406)]
    line = released.client("me")
    assert line.codes(create(name)) == []
    assert line.closed


@pytest.mark.parametrize(
    "payload",
    [b"{", b'{"Status":"push"}', b'{"Status":7}', b'{"AllowedQueues":[70000]}', b'{"ClientLimit":-1}'],
)
def test_options_that_are_none(document: Server, payload: bytes) -> None:
    assert document.client("me").codes(create("a", payload)) == [("RESPONSE", 400)]


def test_options(document: Server, released: Server) -> None:
    for server in (document, released):
        line = server.client("me")
        options = ChannelOptions(ClientLimit=1, Status=3, AllowedQueues=(1, 2), MessageTimeout=7, UseMessageId=False)
        assert line.codes(create("Demo", server.codec.encode(options))) == [("RESPONSE", 0)]
        assert line.closed == (server is released)
    line = document.client("other")
    (found,) = line.send(ChannelInfo(id=b"1", target=b"demo", **WAITS))
    reported: Any = document.codec.decode(ChannelInformation, found.payload)  # type: ignore[attr-defined]
    assert (reported.Name, reported.Queues, reported.AllowedQueues, reported.ClientLimit) == (b"Demo", (), (1, 2), 1)
    assert (reported.MessageTimeout, reported.AcknowledgeTimeout, reported.UseMessageId) == (7, 15000, False)


def test_limits_of_a_release_are_not_applied(released: Server) -> None:
    line = released.client("me")
    line.send(create("a", b'{"MessageLimit":1,"MessageDeliveryHandler":"unknown"}'))
    line = released.client("you")
    (found,) = line.send(ChannelInfo(id=b"1", target=b"a", **WAITS))
    assert found.content_type == 0  # type: ignore[attr-defined]


def test_joining_and_leaving(server: Server) -> None:
    line = server.client("me")
    assert (
        line.codes(Join(id=b"1", target=b"ch", **WAITS), Leave(id=b"2", target=b"ch", **WAITS))
        == [("RESPONSE", 404)] * 2
    )
    server.channel(line)
    requests = (Join, 0), (Join, 0), (Leave, 0), (Leave, 404)
    for request, code in requests:
        assert line.codes(request(id=b"1", target=b"CH", **WAITS)) == [("RESPONSE", code)]


def test_a_channel_that_is_full(document: Server) -> None:
    one, two = document.client("one"), document.client("two")
    document.channel(one, ClientLimit=1)
    document.join(one)
    document.join(one)
    assert two.codes(Join(id=b"1", target=b"ch", **WAITS)) == [("RESPONSE", 482)]


def test_channels_that_come_and_go(document: Server) -> None:
    line = document.client("me")
    document.channel(line, DestroyWhenEmpty=True)
    document.join(line)
    line.send(Leave(target=b"ch"))
    assert document.service.state.channels == {}
    server = Server(auto_channels=True, auto_queues=True, max_channels=2)
    line = server.client("me")
    server.join(line, "auto")
    assert line.send(produce(name="auto"))[0].NAME == "MESSAGE"
    assert line.send(produce(name="made", number=7)) == []
    assert line.codes(create("third"), produce(name="third")) == [("RESPONSE", 482), ("RESPONSE", 404)]
    assert line.codes(Join(id=b"1", target=b"a b", **WAITS)) == [("RESPONSE", 404)]
    assert server.service.state.queues == 2


def test_a_channel_goes_with_its_last_message(document: Server) -> None:
    line = document.client("me")
    for how in ("expired", "pulled"):
        document.channel(line, DestroyWhenEmpty=True)
        document.queue(line, Status=3, MessageTimeout=1000 if how == "expired" else 0)
        assert document.service.state.channels, "nobody has used it yet"
        document.join(line)
        line.send(produce(), Leave(target=b"ch"))
        assert document.service.state.channels
        if how == "pulled":
            line.send(Join(target=b"ch"), pull(), Leave(target=b"ch"))
        else:
            document.wait(1.1)
        assert document.service.state.channels == {}, how


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("", "Ab aC xa"), ("*", "Ab aC xa"), ("a*", "aC"), ("*a", "xa"), ("*A*", "Ab aC xa"), ("AB", "Ab"), ("z", "")],
)
def test_lists_of_channels(document: Server, released: Server, wanted: str, found: str) -> None:
    for server in (document, released):
        line = server.client("me")
        for name in ("Ab", "aC", "xa"):
            server.channel(line, name)
        target = wanted.encode() if server is document else b"nothing"
        headers = () if server is document else rows(Channel_Name=wanted)
        answers = line.send(ListChannels(id=b"1", target=target, headers=headers, **WAITS))
        if wanted == "*" and server is released:
            assert (answers, line.closed) == ([], True)
            continue
        (reported,) = answers
        listed: Any = server.codec.decode(ChannelList, reported.payload)  # type: ignore[attr-defined]
        assert [one.Name.decode() for one in listed.rows] == found.split()


def test_lists_of_clients_and_nodes(server: Server) -> None:
    line = server.client("me", "bob", "worker")
    server.client("you", kind="boss")
    server.wait(2)
    (reported,) = line.send(ListClients(id=b"1", target=b"work*", **WAITS))
    (row,) = server.codec.decode(ClientList, reported.payload).rows  # type: ignore[attr-defined]
    assert (row.Id, row.Name, row.Type, row.Online, row.IsAuthenticated) == (b"me", b"bob", b"worker", 2000, True)
    (reported,) = line.send(ListNodes(id=b"1", **WAITS))
    assert reported.payload == b"[]"  # type: ignore[attr-defined]


def test_consumers_of_a_channel(released: Server) -> None:
    line = released.client("me")
    assert line.codes(ListConsumers(id=b"1", target=b"ch")) == []
    assert line.codes(ListConsumers(id=b"1", target=b"ch", **WAITS)) == [("RESPONSE", 404)]
    released.channel(line)
    released.join(line)
    (reported,) = line.send(ListConsumers(id=b"1", target=b"ch", **WAITS))
    assert [one.Id for one in released.codec.decode(ClientList, reported.payload).rows] == [b"me"]  # type: ignore[attr-defined]


def test_deleting(server: Server) -> None:
    line = server.client("me")
    server.channel(line)
    server.queue(line)
    server.join(line)
    assert line.codes(DeleteChannel(id=b"1", target=b"ch", **WAITS)) == [("RESPONSE", 0)]
    assert line.codes(DeleteChannel(id=b"1", target=b"ch", **WAITS)) == [("RESPONSE", 404)]
    assert line.codes(Leave(id=b"1", target=b"ch", **WAITS)) == [("RESPONSE", 404)]
    assert server.service.state.queues == 0


def test_without_administrators() -> None:
    server = Server("twino-3.0.0", admin=False)
    line = server.client("me")
    server.channel(line)
    for request in (DeleteChannel, ListChannels, ChannelInfo, ListConsumers, ListNodes, ListClients):
        assert line.codes(request(id=b"1", target=b"ch", **WAITS)) == [("RESPONSE", 401)]


def test_unknown_operations(document: Server, released: Server) -> None:
    unknown = Operation(content_type=999, id=b"1", **WAITS)
    assert document.client("me").codes(unknown) == [("RESPONSE", 400)]
    assert released.client("me").codes(unknown) == []
