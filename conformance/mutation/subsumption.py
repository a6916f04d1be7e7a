"""Which mutants are subsumed: whatever kills another mutant kills them, so their rows of the matrix prove nothing more.

A mutant is subsumed by another in one kill matrix when the other is killed and every play that kills the other kills
it too; of mutants that the same plays kill, the first of the list stands for all. It is subsumed everywhere when one
and the same other mutant subsumes it in every matrix that has it: what looks alike under one profile may differ under
another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Kills", "MatrixFileError", "Subsumption", "kills_of", "read_matrices", "subsumed", "subsumption"]

Kills = Mapping[str, frozenset[str]]
"""Name of a mutant -> the plays that kill it, in the order of the list; conforming variants are not among them."""


class MatrixFileError(ValueError):
    """Raised for a folder without a kill matrix that can be read."""


@dataclass(frozen=True)
class Subsumption:
    """What several kill matrices together say of the mutants."""

    subsumed: Mapping[str, str]
    """Mutant -> the one that subsumes it wherever it is."""
    mutants: int
    by_one_case: Sequence[str]
    """The mutants that one and the same single case kills, in all matrices together."""


def kills_of(document: Mapping[str, Any]) -> Kills:
    """Return the kills of one kill matrix document."""
    return {
        one["name"]: frozenset(
            f"{kill['case']}|{segmentation}" for kill in one["kills"] for segmentation in kill["deliveries"] or [""]
        )
        for one in document["faults"]
        if not one["legal"]
    }


def read_matrices(folders: Sequence[Path], protocol: str) -> dict[str, Kills]:
    """Return `protocol profile variant` -> kills, of every kill matrix of `protocol` in or below `folders`.

    Raises `MatrixFileError` when there is none, and for a file that is none.
    """
    found: dict[str, Kills] = {}
    for folder in folders:
        for path in sorted(folder.rglob("kill-matrix.json")):
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
                if document["protocol"] == protocol:
                    found[f"{protocol} {document['profile']} {document['variant']}"] = kills_of(document)
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise MatrixFileError(f"{path} is no kill matrix: {error}") from None
    if not found:
        raise MatrixFileError(f"no kill-matrix.json of {protocol} in or below {', '.join(map(str, folders))}")
    return found


def subsumed(kills: Kills) -> dict[str, set[str]]:
    """Return mutant -> those that subsume it in one matrix."""
    places = {name: place for place, name in enumerate(kills)}
    found: dict[str, set[str]] = {}
    for name, plays in kills.items():
        for other, others in kills.items():
            is_earlier = others < plays or (others == plays and places[other] < places[name])
            if others and is_earlier:
                found.setdefault(name, set()).add(other)
    return found


def subsumption(matrices: Sequence[Kills]) -> Subsumption:
    """Return which mutants are subsumed wherever they are, and which a single case kills."""
    by_matrix = [(kills, subsumed(kills)) for kills in matrices]
    names = dict.fromkeys(name for kills in matrices for name in kills)
    everywhere: dict[str, str] = {}
    single = []
    for name in names:
        having = [(kills, found) for kills, found in by_matrix if name in kills]
        common = set.intersection(*(found.get(name, set()) for _, found in having))
        if common:
            everywhere[name] = _outermost(common, everywhere, names)
        if len({play.partition("|")[0] for kills, _ in having for play in kills[name]}) == 1:
            single.append(name)
    return Subsumption(everywhere, len(names), single)


def _outermost(candidates: set[str], known: Mapping[str, str], names: Iterable[str]) -> str:
    """Return the first of the candidates that is not known to be subsumed itself, else the first of all."""
    ordered = [name for name in names if name in candidates]
    return next((name for name in ordered if name not in known), ordered[0])
