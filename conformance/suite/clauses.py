"""The clauses of a protocol, as `vectors/<protocol>/clauses.yaml` has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.documents import read_document, vectors_root


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


def clause_about(protocol: str, profile: str, request: str, clause: str) -> str:
    """Return `clause` where it is of the group of a request, else the first of that group in the profile, if any."""
    clauses, firsts = _of_requests(protocol)
    is_its_own = clause in clauses and clauses[clause].group == request
    return clause if is_its_own else firsts.get((profile, request), clause)


@cache
def _of_requests(protocol: str) -> tuple[Mapping[str, Clause], Mapping[tuple[str, str], str]]:
    """Return the clauses by id, and the first of each profile and group."""
    clauses, *_ = load_clauses(vectors_root() / protocol / "clauses.yaml")
    firsts: dict[tuple[str, str], str] = {}
    for one in clauses.values():
        for profile in one.levels:
            firsts.setdefault((profile, one.group), one.id)
    return clauses, firsts
