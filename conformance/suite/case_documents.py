"""Reads files of cases into typed cases: form, names, clauses, features; all that is wrong is reported at once.

What was found right is kept in the user's cache folder as the typed cases themselves, under the digest of all that they
depend on, so that a run decodes a thousand cases in some milliseconds and parses none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import product
from pathlib import Path

import msgspec

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.case import Case, Frame
from wireproof.conformance.suite.case_files import CaseEntry, CaseFile, FileEntry, FrameEntry
from wireproof.conformance.suite.case_forms import FORMS
from wireproof.conformance.suite.case_reader import CaseReader, Form, Problem, keys_of
from wireproof.conformance.suite.case_reader import Path as Place
from wireproof.conformance.suite.clauses import Clause
from wireproof.conformance.suite.declared import usual_parameters
from wireproof.conformance.suite.documents import CaseError, keep, kept, read_text, vectors_root
from wireproof.conformance.suite.names import near, shown_names
from wireproof.conformance.suite.sdk_steps import SdkCaseEntry, SdkCaseFile
from wireproof.conformance.suite.sequences import Sequence
from wireproof.conformance.suite.steps import Blame
from wireproof.conformance.suite.used_names import UsedNames
from wireproof.conformance.suite.values import Node, Scalar
from wireproof.conformance.suite.vocabulary import vocabulary
from wireproof.protocols import protocol


class CaseDocument(msgspec.Struct, frozen=True):
    """What one file holds."""

    cases: tuple[Case, ...]
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Context:
    """What the cases of a protocol may name."""

    protocol: str
    clauses: Mapping[str, Clause]
    sequences: Mapping[str, Sequence] = field(default_factory=dict)
    features: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """A digest of everything that cases may name, and of the language they are written in."""
        folder = vectors_root() / "schema"
        rules = [read_text(folder / one) for one in ("cases.schema.json", "sdk-cases.schema.json")]
        known = vocabulary(self.protocol)
        named = [sorted((name, sorted(shape)) for name, shape in known.messages.items()), sorted(known.pushes)]
        levels = {one.id: one.levels for one in self.clauses.values()}
        sequences = {name: (one.defaults, one.steps) for name, one in self.sequences.items()}
        spoken = protocol(self.protocol)
        words = {name: sorted(enum.__members__) for name, enum in spoken.names.items()}
        given = [words, sorted(spoken.functions), sorted(usual_parameters(self.protocol))]
        seen = msgspec.json.encode([rules, named, levels, sequences, sorted(self.features), given])
        return sha256(seen).hexdigest()

    def profiles(self, node: Node) -> tuple[str, ...]:
        """Return the profiles of one case: its own, or those of its first clause."""
        clauses = node.get("clauses") if isinstance(node, dict) else None
        profiles = node.get("profiles") if isinstance(node, dict) else None
        first = clauses[0] if isinstance(clauses, list) and clauses else None
        if not isinstance(profiles, list):
            profiles = list(self.clauses[first].levels) if isinstance(first, str) and first in self.clauses else []
        known = protocol(self.protocol).profiles
        return tuple(one for one in profiles if isinstance(one, str) and one in known)


def read_cases(path: Path, context: Context, kind: type[CaseFile | SdkCaseFile] = CaseFile) -> CaseDocument:
    """Return the cases and frames of a file; raises `CaseError` that names every line that is wrong, and why."""
    return remembered(path, context, lambda text: _read(text, path.name, context, kind))


def remembered(path: Path, context: Context, read: Callable[[str], CaseDocument], kind: str = "") -> CaseDocument:
    """Return what `read` makes of the text of a file, kept until the text or what it may name is another.

    `kind` distinguishes readings of one file.
    """
    text = read_text(path)
    digest = sha256(f"{context.digest}\0{kind}\0{text}".encode()).hexdigest()[:24]
    found = kept(path.name, digest, CaseDocument)
    if found is None:
        found = read(text)
        keep(path.name, digest, found)
    return found


def _read(text: str, name: str, context: Context, kind: type[CaseFile | SdkCaseFile]) -> CaseDocument:
    from wireproof.conformance.suite.yaml_documents import line_of, parsed

    document = parsed(text, name)
    found, problems = document_of(document, context, name, kind)
    if problems:
        lines = [f"{name}:{line_of(text, one.path)}: {problem_text(document, one)}" for one in problems]
        raise CaseError("\n".join(lines))
    return found


def cases_in(document: Node, context: Context, where: str) -> tuple[Case, ...]:
    """Return the cases of a document that is no file; raises `CaseError`, which begins with `where`."""
    return _right(document, context, where, CaseFile).cases


def sdk_cases_in(document: Node, context: Context, where: str) -> tuple[Case, ...]:
    """Return the cases for SDKs of such a document; raises `CaseError`, which begins with `where`."""
    return _right(document, context, where, SdkCaseFile).cases


def frames_in(document: Node, context: Context, where: str) -> tuple[Frame, ...]:
    """Return the frames of such a document; raises `CaseError`, which begins with `where`."""
    return _right(document, context, where, CaseFile).frames


def _right(document: Node, context: Context, where: str, kind: type[CaseFile | SdkCaseFile]) -> CaseDocument:
    if isinstance(document, dict):
        document = {"protocol": context.protocol, **document}
    found, problems = document_of(document, context, where, kind)
    if problems:
        raise CaseError("\n".join(f"{where}: {problem_text(document, one)}" for one in problems))
    return found


def document_of(
    document: Node, context: Context, where: str, kind: type[CaseFile | SdkCaseFile] = CaseFile
) -> tuple[CaseDocument, list[Problem]]:
    """Return what a document holds, as far as it is right, and what is wrong."""
    entries: dict[object, Form] = {one: _entry(one, context) for one in (CaseEntry, FrameEntry, SdkCaseEntry)}
    reader = CaseReader({**FORMS, **entries})
    reader.sequences = context.sequences
    file = reader.struct(kind, document, ())
    if file is None:
        return CaseDocument((), ()), reader.problems
    making = _Making(context, where, file, reader.problems)
    return CaseDocument(tuple(making.cases()), tuple(making.frames())), reader.problems


def _entry(kind: type[FileEntry], context: Context) -> Form:
    """Return the form of a case or frame, whose messages are those of its own profiles."""

    def read(reader: CaseReader, node: Node, path: Place) -> msgspec.Struct:
        assert isinstance(node, dict)
        reader.vocabulary = vocabulary(context.protocol, context.profiles(node))
        found = reader.fields(kind, node, path)
        assert isinstance(found, FileEntry)
        _look_at_names(reader, found, node, path, context)
        return found

    return Form(read)


def _look_at_names(reader: CaseReader, entry: FileEntry, node: dict[str, Node], path: Place, context: Context) -> None:
    """Keep a problem for each name that an entry uses and nothing gives."""
    names = UsedNames(protocol(context.protocol), context.profiles(node), entry.foreach or {}, reader.wrong)
    hints = keys_of(type(entry))
    steps = getattr(entry, "steps", ())
    for number, step in zip(_places(node.get("steps"), context.sequences), steps, strict=False):
        names.look(step, type(step), (*path, "steps", number))
    for name in ("message", "hex", "reply_to", "after"):
        if name in hints:
            names.look(getattr(entry, name), hints[name][1], (*path, name))


def _places(steps: Node, sequences: Mapping[str, Sequence]) -> Iterator[int]:
    """Yield for each step that is played the number of the one that was written."""
    for number, one in enumerate(steps if isinstance(steps, list) else []):
        performed = one.get("perform") if isinstance(one, dict) else None
        name = next(iter(performed), None) if isinstance(performed, dict) else performed
        yield from (number for _ in range(_length(sequences[name].steps, sequences) if isinstance(name, str) else 1))


def _length(steps: Iterable[Node], sequences: Mapping[str, Sequence]) -> int:
    """Return how many steps are played where these were written."""
    return sum(1 for _ in _places(list(steps), sequences))


def problem_text(document: Node, problem: Problem) -> str:
    """Return a problem with the id of its case or frame, and where in it."""
    path = problem.path
    node: Node = document
    for step in path[:2]:
        node = node[step] if isinstance(node, dict | list) and len(path) > 1 else None  # type: ignore[index]
    name = node.get("id") if isinstance(node, dict) else None
    where = [str(name), ".".join(map(str, path[2:]))] if name else [".".join(map(str, path))]
    return ": ".join([*filter(None, where), problem.message])


@dataclass
class _Making:
    """Makes the cases and frames of one file, and notes what their entries name that is not there."""

    context: Context
    where: str
    file: CaseFile | SdkCaseFile
    problems: list[Problem]

    def cases(self) -> Iterator[Case]:
        """Yield one case for each combination of each entry."""
        if self.file.protocol != self.context.protocol:
            self._wrong(("protocol",), f"expected {self.context.protocol}, got {self.file.protocol}")
        entries: Iterable[CaseEntry | SdkCaseEntry] = self.file.cases
        for number, entry in enumerate(entries):
            path: Place = ("cases", number)
            self._check_clauses(entry, path)
            for one in (*(self.file.needs or ()), *(entry.needs or ())):
                if one not in self.context.features:
                    known = shown_names(self.context.features)
                    hint = near(one, self.context.features)
                    self._wrong((*path, "needs"), f"no such feature: {one}{hint}; there is {known} (features.yaml)")
            for suffix, variables in _combinations(entry):
                yield self._case(entry, suffix, variables, path)

    def frames(self) -> Iterator[Frame]:
        """Yield one frame for each combination of each entry."""
        entries = self.file.frames if isinstance(self.file, CaseFile) else ()
        for number, entry in enumerate(entries):
            path: Place = ("frames", number)
            self._check_clauses(entry, path)
            if (entry.message is None) == (entry.hex is None) or (entry.hex is not None and entry.error is None):
                self._wrong(path, "expected either a message, or hex and error")
            for suffix, variables in _combinations(entry):
                yield Frame(
                    id=entry.id + suffix,
                    title=self._title(entry.title or entry.id, variables, path),
                    topic=self.where.removesuffix(".yaml"),
                    clauses=entry.clauses,
                    profiles=self._profiles(entry, path),
                    variants=entry.variants or (),
                    body=entry,
                    variables=variables,
                )

    def _case(self, entry: CaseEntry | SdkCaseEntry, suffix: str, variables: dict[str, Scalar], path: Place) -> Case:
        made = Case(
            id=entry.id + suffix,
            title=self._title(entry.title, variables, path),
            topic=self.where.removesuffix(".yaml"),
            clauses=entry.clauses,
            profiles=self._profiles(entry, path),
            variants=entry.variants or (),
            level=Level(entry.level) if entry.level else None,
            exclusive=False,
            fresh_server=False,
            slow=entry.slow,
            no_fault=entry.no_fault or "",
            needs=tuple(dict.fromkeys([*(self.file.needs or ()), *(entry.needs or ())])),
            steps=(),
            variables=variables,
        )
        if isinstance(entry, SdkCaseEntry):
            return replace(made, script=entry.steps)
        return replace(
            made,
            exclusive=entry.exclusive or entry.fresh_server or entry.budget,
            fresh_server=entry.fresh_server,
            heavy=entry.heavy,
            budget=entry.budget,
            prerequisite=entry.prerequisite,
            prerequisite_of=entry.prerequisite_of or (),
            prerequisite_of_all=entry.prerequisite_of_all,
            found=entry.found.finding if entry.found else "",
            modelled=entry.modelled,
            steps=entry.steps,
        )

    def _wrong(self, path: Place, message: str) -> None:
        problem = Problem(path, message)
        if problem not in self.problems:
            self.problems.append(problem)

    def _check_clauses(self, entry: FileEntry, path: Place) -> None:
        """Note the clauses that an entry or its steps name and that do not exist."""
        steps = (
            ((("steps",), one) for one in _cited(entry.steps)) if isinstance(entry, CaseEntry | SdkCaseEntry) else ()
        )
        cited = ((("clauses",), one) for one in entry.clauses)
        for place, clause in (*cited, *steps):
            if clause not in self.context.clauses:
                self._wrong((*path, *place), f"no such clause: {clause}{near(clause, self.context.clauses)}")
        if len(set(entry.clauses)) != len(entry.clauses):
            self._wrong((*path, "clauses"), "a clause twice")

    def _profiles(self, entry: FileEntry, path: Place) -> tuple[str, ...]:
        """Return the profiles of an entry: those of its first clause unless it names its own."""
        first = self.context.clauses.get(entry.clauses[0])
        levels = first.levels if first else {}
        if first and (missing := [name for name in entry.profiles or () if name not in levels]):
            self._wrong(path, f"clause {first.id} does not apply to {', '.join(missing)}")
        return entry.profiles or tuple(levels)

    def _title(self, text: str, variables: Mapping[str, Scalar], path: Place) -> str:
        """Return the title with the variables of `foreach` filled in."""
        try:
            return text.format_map(variables)
        except (LookupError, ValueError, AttributeError):
            known = ", ".join(variables) or "none"
            self._wrong((*path, "title"), f"title: expected variables in braces, of {known}; got {text!r}")
            return text


def _cited(found: object) -> Iterator[str]:
    """Yield the clauses that steps name, however deep."""
    if isinstance(found, msgspec.Struct):
        clause, blame = getattr(found, "clause", None), getattr(found, "blame", None)
        if isinstance(clause, str):
            yield clause
        yield from blame.values() if isinstance(blame, dict) else ()
        if isinstance(found, Blame):
            yield from (one for one in (found.at_once, found.in_turn, found.seen) if one)
        found = [getattr(found, name) for name in found.__struct_fields__]
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, tuple | list):
        for one in found:
            yield from _cited(one)


def _combinations(entry: FileEntry) -> Iterator[tuple[str, dict[str, Scalar]]]:
    """Yield (suffix of the id, variables) for each combination of `foreach`."""
    foreach = entry.foreach or {}
    for values in product(*foreach.values()):
        suffix = "".join(f".{value}".replace(" ", "") for value in values)
        yield suffix, dict(zip(foreach, values, strict=True))
