"""Which cases for SDKs kill a mutant of the reference client, case by case: one that kills none shows nothing.

A case is played on mutants until it kills one: first on those that break a clause of it, then on all others. Each
mutant gets all cases that have not killed any in one run of the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wireproof.conformance.mutation.clients import ClientMutationRun
from wireproof.conformance.mutation.kill_matrix import BINDING, written_id
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.verdict.records import level_of
from wireproof.mutants.mutant import ClientMutant

__all__ = ["ClientKills", "client_kills"]


@dataclass(frozen=True)
class ClientKills:
    """The first mutant that each case kills."""

    killed: dict[str, str]
    """Id of a case as it is written -> the name of a mutant."""
    idle: list[str]
    """Ids of the MUST and SHOULD cases that kill none, and give no reason (`no_fault`)."""


def client_kills(run: ClientMutationRun, known: Iterable[tuple[str, str]] = ()) -> ClientKills:
    """Return what each case of a suite for SDKs kills; `known` are pairs (id of a case, mutant) that need no play."""
    cases = [one for one in applicable(run.suite, run.profile, run.variant) if not one.slow]
    by_id = {one.id: one for one in cases}
    killed = {written_id(by_id[case]): name for case, name in known if case in by_id}
    for near, once in ((True, True), (False, True), (True, False), (False, False)):
        for mutant in (one for one in run.mutants if not one.is_legal):
            still = list(_open(cases, mutant, killed, near=near, once=once))
            for case in run.kills(mutant, still) if still else ():
                killed.setdefault(written_id(by_id[case]), mutant.name)
    binding = [one for one in cases if level_of(one, run.suite, run.profile) in BINDING]
    wanted = dict.fromkeys(written_id(one) for one in binding if not (one.no_fault or one.modelled))
    return ClientKills(killed, [one for one in wanted if one not in killed])


def _open(
    cases: Sequence[Case], mutant: ClientMutant, killed: dict[str, str], *, near: bool, once: bool
) -> Iterator[Case]:
    """Yield the cases that killed no mutant yet and share a clause with this one, or do not (`near`).

    `once`: only the first of those that are written as one.
    """
    taken: set[str] = set()
    for one in cases:
        name = written_id(one)
        if name not in killed and near == bool(set(one.clauses) & set(mutant.clauses)):
            if not once or name not in taken:
                yield one
            taken.add(name)
