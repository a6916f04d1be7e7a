"""What an input of our own code says, for people: the profile and variant it concerns, and its steps."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["InputDescription"]


@dataclass(frozen=True, slots=True)
class InputDescription:
    """Where an input is played and what it does."""

    profile: str
    variant: str
    steps: tuple[str, ...] = ()
