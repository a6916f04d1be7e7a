"""Every fault that is planted: those of our own code, and those that a reference server has by name."""

from __future__ import annotations

from fuzz.planted import parser, scheduler
from fuzz.planted.planting import Planting
from fuzz.targets_known import usual
from reference_server.registry import deviations, planted

__all__ = ["all_faults", "own_faults"]


def own_faults() -> dict[str, Planting]:
    """Return name -> fault of our own code."""
    return {one.fault: one for one in (*parser.FAULTS, *scheduler.FAULTS)}


def all_faults(name: str) -> list[Planting]:
    """Return the faults of the reference server of a protocol, behind those of our own code where it is the usual one.

    What is wrong in code that all protocols share is looked for with that one.
    """
    told = deviations(name)
    return [
        *(own_faults().values() if name == usual() else ()),
        *(
            Planting(
                fault=one.fault,
                told=told[one.fault].told,
                part=one.part,
                engine=one.engine,
                budget=one.budget,
                profile=one.profile or next(iter(told[one.fault].profiles), ""),
                variant=one.variant or next(iter(told[one.fault].variants), ""),
            )
            for one in planted(name)
        ),
    ]
