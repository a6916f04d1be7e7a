"""The suite of a protocol: its clauses, its cases and frames, and what goes with them.

Cases are YAML that people write (docs/writing-cases.md); `case_documents.py` makes typed steps of them when they are
loaded. Nothing here knows a protocol, a profile's bytes or a socket.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from wireproof.conformance.suite.case import Case, Frame
from wireproof.conformance.suite.case_documents import Context, cases_in, frames_in, read_cases, sdk_cases_in
from wireproof.conformance.suite.clauses import Clause, load_clauses
from wireproof.conformance.suite.combinations import combined_cases
from wireproof.conformance.suite.declared import Parameter, load_features, load_parameters
from wireproof.conformance.suite.documents import CaseError, read_document, vectors_root
from wireproof.conformance.suite.sequence_documents import load_sequences
from wireproof.conformance.suite.sequences import Sequence
from wireproof.conformance.suite.walks import walk_cases
from wireproof.protocols.json_values import JsonObject

__all__ = [
    "Case", "CaseError", "Clause", "Frame", "Suite", "cases_in", "frames_in", "load_probe", "load_suite",
    "sdk_cases_in", "vectors_root",
]  # fmt: skip


@dataclass(frozen=True)
class Suite:
    """Everything a protocol's folder under `vectors/` says."""

    protocol: str
    clauses: Mapping[str, Clause]
    cases: tuple[Case, ...]
    frames: tuple[Frame, ...]
    probe: JsonObject
    """How to find out which profile and variant a server speaks (`probe.yaml`)."""
    ladder: tuple[str, ...] = ()
    """Groups of clauses, each above those it rests on."""
    features: Mapping[str, str] = field(default_factory=dict)
    """Name -> what a target that has it can do; cases name them under `needs`."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    """Name -> a limit or timeout that each target has its own value of."""
    sequences: Mapping[str, Sequence] = field(default_factory=dict)
    """Name -> steps that cases may perform."""
    aspects: tuple[str, ...] = ()
    """Groups that are no request but about many of them, each above those it rests on."""

    @property
    def segmentations(self) -> Mapping[str, str]:
        """Delivery -> the clause that asks for the verdict of whole under it."""
        return {name: clause.id for clause in self.clauses.values() for name in clause.segmentations}

    @property
    def context(self) -> Context:
        """What cases of the suite may name."""
        return Context(self.protocol, self.clauses, self.sequences, self.features)


@cache
def load_suite(protocol: str, *, triples: bool = False) -> Suite:
    """Return the protocol's clauses, cases and frames; raises `CaseError` that names every wrong line of a file.

    With `triples`, also the cases that hold every three values of its combinations: thousands, which take a second.
    """
    with _collector_paused():
        return _loaded(protocol, triples=triples)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Collect no garbage meanwhile, and look for none later in what is there by then: a suite stays for good.

    A suite is half a million objects, none of them garbage; to go through them again and again takes longer than to
    read them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def _loaded(protocol: str, *, triples: bool) -> Suite:
    folder = vectors_root() / protocol
    if not (folder / "cases").is_dir():
        raise CaseError(f"{folder}: no folder of cases for {protocol!r}")
    clauses, ladder, aspects = load_clauses(folder / "clauses.yaml")
    features, sequences = load_features(folder / "features.yaml"), load_sequences(folder / "sequences.yaml", protocol)
    context = Context(protocol, clauses, sequences, features)
    paths = sorted((folder / "cases").glob("*.yaml"), key=lambda path: path.name)
    documents = [read_cases(path, context) for path in paths]
    cases = tuple(case for one in documents for case in one.cases)
    cases += combined_cases(folder / "combinations.yaml", context)
    cases += walk_cases(folder / "walks.yaml", context)
    if triples:
        cases += combined_cases(folder / "combinations.yaml", context, triples=True)
    frames = tuple(frame for one in documents for frame in one.frames)
    ids = [(one.topic, one.id) for one in cases] + [(one.topic, one.id) for one in frames]
    _check_ids(ids, _retired(folder / "retired.txt"))
    probe, parameters = read_document(folder / "probe.yaml"), load_parameters(folder / "parameters.yaml")
    return Suite(protocol, clauses, cases, frames, probe, ladder, features, parameters, sequences, aspects)


@cache
def load_probe(protocol: str) -> Suite:
    """Return as much of a suite as it takes to ask a server what it speaks: no clauses, cases or frames.

    Raises `CaseError` where its file is wrong.
    """
    folder = vectors_root() / protocol
    features, parameters = load_features(folder / "features.yaml"), load_parameters(folder / "parameters.yaml")
    probe = read_document(folder / "probe.yaml")
    return Suite(protocol, {}, (), (), probe, features=features, parameters=parameters)


def _check_ids(named: Iterable[tuple[str, str]], retired: frozenset[str]) -> None:
    seen: set[str] = set()
    for topic, name in named:
        if name in seen:
            raise CaseError(f"{topic}.yaml: id {name!r} is used twice")
        if name in retired:
            raise CaseError(f"{topic}.yaml: id {name!r} is retired and may not be used again (retired.txt)")
        seen.add(name)


def _retired(path: Path) -> frozenset[str]:
    """Return the ids of cases that were removed: one a line, `#` begins a comment."""
    if not path.is_file():
        return frozenset()
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(name for line in lines if (name := line.split("#")[0].strip()))
