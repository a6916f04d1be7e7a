"""The score of random edits: the share killed of those that can change an answer.

`equivalent-edits.yaml` explains survivors that were read. Not counted are an `equivalent` one, which changes no answer
to any client; one that acts `elsewhere`, under another profile or variant only; and a `conforming` one, which changes
what the clauses leave open, so that no suite may kill it. An `accepted` one breaks a clause in a way that no case asks
for, for the reason given: it counts as survived. Where `profiles` are named, an explanation holds under these alone: a
rule of one document survives under another one. Edits that make no server that starts are not counted either; one that
hangs is killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from wireproof.conformance.mutation.fresh_server import CodeEdit
from wireproof.conformance.mutation.random_edits import EditResult, Status

__all__ = ["EditPlace", "EditScore", "Explanation", "SurvivalReason", "explanations", "place_of", "stale"]

TABLE = Path(__file__).with_name("equivalent-edits.yaml")
ANY = "*"
KILLED = frozenset({Status.KILLED, Status.HANGS})


class SurvivalReason(StrEnum):
    """Why an edit survives."""

    EQUIVALENT = "equivalent"
    ELSEWHERE = "elsewhere"
    CONFORMING = "conforming"
    ACCEPTED = "accepted"


class EditPlace(NamedTuple):
    """What an explanation is found by: no line numbers, which move."""

    file: str
    function: str
    edit: str
    """`*`: any."""
    statement: str
    """`*`: any."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an edit survives."""

    kind: SurvivalReason
    reason: str
    profiles: tuple[str, ...] = ()
    """Under which it holds; none: under all."""


@cache
def explanations(table: Path = TABLE) -> Mapping[EditPlace, Explanation]:
    """Return all that a table explains, by default equivalent-edits.yaml."""
    found: dict[EditPlace, Explanation] = {}
    for one in yaml.safe_load(table.read_text(encoding="utf-8")):
        for edit in one["edits"]:
            place = EditPlace(one["file"], one["function"], edit["edit"], edit["in"])
            found[place] = Explanation(SurvivalReason(one["kind"]), one["why"], tuple(one.get("profiles", ())))
    return found


def place_of(edit: CodeEdit) -> EditPlace:
    """Return what an explanation of `edit` is found by."""
    return EditPlace(edit.file, edit.edit.function, edit.edit.text, edit.edit.statement)


def _described_by(place: EditPlace) -> tuple[EditPlace, ...]:
    """Return what may explain an edit at `place`: that edit, any edit of its statement, any edit of its function."""
    return place, place._replace(edit=ANY), place._replace(edit=ANY, statement=ANY)


def stale(known: Iterable[EditPlace], edits: Iterable[CodeEdit]) -> list[EditPlace]:
    """Return the explained places in the files of `edits` that no edit has any more."""
    there = [place_of(one) for one in edits]
    files, places = {one.file for one in there}, {wide for one in there for wide in _described_by(one)}
    return [one for one in known if one.file in files and one not in places]


@dataclass(frozen=True)
class EditScore:
    """What became of a sample of edits."""

    results: Sequence[EditResult]
    known: Mapping[EditPlace, Explanation]
    profile: str = ""
    """The profile under which the edits were tried."""

    def count(self, status: Status) -> int:
        """Return how many edits ended so."""
        return sum(one.status is status for one in self.results)

    @property
    def killed(self) -> int:
        """How many edits a case kills."""
        return sum(one.status in KILLED for one in self.results)

    def survivors(self, kind: SurvivalReason | None) -> list[EditResult]:
        """Return the survivors explained so; None: those that nobody explained."""
        found = []
        for one in self.results:
            if one.status is Status.SURVIVED:
                explained = self.explanation(one)
                if (explained.kind if explained else None) is kind:
                    found.append(one)
        return found

    def explanation(self, result: EditResult) -> Explanation | None:
        """Return what explains that an edit survived: of that edit, its statement or its function; None for nothing."""
        known = (self.known.get(place) for place in _described_by(place_of(result.edit)))
        return next((one for one in known if one and (not one.profiles or self.profile in one.profiles)), None)

    @property
    def counted(self) -> int:
        """How many edits the score is a share of."""
        return self.killed + len(self.survivors(SurvivalReason.ACCEPTED)) + len(self.survivors(None))

    @property
    def percent(self) -> float:
        """The score; 100 when nothing is counted."""
        return 100.0 * self.killed / self.counted if self.counted else 100.0
