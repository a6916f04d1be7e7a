"""Every fault that is planted: those of our own code, and those that the reference server of a protocol has by name."""

from __future__ import annotations

from fuzz.planted import parser, scheduler
from fuzz.planted.planting import Planting

__all__ = ["own_faults"]


def own_faults() -> dict[str, Planting]:
    """Return name -> fault of our own code."""
    return {one.fault: one for one in (*parser.FAULTS, *scheduler.FAULTS)}
