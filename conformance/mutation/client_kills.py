"""Which cases for SDKs kill a mutant of the reference client, case by case: one that kills none shows nothing.

Each case is played until it kills a mutant, and no further. First comes the mutant that it killed last time; then
those that break a clause of it, then all others; each is played one of the cases that are written as one before all
of them. Cases run side by side, since most of what one takes is waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wireproof.conformance.mutation.client_pool import client_pool
from wireproof.conformance.mutation.clients import ClientMutationRun
from wireproof.conformance.mutation.kill_matrix import BINDING, written_id
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.verdict.records import level_of
from wireproof.mutants.mutant import ClientMutant

__all__ = ["ClientKill", "ClientKills", "client_kills"]


@dataclass(frozen=True, slots=True)
class ClientKill:
    """One case that failed a mutant of the client."""

    case: str
    """Its id, with its parameters."""
    mutant: str

    def __str__(self) -> str:
        return f"{self.case}|{self.mutant}"

    @classmethod
    def read(cls, text: str) -> ClientKill:
        """Read what `str` wrote."""
        case, _, mutant = text.rpartition("|")
        return cls(case, mutant)


@dataclass(frozen=True)
class ClientKills:
    """The first mutant that each case kills."""

    killed: dict[str, ClientKill]
    """Id of a case as it is written -> what it killed."""
    idle: list[str]
    """Ids of the MUST and SHOULD cases that kill none, and give no reason (`no_fault`)."""
    plays: int
    """How often a mutant was played a case, or several that are written as one."""


def client_kills(
    run: ClientMutationRun,
    known: Iterable[ClientKill] = (),
    last: Mapping[str, str] | None = None,
) -> ClientKills:
    """Return what each case of a suite for SDKs kills; those that need not kill any are not played.

    `known` are kills of this run, which need no play; `last` maps a case as it is written to the kill of the last run,
    which is played first.
    """
    global _shared
    cases: dict[str, list[Case]] = {}
    for one in applicable(run.suite, run.profile, run.variant):
        if not one.slow:
            cases.setdefault(written_id(one), []).append(one)
    names = {one.id: name for name, several in cases.items() for one in several}
    killed = {names[one.case]: one for one in known if one.case in names}
    remembered = {name: ClientKill.read(text) for name, text in (last or {}).items()}
    _shared = run, [one for one in run.mutants if not one.is_legal], cases, remembered
    binding = [one for several in cases.values() for one in several if level_of(one, run.suite, run.profile) in BINDING]
    wanted = dict.fromkeys(written_id(one) for one in binding if not (one.no_fault or one.modelled))
    plays = 0
    with client_pool() as pool:
        for name, kill, played in pool.imap_unordered(_first_kill, [one for one in wanted if one not in killed]):
            plays += played
            if kill is not None:
                killed[name] = kill
    return ClientKills(killed, [one for one in wanted if one not in killed], plays)


_shared: tuple[ClientMutationRun, Sequence[ClientMutant], Mapping[str, Sequence[Case]], Mapping[str, ClientKill]]
"""What the workers are forked with."""


def _first_kill(name: str) -> tuple[str, ClientKill | None, int]:
    run, mutants, cases, remembered = _shared
    played = 0
    for mutant, some in _in_turn(mutants, cases[name], remembered.get(name)):
        played += 1
        if case := run.first_kill(mutant, some):
            return name, ClientKill(case, mutant.name), played
    return name, None, played


def _in_turn(
    mutants: Sequence[ClientMutant], cases: Sequence[Case], last: ClientKill | None
) -> Iterator[tuple[ClientMutant, Sequence[Case]]]:
    """Yield what to play on which mutant: the last kill, then one of `cases` on each mutant, then the others."""
    clauses = {clause for one in cases for clause in one.clauses}
    nearest = sorted(mutants, key=lambda one: clauses.isdisjoint(one.clauses))
    if last is not None:
        kept = [one for one in cases if one.id == last.case]
        yield from ((one, kept) for one in mutants if kept and one.name == last.mutant)
    yield from ((one, cases[:1]) for one in nearest)
    yield from ((one, cases[1:]) for one in nearest if cases[1:])
