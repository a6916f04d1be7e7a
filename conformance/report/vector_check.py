"""Whether derived files are what the cases give today: all of them, or of each case one profile and variant.

Deriving plays every case under every profile and variant, which is most of the time. A sample plays each case once, the
next case under the next of the places where it has a vector; ids are compared everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.derived_vectors import Deriver
from wireproof.conformance.report.vector_files import Document, canonical, configurations, selected
from wireproof.conformance.report.vector_store import FOLDER, checked, derive, side_by_side
from wireproof.conformance.suite.cases import Suite
from wireproof.protocols import protocol

__all__ = ["derived_files", "differing_files", "differing_sample"]


def derived_files(suite: Suite) -> dict[Path, str]:
    """Return relative path -> text of every derived file of a protocol. Raises `DeriveError`."""
    return {_path(suite, topic): canonical(one) for topic, one in derive(suite).items()}


def differing_files(suite: Suite, present: Mapping[Path, Path]) -> tuple[list[str], str]:
    """Return a line for each file that is stale, missing or not derived, and what was derived, in words.

    `present`: relative path -> the file. Raises `DeriveError`.
    """
    derived, bad = derived_files(suite), []
    for path in sorted(derived.keys() | present.keys()):
        if path not in present:
            bad.append(f"missing: vectors/{path}")
        elif path not in derived:
            bad.append(f"not derived: vectors/{path}")
        elif present[path].read_text(encoding="utf-8") != derived[path]:
            bad.append(f"stale: vectors/{path}")
    return bad, number_of(len(derived), "file")


def differing_sample(suite: Suite, present: Mapping[Path, Path]) -> tuple[list[str], str]:
    """Return lines as `differing_files`, as far as ids and a sample show them, and what was derived, in words.

    Raises `DeriveError`.
    """
    places = configurations(protocol(suite.protocol))
    wanted = {letter: _by_path(suite, Deriver(suite, *place)) for letter, place in places.items()}
    chosen = _sample(wanted)
    texts = {path: file.read_text(encoding="utf-8") for path, file in present.items()}
    files = {path: _read(text) for path, text in texts.items()}
    topics = {path for paths in wanted.values() for path in paths}
    stale = {path for path in topics & files.keys() if canonical(files[path]) != texts[path]}
    for letter, found in side_by_side(suite, chosen).items():
        derived = {_path(suite, topic): document for topic, document in found.items()}
        for path in topics & files.keys():
            kept = selected(files[path], *places[letter])
            if {*_ids(kept)} != wanted[letter].get(path, set()) or _only(kept, chosen[letter]) != derived.get(path):
                stale.add(path)
    bad = {**dict.fromkeys(topics - files.keys(), "missing"), **dict.fromkeys(files.keys() - topics, "not derived")}
    lines = [f"{what}: vectors/{path}" for path, what in sorted({**dict.fromkeys(stale, "stale"), **bad}.items())]
    every = sum(len(ids) for paths in wanted.values() for ids in paths.values())
    return lines, f"{sum(map(len, chosen.values()))} of {every} vectors derived, of each id one"


def _path(suite: Suite, topic: str) -> Path:
    return Path(suite.protocol, FOLDER, f"{topic}.json")


def _read(text: str) -> Document:
    """Return the document of a file; one without any place where the text is none."""
    try:
        return checked(json.loads(text))
    except (ValueError, TypeError, KeyError):
        return {"configurations": {}}


def _by_path(suite: Suite, deriver: Deriver) -> dict[Path, set[str]]:
    """Return file -> the ids that it must have in one place."""
    found: dict[Path, set[str]] = {}
    for one in deriver.applicable():
        found.setdefault(_path(suite, one.topic), set()).add(one.id)
    return found


def _sample(wanted: Mapping[str, Mapping[Path, set[str]]]) -> dict[str, set[str]]:
    """Return letter -> ids, each id under one letter of those that have it; neighbours are under different ones."""
    letters: dict[str, list[str]] = {}
    for letter, paths in wanted.items():
        for ids in paths.values():
            for one in ids:
                letters.setdefault(one, []).append(letter)
    found: dict[str, set[str]] = {letter: set() for letter in wanted}
    for number, one in enumerate(sorted(letters)):
        found[letters[one][number % len(letters[one])]].add(one)
    return found


def _ids(document: Document | None) -> Iterator[str]:
    if document is not None:
        yield from document["left_out"]
        yield from (row["id"] for kind in ("frames", "conversations") for row in document[kind])


def _only(document: Document | None, ids: AbstractSet[str]) -> Document | None:
    """Return a document of these ids only; None for none of them."""
    if document is None or ids.isdisjoint(_ids(document)):
        return None
    rows = {kind: [row for row in document[kind] if row["id"] in ids] for kind in ("frames", "conversations")}
    return {**document, **rows, "left_out": [one for one in document["left_out"] if one in ids]}
