"""Reads files of sequences with the reader of cases: keys, messages, fields and names, every wrong line at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from wireproof.conformance.suite.case_files import SequenceEntry, SequenceName
from wireproof.conformance.suite.case_forms import FORMS
from wireproof.conformance.suite.case_reader import CaseReader, MisreadError
from wireproof.conformance.suite.case_reader import Path as Place
from wireproof.conformance.suite.documents import CaseError, keep, kept, read_text, vectors_root
from wireproof.conformance.suite.names import near, shown_names
from wireproof.conformance.suite.sequences import Sequence, filled, names_in
from wireproof.conformance.suite.values import Node
from wireproof.conformance.suite.vocabulary import vocabulary


def load_sequences(path: Path, protocol: str) -> dict[str, Sequence]:
    """Return the sequences by name, none where there is no such file; `CaseError` names every line that is wrong."""
    if not path.is_file():
        return {}
    text = read_text(path)
    rules = read_text(vectors_root() / "schema" / "cases.schema.json")
    shapes = sorted((name, sorted(shape)) for name, shape in vocabulary(protocol).messages.items())
    digest = sha256(f"{rules}\0{shapes}\0{text}".encode()).hexdigest()[:24]
    document = kept(path.name, digest, dict[str, dict[str, object]])
    if document is None:
        document = _checked(text, path.name, protocol)
        keep(path.name, digest, document)
    return {name: _sequence(entry) for name, entry in document.items()}


def _sequence(entry: object) -> Sequence:
    """Return what is written, as far as it has the form of a sequence."""
    steps, defaults = (entry.get("steps"), entry.get("with")) if isinstance(entry, dict) else (None, None)
    return Sequence(defaults if isinstance(defaults, dict) else {}, tuple(steps) if isinstance(steps, list) else ())


def _checked(text: str, name: str, protocol: str) -> dict[str, dict[str, object]]:
    """Return the document in `text`; raises `CaseError` that names every wrong line."""
    from wireproof.conformance.suite.yaml_documents import line_of, parsed

    document = parsed(text, name)
    reader = CaseReader(FORMS, vocabulary(protocol))
    if isinstance(document, dict):
        reader.sequences = {one: _sequence(entry) for one, entry in document.items()}
        for one, entry in document.items():
            _read(reader, one, entry)
    else:
        reader.wrong((), "expected sequences by name as a mapping")
    if reader.problems:
        found = [f"{name}:{line_of(text, one.path)}: {_shown(one.path)}{one.message}" for one in reader.problems]
        raise CaseError("\n".join(found))
    return document  # type: ignore[return-value]


def _shown(path: Place) -> str:
    return ".".join(map(str, path)) + ": " if path else ""


def _read(reader: CaseReader, name: str, entry: Node) -> None:
    """Read one sequence; its steps with the values that its names have unless others are given."""
    try:
        reader.read(SequenceName, name, (name,))
        sequence = reader.sequences[name]
        unknown = False
        for place, one in _named(list(sequence.steps), (name, "steps")):
            if one not in sequence.defaults:
                known = sequence.defaults
                reader.wrong(place, f"<{one}> is not among its `with`{near(one, known)}; expected {shown_names(known)}")
                unknown = True
        if isinstance(entry, dict) and isinstance(entry.get("steps"), list) and not unknown:
            entry = {**entry, "steps": [_with_defaults(one, sequence.defaults) for one in sequence.steps]}
        reader.read(SequenceEntry, entry, (name,))
    except MisreadError:
        return


def _with_defaults(step: Node, defaults: Mapping[str, Node]) -> Node:
    """Return a step with its names filled in; one that must be given stays as it is, where any text may stand."""
    values = {name: f"<{name}>" if value is None else value for name, value in defaults.items()}
    return filled(step, values, "with")


def _named(spec: Node, path: Place) -> Iterator[tuple[Place, str]]:
    """Yield the names in `<...>` of what is written, each with its place."""
    match spec:
        case dict():
            for key, one in spec.items():
                yield from ((path, name) for name in names_in(key))
                yield from _named(one, (*path, key))
        case list():
            for number, one in enumerate(spec):
                yield from _named(one, (*path, number))
        case str():
            yield from ((path, name) for name in names_in(spec))
