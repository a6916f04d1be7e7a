"""A simulated socket for datagrams takes what a socket of the system takes, and no more."""

from __future__ import annotations

import pytest

from wireproof.conformance.model.actions import Open, Write
from wireproof.conformance.model.trace import Kind
from wireproof.fuzz.server_transports import InProcess


@pytest.mark.parametrize(("size", "kind"), [(65_507, Kind.SENT), (65_508, Kind.RESET)])
def test_a_datagram_beyond_what_ip_carries_is_refused(size: int, kind: Kind) -> None:
    server = InProcess("psrt", "1", "standard")
    server.perform(Open("a", link="datagram", transport="datagram"))

    assert server.perform(Write("a", bytes(size))).kind is kind
