"""Faults that somebody wrote down in a file before any engine looked for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from wireproof.conformance.mutation.edit_score import Explanation, SurvivalReason
from wireproof.fuzz.planted.drawn_faults import PlantedFault, Slip

__all__ = ["LISTS", "listed_faults", "replaced"]

NAMES = ("listed-faults", "second-list", "third-list", "fourth-list", "fifth-list")
LISTS = tuple(Path(__file__).with_name(f"{name}.yaml") for name in NAMES)
"""The lists of this project."""
SHARED = frozenset({"codec", "scheduler", "transport"})
"""Parts that no protocol owns."""


def listed_faults(file: Path) -> list[PlantedFault]:
    """Return the faults of a file, in its order. Raises `ValueError` for a file that holds no such list."""
    try:
        return [_fault(one) for one in yaml.safe_load(file.read_text(encoding="utf-8"))]
    except (KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise ValueError(f"{file}: expected a list of faults: {error!r}") from None


def _fault(given: dict[str, Any]) -> PlantedFault:
    part, explained = given["part"], given.get("explained")
    owner = "" if part in SHARED else part.partition(" ")[0]
    why = Explanation(SurvivalReason(explained["kind"]), explained["why"]) if explained else None
    slip = Slip(given["name"], given["file"], given["old"], given["new"], why)
    return PlantedFault(part, given.get("protocol", owner), description=given["what"], slip=slip)


def replaced(slip: Slip, source: str) -> str:
    """Return a source with the fault. Raises `ValueError` unless its place is there exactly once."""
    if source.count(slip.old) != 1:
        raise ValueError(f"{slip.name}: expected once in {slip.file}, got {source.count(slip.old)} times: {slip.old!r}")
    return source.replace(slip.old, slip.new)
