from __future__ import annotations

import pytest

from tests.reference_server.tmqp.simulated import Server
from wireproof.protocols.tmqp import PROFILES


@pytest.fixture(params=PROFILES)
def server(request: pytest.FixtureRequest) -> Server:
    """Each profile."""
    return Server(request.param)


@pytest.fixture
def document() -> Server:
    """Profile doc."""
    return Server("doc")


@pytest.fixture
def released() -> Server:
    """Profile twino-3.0.0."""
    return Server("twino-3.0.0")
