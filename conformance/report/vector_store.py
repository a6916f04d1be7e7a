"""Where vectors come from at run time: the derived files of a checkout, or the cases themselves.

An installation holds cases and no derived files. What is derived there is kept in the user's cache folder under a
digest of everything that the cases of the protocol say, and of the version that derived it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path

import jsonschema_rs

from wireproof.conformance.report.derived_vectors import DeriveError, Deriver
from wireproof.conformance.report.vector_files import Document, configurations, merged, selected
from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.conformance.suite.documents import keep, kept, vectors_root
from wireproof.protocols import protocol

FOLDER = "derived"
_suite: Suite


def derived_folder(name: str) -> Path:
    """Return the folder of a protocol's derived files; it need not exist."""
    return vectors_root() / name / FOLDER


def vectors_of(name: str, profile: str, variant: str, ids: Collection[str] = ()) -> tuple[Document, ...]:
    """Return the vectors of one profile and variant, a document a topic, by topic.

    With `ids`, of files only those that hold one of them.
    Raises `CaseError` or `DeriveError` if there are no files and the cases cannot be read or derived.
    """
    folder = derived_folder(name)
    found = _stored(folder, profile, variant, ids) if folder.is_dir() else _cached(name, profile, variant)
    return tuple(sorted(found, key=lambda document: str(document["topic"])))


def _stored(folder: Path, profile: str, variant: str, ids: Collection[str]) -> Iterator[Document]:
    wanted = [json.dumps(one) for one in ids]
    for path in sorted(folder.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        if wanted and not any(one in text for one in wanted):
            continue
        if document := selected(json.loads(text), profile, variant):
            yield document


def _cached(name: str, profile: str, variant: str) -> list[Document]:
    file, digest = f"vectors-{name}-{profile}-{variant}", _digest(name)
    if (documents := kept(file, digest, list[Document])) is None:
        documents = list(Deriver(load_suite(name), profile, variant).documents().values())
        keep(file, digest, documents)
    return documents


def _digest(name: str) -> str:
    """Return a digest of what the vectors of a protocol follow from."""
    try:
        found = sha256(version("wireproof").encode())
    except PackageNotFoundError:
        found = sha256(b"no version")
    root = vectors_root() / name
    for path in sorted(one for one in root.rglob("*") if one.is_file() and FOLDER not in one.parts):
        found.update(f"\0{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()[:24]


def derive(suite: Suite) -> dict[str, Document]:
    """Return topic -> the file of that topic, for every profile and variant, each checked with the published schema.

    Configurations are derived side by side, in as many processes as there are cores. Raises `DeriveError` if a case or
    frame cannot be derived, or a file would not follow the schema.
    """
    topics: dict[str, dict[str, Document]] = {}
    for letter, found in side_by_side(suite, dict.fromkeys(configurations(protocol(suite.protocol)))).items():
        for topic, document in found.items():
            topics.setdefault(topic, {})[letter] = document
    ids = [*(frame.id for frame in suite.frames), *(case.id for case in suite.cases)]
    order = {identifier: place for place, identifier in enumerate(ids)}
    return {topic: checked(merged(documents, order)) for topic, documents in topics.items()}


def side_by_side(suite: Suite, wanted: Mapping[str, Collection[str] | None]) -> dict[str, dict[str, Document]]:
    """Return letter -> topic -> document for each letter of `wanted`, of these ids or of all (None).

    Raises `DeriveError`.
    """
    places = configurations(protocol(suite.protocol))
    with ProcessPoolExecutor(os.cpu_count(), get_context("fork"), _keep_suite, (suite,)) as pool:
        derived = [pool.submit(_documents, places[letter], chosen) for letter, chosen in wanted.items()]
    return {letter: one.result() for letter, one in zip(wanted, derived, strict=True)}


def _keep_suite(suite: Suite) -> None:
    """Keep the suite in a worker, which is forked and so need not be sent it."""
    global _suite
    _suite = suite


def _documents(configuration: tuple[str, str], chosen: Collection[str] | None) -> dict[str, Document]:
    return Deriver(_suite, *configuration).documents(chosen)


def checked(document: Document) -> Document:
    """Return a file's document; raises `DeriveError` if the published schema does not allow it."""
    try:
        _validator((vectors_root() / "schema" / "vectors.schema.json").read_text(encoding="utf-8")).validate(document)
    except jsonschema_rs.ValidationError as error:
        raise DeriveError(
            f"{document['topic']}: the published schema does not allow it: {error.message[:300]}"
        ) from None
    return document


@cache
def _validator(schema: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json.loads(schema))
