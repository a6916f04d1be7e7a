from __future__ import annotations

import pytest

from tests.reference_server.throttr.simulated import COMBINATIONS, Client, Server


@pytest.fixture(params=COMBINATIONS, ids=lambda one: "-".join(one))
def server(request: pytest.FixtureRequest) -> Server:
    """Each profile at each width."""
    return Server(*request.param)


@pytest.fixture
def client(server: Server) -> Client:
    """A connection to `server`."""
    return server.client()


@pytest.fixture
def document() -> Server:
    """Profile 7.1.0, uint16."""
    return Server("7.1.0")


@pytest.fixture
def released() -> Server:
    """Profile 7.3.2, uint16."""
    return Server("7.3.2")
