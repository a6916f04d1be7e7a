"""Links between two servers, in simulation and over sockets."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference_server.tmqp.simulated import WAITS, Line, Server, payloads, produce
from tests.reference_server.tmqp.test_sockets import greeted, listening, running
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.tmqp import Codec
from wireproof.protocols.tmqp.bodies import NodeList
from wireproof.protocols.tmqp.replies import ServerPing
from wireproof.protocols.tmqp.requests import Join, ListNodes, Ping, SendDirect
from wireproof.reference_server.service import DIALLED, Peer


class Link:
    """A slave and its master, and the connection between them."""

    def __init__(self, tmp_path: Path, profile: str) -> None:
        config = tmp_path / "slave.yaml"
        config.write_text('nodes: {name: slave, masters: ["master:2633"]}')
        master = tmp_path / "master.yaml"
        master.write_text("nodes: {port: 2633}")
        self.slave = Server(profile, config=config)
        self.master = Server(profile, config=master)
        self.accepted: Any = None
        self.sent: list[bytes] = []
        self.is_closed = False
        self.dialled = self.slave.service.connect(
            Peer(host="master", port=2633, listener=DIALLED), self.sent.append, self._closed
        )
        self.accepted = self.master.service.connect(Peer(listener="nodes"), self._to_slave, lambda: None)
        self.cross()

    def _closed(self) -> None:
        self.is_closed = True

    def _to_slave(self, data: bytes) -> None:
        self.dialled.data_received(data)

    def cross(self) -> None:
        while self.sent:
            self.accepted.data_received(self.sent.pop(0))


@pytest.fixture(params=["doc", "twino-3.0.0"])
def link(request: pytest.FixtureRequest, tmp_path: Path) -> Link:
    return Link(tmp_path, request.param)


def nodes(server: Server, line: Line) -> list[Any]:
    (found,) = line.send(ListNodes(id=b"1", **WAITS))
    body: Any = server.codec.decode(NodeList, found.payload)  # type: ignore[attr-defined]
    return [(one.Name, one.Slave, one.Connected, one.Host) for one in body.rows]


def test_what_is_reported_of_nodes(link: Link) -> None:
    assert nodes(link.slave, link.slave.client("s")) == [(b"", False, True, b"master:2633")]
    master = link.master.client("m")
    assert nodes(link.master, master) == [(b"slave", True, True, b"127.0.0.1")]
    assert list(link.master.service.state.clients) == [b"m"]
    assert dict(link.master.service.listeners) == {"nodes": 2633}
    assert list(link.slave.service.dials) == [("master", 2633)]
    link.accepted.connection_lost()
    link.dialled.connection_lost()
    assert nodes(link.master, master) == []


def test_a_push_goes_to_both(link: Link) -> None:
    slave, master = link.slave.client("s"), link.master.client("m")
    for server, line in ((link.slave, slave), (link.master, master)):
        server.queue(line, Status=1)
        server.join(line)
    assert payloads(slave.send(produce(b"x"))) == [b"x"]
    link.cross()
    (found,) = [one for one in master.take() if one.NAME == "MESSAGE"]
    assert (found.source, found.id) == (b"s", b"m")  # type: ignore[attr-defined]
    assert link.sent == []


def test_direct_messages_reach_clients_of_the_master(link: Link) -> None:
    slave, master = link.slave.client("s"), link.master.client("m")
    slave.send(SendDirect(id=b"1", target=b"m", payload=b"x"), Join(target=b"nowhere"))
    link.cross()
    assert [(one.NAME, one.source) for one in master.take()] == [("DIRECT", b"s")]  # type: ignore[attr-defined]
    master.send(SendDirect(id=b"1", target=b"m"))
    assert link.sent == []


def test_only_messages_are_taken_from_nodes(link: Link) -> None:
    codec: Codec = link.master.codec
    link.accepted.data_received(codec.encode(Join(target=b"x")) + codec.encode(SendDirect(target=b"m")))
    assert link.master.service.state.channels == {}


def test_pings_between_nodes(link: Link) -> None:
    link.dialled.data_received(link.slave.codec.encode(ServerPing()))
    assert link.sent == [link.slave.codec.encode(Ping())[:0] + bytes.fromhex("8aff000000000000")]


def test_a_master_that_does_not_read_is_disconnected(tmp_path: Path) -> None:
    link = Link(tmp_path, "doc")
    link.slave.service.state.limits = type(link.slave.service.state.limits)(push_limit=100)
    slave = link.slave.client("s")
    link.dialled.pause_writing()
    slave.send(SendDirect(target=b"m", payload=b"kept"))
    link.dialled.resume_writing()
    assert b"kept" in link.sent.pop()
    link.dialled.pause_writing()
    slave.send(SendDirect(target=b"m", payload=bytes(100)))
    assert link.is_closed
    slave.send(SendDirect(target=b"m", payload=bytes(100)))
    link.dialled.data_received(b"x")
    link.dialled.eof_received()
    assert link.sent == []


TURNS = st.lists(st.sampled_from(["the master reads", "it does not", "a pushes", "b pushes", "a asks b"]), max_size=12)


@given(TURNS)
def test_a_master_gets_all_however_it_reads(tmp_path_factory: pytest.TempPathFactory, turns: list[str]) -> None:
    link = Link(tmp_path_factory.mktemp("link"), "doc")
    clients = {name: link.slave.client(name) for name in "ab"}
    for number, turn in enumerate(turns):
        id_ = b"%d" % number
        match turn.split():
            case ["the", *_]:
                link.dialled.resume_writing()
            case ["it", *_]:
                link.dialled.pause_writing()
            case [name, "pushes"]:
                clients[name].send(produce(b"x", id=id_))
            case _:
                clients["a"].send(SendDirect(id=id_, target=b"b"))
    link.dialled.resume_writing()
    sent = [(b"%d" % number, turn[0].encode()) for number, turn in enumerate(turns) if turn[1] == " "]
    data, at, found = b"".join(link.sent), 0, []
    while at < len(data):
        message, at = link.slave.codec.decode_asked(data, at, len(data), FrameContext(len(data)))
        found.append((message.id, message.source))  # type: ignore[union-attr]
    assert found == sent


def test_a_master_that_speaks_something_else_is_left(tmp_path: Path) -> None:
    link = Link(tmp_path, "doc")
    link.dialled.data_received(bytes.fromhex("8aff000000000000"))

    assert link.is_closed


@pytest.mark.parametrize("text", ["nodes: {port: 70000}", "nodes: {masters: [nowhere]}"])
def test_nodes_that_cannot_be(tmp_path: Path, text: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(text)
    with pytest.raises(ValueError, match="nodes"):
        Server(config=config)


def test_slaves_connect_at_a_unix_socket_rather_than_at_the_port(tmp_path: Path) -> None:
    config, path = tmp_path / "config.yaml", tmp_path / "nodes"
    config.write_text("nodes: {port: 2633}")

    assert dict(Server(config=config, nodes_socket=path).service.listeners) == {"nodes": path}


def test_two_servers_over_sockets(tmp_path: Path) -> None:
    master, slave = tmp_path / "master.yaml", tmp_path / "slave.yaml"
    master.write_text("nodes: {port: 0}")
    with running("--config", str(master)) as one:
        address, beside = listening(one), listening(one)
        found = re.fullmatch(r"listening nodes tcp://127\.0\.0\.1:(\d+)", beside)
        assert found is not None
        slave.write_text(f'nodes: {{masters: ["127.0.0.1:{found[1]}"]}}')
        with running("--config", str(slave)) as other:
            ports = [int(text.rpartition(":")[2]) for text in (address, listening(other))]
            codec = Server().codec
            with socket.create_connection(("127.0.0.1", ports[0])) as reader:
                greeted(reader)
                reader.settimeout(0.3)
                with socket.create_connection(("127.0.0.1", ports[1])) as writer:
                    greeted(writer)
                    data, deadline = b"", time.monotonic() + 10
                    while b"over" not in data and time.monotonic() < deadline:
                        writer.sendall(codec.encode(SendDirect(id=b"1", target=b"me", payload=b"over")))
                        try:
                            data += reader.recv(1000)
                        except TimeoutError:
                            continue
            assert b"over" in data
