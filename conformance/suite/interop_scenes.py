"""Scenes of pairs that a protocol writes itself: `vectors/<protocol>/interop.yaml`, steps as in cases for servers.

A client is commanded to do what a step sends, and gets what it expects. A protocol without the file has none: its
scenes are derived from its layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.case_documents import cases_in
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.documents import CaseError, read_document, vectors_root
from wireproof.conformance.suite.pattern_types import AnyOf, MessagePattern
from wireproof.conformance.suite.steps import AnyStep, Expect, ExpectSilence, Send, Step, StepChoice, Verb, Wait
from wireproof.conformance.suite.values import SymbolicMessage
from wireproof.protocols import protocol
from wireproof.protocols.json_values import JsonObject

__all__ = ["WrittenScene", "written_scenes"]

FILE = "interop.yaml"


@dataclass(frozen=True, slots=True)
class WrittenScene:
    """One scene: its steps are those of a case, its connections are those of clients."""

    case: Case
    clients: Mapping[str, Mapping[str, str]]
    """Connection -> the protocol's own fields of `connect`, in the order in which they connect."""


@cache
def written_scenes(name: str) -> tuple[WrittenScene, ...]:
    """Return the scenes of a protocol, perhaps none; `CaseError` says what is wrong with its file."""
    path = vectors_root() / name / FILE
    return tuple(_read(name, read_document(path))) if path.is_file() else ()


def _read(name: str, document: JsonObject) -> Iterator[WrittenScene]:
    context = load_suite(name).context
    for entry in document.get("scenes", ()):
        clients = {"a": {}} | {one: dict(fields or {}) for one, fields in entry.get("clients", {}).items()}
        rest = {key: value for key, value in entry.items() if key != "clients"}
        for case in cases_in({"cases": [rest]}, context, FILE):
            _check(name, case, clients)
            yield WrittenScene(case, clients)


def _check(name: str, case: Case, clients: Mapping[str, Mapping[str, str]]) -> None:
    """Raise `CaseError` for what a client cannot be commanded to do."""
    known = protocol(name).sdk.connect_fields
    for fields in clients.values():
        if unknown := [one for one in fields if one not in known]:
            raise CaseError(f"{FILE}: {case.id}: connect has no field {unknown[0]!r}; it has {', '.join(known)}")
    for step in _steps(case.steps):
        for verb in step.verbs:
            if not _is_possible(verb):
                raise CaseError(f"{FILE}: {case.id}: expected send of one message, expect, silent or wait; got {verb}")
        on = [step.on, *(verb.silent for verb in step.verbs if isinstance(verb, ExpectSilence))]
        if unknown := [one for one in on if one not in clients]:
            raise CaseError(f"{FILE}: {case.id}: no client {unknown[0]!r}; clients are {', '.join(clients)}")


def _steps(steps: Iterable[AnyStep]) -> Iterator[Step]:
    for one in steps:
        if isinstance(one, StepChoice):
            yield from one.options.values()
        else:
            yield one


def _is_possible(verb: Verb) -> bool:
    match verb:
        case Send(send):
            return len(send) == 1 and isinstance(send[0], SymbolicMessage)
        case Expect(expect):
            return all(isinstance(one, MessagePattern | AnyOf) for one in expect)
    return isinstance(verb, ExpectSilence | Wait)
