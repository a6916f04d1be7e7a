"""What a link offers where a protocol says nothing, and how links are found."""

from __future__ import annotations

import weakref

import pytest

from tests.collector import no_collector
from wireproof.protocols import Connection, RemoteProtocolError, protocol, protocol_names
from wireproof.protocols.links import Link
from wireproof.protocols.psrt import PROTOCOL, ControlClient, ControlServer


def test_a_link_may_have_no_barrier_and_no_neighbour() -> None:
    link = Link(ControlClient, ControlServer)

    assert (link.has_noop, link.handshake(), link.transport, link.tls) == (False, (), "stream", False)
    with pytest.raises(LookupError, match="answered at once"):
        link.sync_request()
    with pytest.raises(LookupError, match="changes nothing"):
        link.noop(b"name")


def test_links_are_found_by_name() -> None:
    assert PROTOCOL.link_of("data") is PROTOCOL.links["data"]
    assert PROTOCOL.link_of("") is PROTOCOL.link is PROTOCOL.links["control"]
    with pytest.raises(KeyError, match="psrt has no link 'wire'; it has control, data, datagram"):
        PROTOCOL.link_of("wire")


@pytest.mark.parametrize("name", protocol_names())
def test_a_barrier_and_a_neighbour_are_requests_of_their_link(name: str) -> None:
    spoken = protocol(name)
    codec = spoken.codec(spoken.profiles[spoken.default_profile], spoken.default_variant)
    for link in spoken.links.values():
        client = link.client(codec)
        if not link.tls:
            assert client.start_tls() == b""
        for request in link.handshake():
            client.send(request)
        assert client.settled == link.has_noop
        if link.has_noop:
            request, reply = link.noop(b"name")
            assert type(reply) in spoken.profiles[spoken.default_profile].replies[type(request)]
            client.send(request)
            assert client.send(link.sync_request())


@pytest.mark.parametrize("name", protocol_names())
def test_a_connection_is_freed_without_the_collector_of_cycles(name: str) -> None:
    """Each kept its own method, and so all that it had read: hundreds of megabytes in a campaign."""
    spoken = protocol(name)
    codec = spoken.codec(spoken.profiles[spoken.default_profile], spoken.default_variant)
    made = [side(codec) for link in spoken.links.values() for side in (link.client, link.server)]

    assert made
    assert are_freed(made)


def are_freed(some: list[Connection]) -> bool:
    """Drop all references to `some`; return whether nothing of it is left."""
    seen = [weakref.ref(one) for one in some]
    with no_collector():
        some.clear()
        return all(one() is None for one in seen)


@pytest.mark.parametrize("name", protocol_names())
def test_a_connection_that_failed_is_freed_without_the_collector_of_cycles(name: str) -> None:
    spoken = protocol(name)
    codec = spoken.codec(spoken.profiles[spoken.default_profile], spoken.default_variant)
    failed = [link.server(codec) for link in spoken.links.values() if link.transport == "stream"]
    assert sum(map(errors_of_what_ends_early, failed)) == 2 * len(failed)
    assert are_freed(failed)


def errors_of_what_ends_early(connection: Connection) -> int:
    """Return how often a connection to which a part of something comes says that it is broken."""
    connection.receive_data(b"\xff" * 5)
    connection.receive_data(b"")
    errors = 0
    for _ in range(2):
        try:
            connection.next_event()
        except RemoteProtocolError:
            errors += 1
    return errors
