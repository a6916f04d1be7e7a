"""The clauses of a protocol, as `vectors/<protocol>/clauses.yaml` has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.documents import read_document


@dataclass(frozen=True, slots=True)
class Clause:
    """One normative statement of a protocol."""

    id: str
    group: str
    levels: Mapping[str, Level]
    """Profile name -> level; the profiles it applies to are the keys."""
    text: str
    section: str
    errata: tuple[str, ...]
    no_fault: str = ""
    """Why no server can be wrong here in a way that shows."""
    segmentations: tuple[str, ...] = ()
    """Those under which it asks for the verdict of whole, whatever the case."""
    fields: frozenset[str] = frozenset()
    """Fields that it is about, in whatever message."""


def load_clauses(path: Path) -> tuple[dict[str, Clause], tuple[str, ...], tuple[str, ...]]:
    """Return the clauses by id, their groups as a ladder, and which of these are aspects.

    On the ladder those that are named come first, then the aspects, then the others as they come.
    """
    document = read_document(path, "clauses.schema.json")
    found = {}
    for entry in document["clauses"]:
        level, profiles = entry["level"], [str(name) for name in entry["profiles"]]
        levels = {name: Level(level if isinstance(level, str) else level[name]) for name in profiles}
        found[entry["id"]] = Clause(
            entry["id"],
            entry["group"],
            levels,
            entry["text"],
            entry["section"],
            tuple(entry.get("errata", ())),
            entry.get("no_fault", ""),
            tuple(entry.get("deliveries", ())),
            frozenset(entry.get("fields", ())),
        )
    aspects = tuple(document.get("aspects", ()))
    groups = dict.fromkeys([*document.get("ladder", ()), *aspects, *(one.group for one in found.values())])
    return found, tuple(groups), aspects
