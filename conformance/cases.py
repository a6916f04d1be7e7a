"""Cases as people write them: YAML files of symbolic steps, each case tied to clauses (docs/writing-cases.md).

Loading checks the form against `vectors/schema/cases.schema.json` and the meaning (clauses exist, ids are unique), and
expands `foreach` into one case per combination. Nothing here knows a protocol, a profile's bytes or a socket.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from conformance.documents import CaseError, read_document, vectors_root
from conformance.verdicts import Level

__all__ = ["Case", "CaseError", "Clause", "Frame", "Suite", "cases_in", "frames_in", "load_suite", "vectors_root"]


@dataclass(frozen=True, slots=True)
class Clause:
    """One normative statement of a protocol."""

    id: str
    group: str
    levels: Mapping[str, Level]
    """Profile name -> level; the profiles it applies to are the keys."""
    text: str
    section: str
    errata: tuple[str, ...]
    no_fault: str = ""
    """Why no server can be wrong here in a way that shows."""
    deliveries: tuple[str, ...] = ()
    """Those under which it asks for the verdict of whole, whatever the case."""


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
    """How what it sends reaches the target (`conformance/delivery.py`)."""
    asked_by: str = ""
    """Under another delivery than whole: the clause that asks for the verdict of whole."""
    foundation: bool = False
    """What it shows is built upon: when it fails, later failures of cases that use its request are untestable."""
    bedrock: bool = False
    """Every case is built upon what it shows: when it fails, all other failures are untestable."""
    found: str = ""
    """The finding of a fuzzer that it was made of."""


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
    clauses, ladder = _load_clauses(folder / "clauses.yaml")
    cases: list[Case] = []
    frames: list[Frame] = []
    for path in sorted((folder / "cases").iterdir(), key=lambda path: path.name):
        if path.name.endswith(".yaml"):
            document = read_document(path, "cases.schema.json")
            if document["protocol"] != protocol:
                raise CaseError(f"{path.name}: protocol: expected {protocol}, got {document['protocol']}")
            cases.extend(cases_in(document, clauses, path.name))
            frames.extend(frames_in(document, clauses, path.name))
    retired = _retired(folder / "retired.txt")
    seen: set[str] = set()
    for topic, name in [(one.topic, one.id) for one in cases] + [(one.topic, one.id) for one in frames]:
        if name in seen:
            raise CaseError(f"{topic}.yaml: id {name!r} is used twice")
        if name in retired:
            raise CaseError(f"{topic}.yaml: id {name!r} is retired and may not be used again (retired.txt)")
        seen.add(name)
    return Suite(protocol, clauses, tuple(cases), tuple(frames), read_document(folder / "probe.yaml"), ladder)


def _retired(path: Path) -> frozenset[str]:
    """Return the ids of cases that were removed: one a line, `#` begins a comment."""
    if not path.is_file():
        return frozenset()
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(name for line in lines if (name := line.split("#")[0].strip()))


def _load_clauses(path: Path) -> tuple[dict[str, Clause], tuple[str, ...]]:
    """Return the clauses by id, and their groups as a ladder: those named first, then the others as they come."""
    document = read_document(path, "clauses.schema.json")
    found = {}
    for entry in document["clauses"]:
        level, profiles = entry["level"], [str(name) for name in entry["profiles"]]
        levels = {name: Level(level if isinstance(level, str) else level[name]) for name in profiles}
        found[entry["id"]] = Clause(
            entry["id"],
            entry["group"],
            levels,
            entry["text"],
            entry["section"],
            tuple(entry.get("errata", ())),
            entry.get("no_fault", ""),
            tuple(entry.get("deliveries", ())),
        )
    groups = dict.fromkeys([*document.get("ladder", ()), *(one.group for one in found.values())])
    return found, tuple(groups)


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


def cases_in(document: Mapping[str, Any], clauses: Mapping[str, Clause], where: str) -> Iterator[Case]:
    """Yield the cases of a document that was checked against its schema; `where` is its file; raises `CaseError`."""
    for entry in document.get("cases", ()):
        common = _common(entry, clauses, where)
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
                steps=tuple(entry["steps"]),
                variables=variables,
                **common,
            )


def frames_in(document: Mapping[str, Any], clauses: Mapping[str, Clause], where: str) -> Iterator[Frame]:
    """Yield the frames of such a document."""
    for entry in document.get("frames", ()):
        common = _common(entry, clauses, where)
        body = {
            key: entry[key] for key in ("message", "hex", "reply_to", "error", "direction", "flags") if key in entry
        }
        for suffix, variables in _combinations(entry):
            title = _title(entry, variables, where)
            yield Frame(id=entry["id"] + suffix, title=title, body=body, variables=variables, **common)
