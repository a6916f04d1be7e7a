"""What a target declares beside its protocol: optional features it has, and its limits and timeouts.

`vectors/<protocol>/features.yaml` and `parameters.yaml` say which there are; a protocol may have neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wireproof.conformance.model.expressions import Number
from wireproof.conformance.suite.documents import read_document, vectors_root
from wireproof.protocols.json_values import JsonObject
from wireproof.reference_server.registry import options_of

DEFAULT_PARAMETERS: Mapping[str, Number] = {
    "TOLERANCE": 0.25,
    "MEMORY_SLACK": 4 << 20,
    "DESCRIPTOR_SLACK": 32,
    "IDLE_CPU": 0.25,
    "ANSWER_TIME": 1.0,
}
"""What a case may not fix for every target (docs/writing-cases.md): lateness of expiry allowed in seconds (T20), bytes
and descriptors that may stay taken, CPU of an idle server in seconds a second, seconds to an answer."""
UNSUPPORTED = "unsupported"


class FeatureError(ValueError):
    """Raised when a feature is declared that the protocol does not have; it names those there are."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A limit or timeout that each target has its own value of."""

    value: Number
    text: str
    option: str = ""
    """The option of the reference server that sets it."""
    undeclared: Number | str | None = None
    """What slow cases take of a target that declares none: a bound of the document, `UNSUPPORTED` where it has none."""
    answers_within: Number | None = None
    """So many times the value after its last request a silent client may be told of its silence, no sooner: no case
    waits as long for an answer, which that could be taken for."""
    ends_silent: bool = False
    """A target may end a connection that sends nothing for so many seconds."""


def answer_time(seconds: float, declared: Mapping[str, Parameter], values: Mapping[str, Number] | None) -> float:
    """Return how long an answer is waited for: `seconds`, and less where the target's own `values` ask for it."""
    known = values or {}
    bounds = (
        one.answers_within * known.get(name, one.value)
        for name, one in declared.items()
        if one.answers_within is not None
    )
    return min(seconds, *bounds, seconds)


def load_features(path: Path) -> dict[str, str]:
    """Return name -> one sentence of each optional feature; none where there is no such file."""
    return dict(read_document(path, "features.schema.json")) if path.is_file() else {}


def load_parameters(path: Path) -> dict[str, Parameter]:
    """Return name -> parameter; none where there is no such file."""
    document = read_document(path, "parameters.schema.json") if path.is_file() else {}
    return {name: Parameter(**entry) for name, entry in document.items()}


@cache
def parameters(protocol: str) -> Mapping[str, Number]:
    """Return name -> default of the protocol's own parameters."""
    found = load_parameters(vectors_root() / protocol / "parameters.yaml")
    return {name: one.value for name, one in found.items()}


@cache
def ending_silent(protocol: str) -> frozenset[str]:
    """Return the parameters that are seconds after which a target may end a connection that sends nothing."""
    found = load_parameters(vectors_root() / protocol / "parameters.yaml")
    return frozenset(name for name, one in found.items() if one.ends_silent)


@cache
def server_document(protocol: str) -> JsonObject:
    """Return how a server is set up that the cases fit, beside its parameters; nothing where there is no such file."""
    path = vectors_root() / protocol / "server.yaml"
    found: JsonObject = read_document(path, "server.schema.json") if path.is_file() else {}
    return found


@cache
def _files(protocol: str) -> Mapping[str, Path]:
    """Return option -> file of such a server, as `server.yaml` names it."""
    files = {one.name for one in options_of(protocol) if one.kind == "file"}
    options = server_document(protocol).get("options", {})
    return {name: Path(value) for name, value in options.items() if name in files}


def server_files(protocol: str) -> Mapping[Path, Path]:
    """Return the files that such a server is given, as `server.yaml` names them, and where each is."""
    return {relative: vectors_root() / protocol / relative for relative in _files(protocol).values()}


@cache
def server_options(protocol: str) -> JsonObject:
    """Return the options that such a server is given beside its parameters, files as paths."""
    paths = {name: str(vectors_root() / protocol / relative) for name, relative in _files(protocol).items()}
    return {**server_document(protocol).get("options", {}), **paths}


def reached(scheme: str, known: Mapping[str, str]) -> frozenset[str]:
    """Return the features that the address of a target declares by itself: its scheme, where cases ask for it."""
    return frozenset({scheme} & set(known))


def declared(named: Iterable[str], known: Mapping[str, str]) -> frozenset[str]:
    """Return the features in names with commas between; `FeatureError` for one that the protocol does not have."""
    found = frozenset(name.strip() for text in named for name in text.split(",") if name.strip())
    if unknown := sorted(found - set(known)):
        raise FeatureError(f"expected {', '.join(known) or 'none: this protocol has no features'}; got {unknown[0]!r}")
    return found


def usual_parameters(protocol: str) -> Mapping[str, Number]:
    """Return the parameters that hold unless the target has others, those of the protocol's own among them."""
    return {**DEFAULT_PARAMETERS, **parameters(protocol)}
