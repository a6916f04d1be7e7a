"""What a link offers where a protocol says nothing, and how links are found."""

from __future__ import annotations

import pytest

from wireproof.protocols import protocol, protocol_names
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
