"""Cases as people write them: YAML files of symbolic steps, each case tied to clauses (docs/writing-cases.md).

Loading checks the form against `vectors/schema/cases.schema.json` and the meaning (clauses exist, ids are unique), and
expands `foreach` into one case per combination. Nothing here knows a protocol, a profile's bytes or a socket.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.clauses import Clause, load_clauses
from wireproof.conformance.suite.declared import Parameter, load_features, load_parameters
from wireproof.conformance.suite.documents import CaseError, read_document, vectors_root
from wireproof.conformance.suite.sequences import Sequence, expanded, load_sequences

__all__ = ["Case", "CaseError", "Clause", "Frame", "Suite", "cases_in", "frames_in", "load_suite", "vectors_root"]


@dataclass(frozen=True, slots=True)
class Case:
    """One symbolic case; `variables` are the values of its `foreach` combination."""

    id: str
    title: str
    topic: str
    clauses: tuple[str, ...]
    level: Level | None
    profiles: tuple[str, ...]
    variants: tuple[str, ...]
    exclusive: bool
    pristine: bool
    slow: bool
    """Waits a minute: played in simulation always, on sockets only when asked for."""
    steps: tuple[Mapping[str, Any], ...]
    variables: Mapping[str, Any]
    heavy: bool = False
    budget: bool = False
    """Measures what the target's process takes: only for a server that wireproof started, and on a fresh one."""
    no_fault: str = ""
    """Why no known fault fails it."""
    delivery: str = "whole"
    """How what it sends reaches the target (`conformance/suite/segmentation.py`)."""
    asked_by: str = ""
    """Under another delivery than whole: the clause that asks for the verdict of whole."""
    foundation: bool = False
    """What it shows is built upon: when it fails, later failures of cases that use its request are untestable."""
    bedrock: bool = False
    """Every case is built upon what it shows: when it fails, all other failures are untestable."""
    found: str = ""
    """The finding of a fuzzer that it was made of."""
    needs: tuple[str, ...] = ()
    """Features without which a target is not asked."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One symbolic frame: a message to encode and decode, or bytes and the error they must give."""

    id: str
    title: str
    topic: str
    clauses: tuple[str, ...]
    profiles: tuple[str, ...]
    variants: tuple[str, ...]
    body: Mapping[str, Any]
    variables: Mapping[str, Any]


@dataclass(frozen=True)
class Suite:
    """Everything a protocol's folder under `vectors/` says."""

    protocol: str
    clauses: Mapping[str, Clause]
    cases: tuple[Case, ...]
    frames: tuple[Frame, ...]
    probe: Mapping[str, Any]
    """How to find out which profile and variant a server speaks (`probe.yaml`)."""
    ladder: tuple[str, ...] = ()
    """Groups of clauses, each above those it rests on."""
    features: Mapping[str, str] = field(default_factory=dict)
    """Name -> what a target that has it can do; cases name them under `needs`."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    """Name -> a limit or timeout that each target has its own value of."""

    @property
    def deliveries(self) -> Mapping[str, str]:
        """Delivery -> the clause that asks for the verdict of whole under it."""
        return {name: clause.id for clause in self.clauses.values() for name in clause.deliveries}


@cache
def load_suite(protocol: str) -> Suite:
    """Return the protocol's clauses, cases and frames; `CaseError` says which file and case is wrong."""
    folder = vectors_root() / protocol
    if not (folder / "cases").is_dir():
        raise CaseError(f"{folder}: no folder of cases for {protocol!r}")
    clauses, ladder = load_clauses(folder / "clauses.yaml")
    features, sequences = load_features(folder / "features.yaml"), load_sequences(folder / "sequences.yaml")
    cases: list[Case] = []
    frames: list[Frame] = []
    for path in sorted((folder / "cases").iterdir(), key=lambda path: path.name):
        if path.name.endswith(".yaml"):
            document = read_document(path, "cases.schema.json")
            if document["protocol"] != protocol:
                raise CaseError(f"{path.name}: protocol: expected {protocol}, got {document['protocol']}")
            cases.extend(cases_in(document, clauses, path.name, sequences=sequences, features=features))
            frames.extend(frames_in(document, clauses, path.name))
    retired = _retired(folder / "retired.txt")
    seen: set[str] = set()
    for topic, name in [(one.topic, one.id) for one in cases] + [(one.topic, one.id) for one in frames]:
        if name in seen:
            raise CaseError(f"{topic}.yaml: id {name!r} is used twice")
        if name in retired:
            raise CaseError(f"{topic}.yaml: id {name!r} is retired and may not be used again (retired.txt)")
        seen.add(name)
    probe, parameters = read_document(folder / "probe.yaml"), load_parameters(folder / "parameters.yaml")
    return Suite(protocol, clauses, tuple(cases), tuple(frames), probe, ladder, features, parameters)


