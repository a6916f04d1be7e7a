"""Types: mypy in its strict mode finds nothing."""

from __future__ import annotations

from tests.gates.conftest import Passes


def test_mypy_finds_nothing(passes: Passes) -> None:
    passes("mypy", lines=1)
