"""Both protocols, whether or not the registries name them all yet."""

from __future__ import annotations

import pytest

from protocols.registry import PACKAGES
from reference_server.registry import SERVICES

SPOKEN = ("throttr", "psrt")


@pytest.fixture(autouse=True)
def all_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every protocol be known."""
    for name in SPOKEN:
        monkeypatch.setitem(PACKAGES, name, f"protocols.{name}")
        monkeypatch.setitem(SERVICES, name, f"reference_server.{name}")
