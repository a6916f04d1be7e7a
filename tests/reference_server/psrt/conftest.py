from __future__ import annotations

import pytest

from tests.reference_server.psrt.simulated import Server
from wireproof.protocols.psrt import PROFILES


@pytest.fixture(params=PROFILES)
def server(request: pytest.FixtureRequest) -> Server:
    """Each profile."""
    return Server(request.param)


@pytest.fixture
def document() -> Server:
    """Profile 1."""
    return Server("1")


@pytest.fixture
def released() -> Server:
    """Profile psrtd-0.3."""
    return Server("psrtd-0.3")
