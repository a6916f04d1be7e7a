"""What checking a driver comes to, one line at a time."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CheckResult"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What became of one thing that was tried."""

    name: str
    wrong: tuple[str, ...] = ()
    """What was expected and what came instead, a line each; nothing when it is right."""
    note: str = ""
    """What is worth knowing although nothing is wrong."""
