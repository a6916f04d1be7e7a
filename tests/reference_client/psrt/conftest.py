from __future__ import annotations

import pytest

from protocols.registry import PACKAGES
from reference_client.registry import CLIENTS


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the registries know PSRT, whether or not they name it."""
    monkeypatch.setitem(PACKAGES, "psrt", "protocols.psrt")
    monkeypatch.setitem(CLIENTS, "psrt", "reference_client.psrt")
