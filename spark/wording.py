"""Counts in words for people; of its own, since the Spark job imports nothing else of the project."""

from __future__ import annotations

__all__ = ["number_of"]


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun: "1 run", "2 runs"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
