"""The writes of a script: found, drawn, and given other bytes."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from wireproof.conformance.model.actions import Write
from wireproof.fuzz.script import Script

__all__ = ["a_write", "with_data", "writes"]


def writes(script: Script) -> list[tuple[int, Write]]:
    """Return the writes that send anything, each with its index."""
    return [(at, action) for at, action in enumerate(script) if isinstance(action, Write) and action.data]


def a_write(random: Random, script: Script) -> tuple[int, Write] | None:
    """Return the index of a random write and the write; None if there is none."""
    places = writes(script)
    return random.choice(places) if places else None


def with_data(script: Script, at: int, data: bytes) -> Script:
    """Return the script with other bytes in the write at index `at`."""
    step = script[at]
    assert isinstance(step, Write)
    return (*script[:at], replace(step, data=data), *script[at + 1 :])