def _retired(path: Path) -> frozenset[str]:
    """Return the ids of cases that were removed: one a line, `#` begins a comment."""
    if not path.is_file():
        return frozenset()
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(name for line in lines if (name := line.split("#")[0].strip()))


def _combinations(entry: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (suffix of the id, variables) for each combination of `foreach`."""
    foreach: Mapping[str, list[Any]] = entry.get("foreach", {})
    for values in product(*foreach.values()):
        suffix = "".join(f".{value}".replace(" ", "") for value in values)
        yield suffix, dict(zip(foreach, values, strict=True))


def _blamed(spec: Any) -> Iterator[str]:
    """Yield the clauses that steps name, however deep."""
    if isinstance(spec, Mapping):
        if isinstance(spec.get("clause"), str):
            yield spec["clause"]
        spec = list(spec.values())
    if isinstance(spec, list):
        for one in spec:
            yield from _blamed(one)


def _title(entry: Mapping[str, Any], variables: Mapping[str, Any], where: str) -> str:
    """Return the title with the variables of `foreach` filled in."""
    text: str = entry.get("title", entry["id"])
    try:
        return text.format_map(variables)
    except (LookupError, ValueError, AttributeError):
        known = ", ".join(variables) or "none"
        raise CaseError(
            f"{where}: {entry['id']}: title: expected variables in braces, of {known}; got {text!r}"
        ) from None


def _common(entry: Mapping[str, Any], clauses: Mapping[str, Clause], where: str) -> dict[str, Any]:
    cited = tuple(entry["clauses"])
    unknown = [one for one in (*cited, *_blamed(entry.get("steps", ()))) if one not in clauses]
    if unknown:
        raise CaseError(f"{where}: {entry['id']}: no such clause: {', '.join(unknown)}")
    profiles = tuple(str(name) for name in entry.get("profiles") or clauses[cited[0]].levels)
    missing = [name for name in profiles if name not in clauses[cited[0]].levels]
    if missing:
        raise CaseError(f"{where}: {entry['id']}: clause {cited[0]} does not apply to {', '.join(missing)}")
    return {
        "topic": where.removesuffix(".yaml"),
        "clauses": cited,
        "profiles": profiles,
        "variants": tuple(entry.get("variants", ())),
    }


def _needs(
    document: Mapping[str, Any], entry: Mapping[str, Any], known: Collection[str], where: str
) -> tuple[str, ...]:
    needs = tuple(dict.fromkeys([*document.get("needs", ()), *entry.get("needs", ())]))
    if unknown := [name for name in needs if name not in known]:
        told = f"no such feature: {', '.join(unknown)}; there is {', '.join(known) or 'none'} (features.yaml)"
        raise CaseError(f"{where}: {entry['id']}: {told}")
    return needs


def cases_in(
    document: Mapping[str, Any],
    clauses: Mapping[str, Clause],
    where: str,
    *,
    sequences: Mapping[str, Sequence] = MappingProxyType({}),
    features: Collection[str] = (),
) -> Iterator[Case]:
    """Yield the cases of a document that was checked against its schema; `where` is its file; raises `CaseError`."""
    for entry in document.get("cases", ()):
        entry = {**entry, "steps": expanded(entry["steps"], sequences, f"{where}: {entry['id']}")}
        common = _common(entry, clauses, where)
        needs = _needs(document, entry, features, where)
        for suffix, variables in _combinations(entry):
            yield Case(
                id=entry["id"] + suffix,
                title=_title(entry, variables, where),
                level=Level(entry["level"]) if "level" in entry else None,
                exclusive=any(entry.get(one, False) for one in ("exclusive", "pristine", "budget")),
                pristine=entry.get("pristine", False),
                slow=entry.get("slow", False),
                heavy=entry.get("heavy", False),
                budget=entry.get("budget", False),
                no_fault=entry.get("no_fault", ""),
                foundation=entry.get("foundation", False),
                bedrock=entry.get("bedrock", False),
                found=entry.get("found", {}).get("finding", ""),
                needs=needs,
                steps=tuple(entry["steps"]),
                variables=variables,
                **common,
            )


def frames_in(document: Mapping[str, Any], clauses: Mapping[str, Clause], where: str) -> Iterator[Frame]:
    """Yield the frames of such a document."""
    for entry in document.get("frames", ()):
        common = _common(entry, clauses, where)
        body = {
            key: entry[key]
            for key in ("message", "hex", "reply_to", "error", "direction", "flags", "link", "after")
            if key in entry
        }
        for suffix, variables in _combinations(entry):
            title = _title(entry, variables, where)
            yield Frame(id=entry["id"] + suffix, title=title, body=body, variables=variables, **common)
