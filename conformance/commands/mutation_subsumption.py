"""`wireproof mutation --subsumption DIR`: which mutants are subsumed in all the kill matrices found there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.mutation.subsumption import Kills, read_matrices, subsumed, subsumption

__all__ = ["print_subsumption"]


def print_subsumption(console: Console, protocol: str, folders: Sequence[Path]) -> None:
    """Print the figures of each matrix of `protocol`, and which mutants are subsumed in all of them.

    Raises `MatrixFileError` where there is no matrix of `protocol` that can be read.
    """
    matrices = read_matrices(folders, protocol)
    for name, kills in matrices.items():
        one = [mutant for mutant, plays in kills.items() if len(plays) == 1]
        mutants = number_of(len(kills), "mutant")
        console.print(f"{name}: {mutants}, {len(subsumed(kills))} subsumed here, {_share(one, kills)}")
    found = subsumption(list(matrices.values()))
    for mutant, other in found.subsumed.items():
        console.print(f"subsumed: {mutant} (by {other})", markup=False)
    for mutant in found.by_one_case:
        console.print(f"one case: {mutant}", markup=False)
    console.print(
        f"{len(matrices)} kill matrices, {number_of(found.mutants, 'mutant')}: {len(found.subsumed)} subsumed in each; "
        f"{len(found.by_one_case)} ({len(found.by_one_case) / max(found.mutants, 1):.1%}) killed by exactly one case"
    )


def _share(some: Sequence[str], kills: Kills | Mapping[str, object]) -> str:
    return f"{len(some)} ({len(some) / max(len(kills), 1):.1%}) killed by exactly one play"
