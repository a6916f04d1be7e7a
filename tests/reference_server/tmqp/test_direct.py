"""Messages between clients, and routers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reference_server.tmqp.simulated import Server, heading, payloads, rows
from wireproof.protocols.tmqp.requests import Respond, Route, SendDirect

ROUTERS = """
routers:
  all: {method: distribute, bindings: [
    {name: q, kind: queue, target: ch, content_type: 1},
    {name: c, kind: direct, target: "@name:bob", content_type: 5}]}
  first: {method: only-first, bindings: [
    {name: a, kind: queue, target: none, priority: 9},
    {name: b, kind: queue, target: ch, content_type: 1, priority: 5, interaction: acknowledge},
    {name: c, kind: direct, target: c, priority: 1}]}
  turns: {method: round-robin, bindings: [
    {name: a, kind: direct, target: a, interaction: response}, {name: b, kind: direct, target: b}]}
  closed: {method: distribute, enabled: false, bindings: [{name: a, kind: direct, target: a}]}
  empty: {method: round-robin}
"""


def test_to_an_id(server: Server) -> None:
    one, two = server.client("one"), server.client("two")
    message = SendDirect(id=b"1", target=b"two", content_type=7, headers=rows(A="b"), payload=b"x", pending_response=1)
    assert one.send(message) == []
    (found,) = two.take()
    assert (found.NAME, found.source, found.target, found.ttl) == ("DIRECT", b"one", b"two", 15)  # type: ignore[attr-defined]
    assert (found.content_type, found.headers, found.payload, found.pending_response) == (7, rows(A="b"), b"x", 1)  # type: ignore[attr-defined]
    two.send(Respond(id=b"1", target=b"one", content_type=1001, payload=b"y"))
    (answer,) = one.take()
    assert (answer.NAME, answer.id, answer.source, answer.content_type) == ("RESPONSE", b"1", b"two", 1001)  # type: ignore[attr-defined]
    assert two.send(Respond(id=b"1", target=b"nobody")) == []
    assert [m.NAME for m in one.send(SendDirect(id=b"1", target=b"one"))] == ["DIRECT"]


@pytest.mark.parametrize(("target", "count"), [("@name:bob", 2), ("@type:worker", 3), ('@type:"worker"', 0)])
def test_to_names_and_types(server: Server, target: str, count: int) -> None:
    lines = [
        server.client("1", "bob", "worker"),
        server.client("2", "bob", "worker"),
        server.client("3", "eve", "worker"),
    ]
    sender = server.client("s")
    answers = sender.codes(SendDirect(id=b"1", target=target.encode(), pending_response=1))
    assert answers == ([] if count else [("RESPONSE", 404)])
    assert [len(line.take()) for line in lines] == [1] * count + [0] * (3 - count)
    sender.send(SendDirect(id=b"1", target=target.encode(), one_delivery=1))
    assert [len(line.take()) for line in lines] == [1 if count else 0, 0, 0]


def test_to_nobody(document: Server, released: Server) -> None:
    for server, reported in ((document, []), (released, [("RESPONSE", 404)])):
        line = server.client("me")
        assert line.codes(SendDirect(id=b"1", target=b"nobody")) == reported
        assert line.codes(SendDirect(id=b"1", target=b"@name:x"), SendDirect(id=b"1", pending_response=1)) == []
        assert line.codes(SendDirect(id=b"1", target=b"nobody", pending_response=1)) == [("RESPONSE", 404)]


@pytest.fixture(params=["doc", "twino-3.0.0"])
def routed(request: pytest.FixtureRequest, tmp_path: Path) -> Server:
    config = tmp_path / "config.yaml"
    config.write_text(ROUTERS)
    return Server(request.param, config=config)


def route(name: str, **more: Any) -> Route:
    return Route(target=name.encode(), payload=b"x", **{"id": b"r", **more})


def test_distribute(routed: Server) -> None:
    line, bob = routed.client("me"), routed.client("b", "bob")
    routed.queue(line)
    routed.join(line)
    found: list[Any] = line.send(route("all", pending_response=1, ttl=9))
    message = next(one for one in found if one.NAME == "MESSAGE")
    assert (message.ttl, message.target, len(message.id), message.pending_response) == (16, b"ch", 32, 0)
    assert [(one.NAME, one.content_type) for one in found if one.NAME == "RESPONSE"] == [("RESPONSE", 0)]
    (direct,) = bob.take()
    assert (direct.id, direct.ttl, direct.content_type, direct.target) == (b"r", 8, 5, b"@name:bob")  # type: ignore[attr-defined]
    (acknowledged,) = [
        one for one in line.send(route("all", pending_ack=1)) if one.NAME == "CONFIRMATION" and one.id == b"r"
    ]  # type: ignore[attr-defined]
    whose = (b"", b"all") if routed.rules.answers_for_routers else (b"@name:bob", b"me")
    assert (acknowledged.source, acknowledged.target) == whose  # type: ignore[attr-defined]
    assert [one.NAME for one in line.send(route("all")) if one.NAME != "CONFIRMATION"] == ["MESSAGE"]


def test_only_first(routed: Server) -> None:
    line = routed.client("c")
    routed.queue(line, Status=3)
    assert [one.NAME for one in line.send(route("first", pending_response=1))] == ["CONFIRMATION"]
    assert routed.service.state.channels[b"ch"].queues[1].normal == 1
    routed.service.state.channels[b"ch"].queues.clear()
    assert [one.NAME for one in line.send(route("first", pending_response=1))] == ["DIRECT", "RESPONSE"]


def test_round_robin(routed: Server) -> None:
    a, b = routed.client("a"), routed.client("b")
    for _ in range(4):
        routed.client("").send(route("turns"))
    assert [[one.pending_response for one in line.take()] for line in (a, b)] == [[1, 1], [0, 0]]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["closed", "none", "empty"])
def test_routers_without_receivers(routed: Server, name: str) -> None:
    line = routed.client("a")
    assert line.codes(route(name, pending_response=1)) == [("RESPONSE", 404)]
    (found,) = line.send(route(name, pending_ack=1))
    assert heading(found, b"Nack-Reason") == b"no-consumers"
    assert line.send(route(name), route(name, id=b"", pending_response=1)) == []
    assert payloads(line.take()) == []
