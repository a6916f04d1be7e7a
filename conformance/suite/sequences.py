"""Steps that many cases begin with, written once (`sequences.yaml`): `perform` is replaced by them while cases load.

Nothing beyond loading knows of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wireproof.conformance.suite.documents import CaseError, read_document

Step = Mapping[str, Any]
_NAME = re.compile(r"<([a-z_]+)>")
_HOLDING_STEPS = ("repeat", "measure")


@dataclass(frozen=True, slots=True)
class Sequence:
    """Steps with names in `<...>` that are filled in where they are performed."""

    defaults: Mapping[str, Any]
    """Name -> the value it has unless another is given; None: it must be given."""
    steps: tuple[Step, ...]


def load_sequences(path: Path) -> dict[str, Sequence]:
    """Return the sequences by name, none where there is no such file; `CaseError` says what is wrong with one."""
    if not path.is_file():
        return {}
    found = {}
    for name, entry in read_document(path, "sequences.schema.json").items():
        found[name] = Sequence(entry.get("with", {}), tuple(entry["steps"]))
        unknown = _names(entry["steps"]) - set(found[name].defaults)
        if unknown:
            raise CaseError(f"{path.name}: {name}: not among its `with`: {', '.join(sorted(unknown))}")
    return found


def _names(spec: Any) -> set[str]:
    if isinstance(spec, str):
        return set(_NAME.findall(spec))
    if isinstance(spec, Mapping):
        return {name for pair in spec.items() for one in pair for name in _names(one)}
    return {name for one in spec for name in _names(one)} if isinstance(spec, list) else set()


def expanded(
    steps: Iterable[Any], known: Mapping[str, Sequence], where: str, within: tuple[str, ...] = ()
) -> list[Any]:
    """Return the steps with each `perform` replaced by those it stands for; `CaseError`, which begins with `where`."""
    found: list[Any] = []
    for step in steps:
        if isinstance(step, Mapping) and "perform" in step:
            found += _performed(step, known, where, within)
        else:
            found.append(_inside(step, known, where, within))
    return found


def _inside(step: Any, known: Mapping[str, Sequence], where: str, within: tuple[str, ...]) -> Any:
    """Return a step with the steps inside it expanded."""
    for verb in _HOLDING_STEPS:
        if isinstance(step, Mapping) and isinstance(step.get(verb), Mapping) and "steps" in step[verb]:
            inner = expanded(step[verb]["steps"], known, where, within)
            step = {**step, verb: {**step[verb], "steps": inner}}
    return step


def _performed(step: Step, known: Mapping[str, Sequence], where: str, within: tuple[str, ...]) -> list[Any]:
    named = step["perform"]
    ((name, given),) = named.items() if isinstance(named, Mapping) else ((named, None),)
    if name not in known:
        raise CaseError(f"{where}: no such sequence: {name}; there is {', '.join(known) or 'none'}")
    if name in within:
        raise CaseError(f"{where}: the sequence {name} performs itself")
    if strange := set(step) - {"perform", "given", "clause"}:
        raise CaseError(f"{where}: perform: expected given and clause beside it, got {', '.join(sorted(strange))}")
    values = _values(known[name], given or {}, f"{where}: {name}")
    body = [_filled(one, values, f"{where}: {name}") for one in known[name].steps]
    beside = {"given": True, **{key: value for key, value in step.items() if key != "perform"}}
    return [{**beside, **one} for one in expanded(body, known, where, (*within, name))]


def _values(sequence: Sequence, given: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    if unknown := set(given) - set(sequence.defaults):
        raise CaseError(f"{where}: takes {', '.join(sequence.defaults) or 'nothing'}; got {', '.join(sorted(unknown))}")
    values = {**sequence.defaults, **given}
    if lacking := [name for name, value in values.items() if value is None]:
        raise CaseError(f"{where}: {', '.join(lacking)} must be given")
    return values


def _filled(spec: Any, values: Mapping[str, Any], where: str) -> Any:
    """Return what was written with its names filled in; a text that is one name alone becomes the value itself."""
    if isinstance(spec, Mapping):
        return {_filled(key, values, where): _filled(value, values, where) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_filled(one, values, where) for one in spec]
    if not isinstance(spec, str):
        return spec
    if alone := _NAME.fullmatch(spec):
        return values[alone[1]]

    def text(found: re.Match[str]) -> str:
        value = values[found[1]]
        if isinstance(value, Mapping | list):
            raise CaseError(f"{where}: <{found[1]}> inside {spec!r}: expected a text or a number, got {value!r}")
        return str(value)

    return _NAME.sub(text, spec)
