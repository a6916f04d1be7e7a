"""Cases made of walks: long exchanges, each a list of moves, whose every answer the model of the document judges.

A fault in how two rules meet shows in no case about one of them, and in no combination of at most four exchanges: a
queue was changed, somebody left, and what was to be acknowledged since then goes nowhere. `walks.yaml` of a protocol
says how a walk begins, which moves there are, and how it ends: with questions about everything that can be seen.
A walk is a line of text, one move after the other: `update 1 waits; push b 1 high asked; leave b room`.

`wireproof vectors walks` chooses the lines (`conformance/run/walk_choice.py`) and keeps them in `walks/SET.txt`, so
that a walk and the id of its case stay as they are when moves are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.case_documents import CaseDocument, Context, cases_in, remembered
from wireproof.conformance.suite.documents import CaseError, read_document, read_text
from wireproof.conformance.suite.names import near
from wireproof.conformance.suite.sequences import SequenceError, filled
from wireproof.conformance.suite.values import Node

__all__ = [
    "BETWEEN",
    "Move",
    "WalkFile",
    "WalkSet",
    "is_walk",
    "moves_of",
    "read_walks",
    "set_of",
    "walk_case",
    "walk_cases",
    "walk_of",
    "walks_path",
]

WALKED = "/walk-"
"""What the id of each walk has between the name of its set and its digest."""
TITLE = "a walk: "
"""What the title of each begins with; its moves follow."""
BETWEEN = "; "
"""Stands between moves."""


class Move(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of move. Its steps name its fields as `<field>`, the number of the move as `<step>`, and counters."""

    steps: list[Any]
    fields: dict[str, dict[str, Any]] = {}
    """Field -> the word for a value -> that value."""
    counts: str = ""
    """A counter that it raises before it is played: `<counter>` is its value, `<counter_before>` the one before."""
    weight: int = 1
    """How often it is drawn, beside others."""


class WalkSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Moves, and the walks that are made of them."""

    clauses: list[str]
    begin: list[Any]
    moves: dict[str, Move]
    end: list[Any]
    opening: list[list[str]] = []
    """The moves that each walk begins with, each one of several; words that are left out, or `*`, are drawn."""
    about: list[str] = []
    """Fields that say what a move is about: moves with one word of such a field are looked at together."""
    profiles: list[str] | None = None
    needs: list[str] = []
    exclusive: bool = False
    """As of a case: its walks are played alone, since they use what has a fixed name."""
    length: int = 16
    """Moves of a walk that is chosen."""


class WalkFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`walks.yaml` of a protocol."""

    protocol: str
    sets: dict[str, WalkSet]


def read_walks(path: Path) -> WalkFile | None:
    """Return the file, None where there is none. Raises `CaseError` that names what is wrong with it."""
    if not path.is_file():
        return None
    try:
        return msgspec.convert(read_document(path), WalkFile)
    except msgspec.ValidationError as error:
        raise CaseError(f"{path.name}: {error}") from None


def is_walk(case: str) -> bool:
    """Say whether a case with this id is a walk."""
    return WALKED in case


def walk_of(case: Case) -> str:
    """Return the moves of a case that is a walk."""
    return case.title.removeprefix(TITLE)


def set_of(case: str) -> str:
    """Return the name of the set that a walk with this id is of."""
    return case.partition(WALKED)[0]


def walk_cases(path: Path, context: Context) -> tuple[Case, ...]:
    """Return the cases of a protocol's walks, none without a file. Raises `CaseError`."""
    if not path.is_file():
        return ()
    files = sorted((path.parent / path.stem).glob("*.txt"))
    digest = sha256("".join(read_text(one) for one in files).encode()).hexdigest()
    return remembered(path, context, lambda _: CaseDocument(_cases(path, context), ()), f"walks {digest}").cases


def _cases(path: Path, context: Context) -> tuple[Case, ...]:
    file = read_walks(path)
    assert file is not None
    entries: list[Node] = []
    for name, of in file.sets.items():
        entries += _entries(name, of, walks_path(path, name))
    return cases_in({"cases": entries}, context, path.stem)


def walks_path(path: Path, name: str) -> Path:
    """Return where the walks of a set are kept, one a line."""
    return path.parent / path.stem / f"{name}.txt"


def _entries(name: str, of: WalkSet, path: Path) -> Iterator[Node]:
    for walk in read_text(path).splitlines() if path.is_file() else ():
        try:
            yield walk_case(name, of, walk)
        except (ValueError, SequenceError) as error:
            raise CaseError(f"{path.name}: {error}") from None


def walk_case(name: str, of: WalkSet, walk: str) -> dict[str, Node]:
    """Return a walk as it would stand in a file of cases. Raises ValueError for a move that there is not."""
    entry: dict[str, Node] = {
        "id": f"{name}{WALKED}{sha256(walk.encode()).hexdigest()[:8]}",
        "title": f"{TITLE}{walk}",
        "clauses": list(of.clauses),
        "modelled": True,
        "steps": [*of.begin, *_steps(of, walk), *of.end],
    }
    if of.profiles is not None:
        entry["profiles"] = list(of.profiles)
    if of.needs:
        entry["needs"] = list(of.needs)
    if of.exclusive:
        entry["exclusive"] = True
    return entry


def moves_of(of: WalkSet, walk: str) -> list[tuple[str, dict[str, str]]]:
    """Return each move's name, and its words by field. Raises ValueError for what is no move."""
    found = []
    for text in walk.split(BETWEEN) if walk else ():
        name, *words = text.split()
        if name not in of.moves:
            raise ValueError(f"no such move: {name}{near(name, of.moves)}")
        fields = of.moves[name].fields
        if len(words) != len(fields):
            raise ValueError(f"{text}: expected {' '.join((name, *(f'<{one}>' for one in fields)))}")
        for (field, values), word in zip(fields.items(), words, strict=True):
            if word not in values:
                raise ValueError(f"{text}: no such {field}: {word}{near(word, values)}")
        found.append((name, dict(zip(fields, words, strict=True))))
    return found


def _steps(of: WalkSet, walk: str) -> Iterator[Node]:
    counters: dict[str, int] = {one.counts: 0 for one in of.moves.values() if one.counts}
    for number, (name, words) in enumerate(moves_of(of, walk), 1):
        move = of.moves[name]
        if move.counts:
            counters[move.counts] += 1
        before = {f"{one}_before": max(value - 1, 0) for one, value in counters.items()}
        counted: dict[str, Node] = {"step": number, **counters, **before}
        chosen = {field: filled(move.fields[field][word], counted, name) for field, word in words.items()}
        values = counted | chosen
        yield from (filled(step, values, name) for step in move.steps)
