"""Steps that many cases begin with, written once (`sequences.yaml`): `perform` is replaced by them while cases load.

Nothing beyond loading knows of them; `sequence_documents.py` reads their files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from wireproof.conformance.suite.names import near
from wireproof.conformance.suite.values import Node

_NAME = re.compile(r"<([a-z_]+)>")
_HOLDING_STEPS = ("repeat", "measure")


class SequenceError(ValueError):
    """Raised where `perform` names what is not there, or gives it what it does not take."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """Steps with names in `<...>` that are filled in where they are performed."""

    defaults: Mapping[str, Node]
    """Name -> the value it has unless another is given; None: it must be given."""
    steps: tuple[Node, ...]


def names_in(text: str) -> list[str]:
    """Return the names in `<...>` of a text."""
    return list(dict.fromkeys(_NAME.findall(text)))


def expanded(
    steps: Iterable[Node],
    known: Mapping[str, Sequence],
    within: tuple[str, ...] = (),
    beside: Mapping[str, Node] = MappingProxyType({}),
) -> list[Node]:
    """Return the steps with each `perform` replaced by those it stands for; raises `SequenceError`.

    `beside` is what stands beside the `perform` that these are the steps of: one among them has it, too.
    """
    found: list[Node] = []
    for step in steps:
        if isinstance(step, dict) and "perform" in step:
            found += _performed({**beside, **step}, known, within)
        else:
            found.append(_inside(step, known, within))
    return found


def _inside(step: Node, known: Mapping[str, Sequence], within: tuple[str, ...]) -> Node:
    """Return a step with the steps inside it expanded."""
    for verb in _HOLDING_STEPS:
        held = step.get(verb) if isinstance(step, dict) else None
        if isinstance(step, dict) and isinstance(held, dict) and isinstance(held.get("steps"), list):
            step = {**step, verb: {**held, "steps": expanded(held["steps"], known, within)}}  # type: ignore[arg-type]
    return step


def _performed(step: Mapping[str, Node], known: Mapping[str, Sequence], within: tuple[str, ...]) -> list[Node]:
    name, given = _named(step["perform"])
    if name not in known:
        raise SequenceError(f"no such sequence: {name}{near(name, known)}; there is {', '.join(known) or 'none'}")
    if name in within:
        raise SequenceError(f"the sequence {name} performs itself")
    if strange := set(step) - {"perform", "given", "clause"}:
        raise SequenceError(f"perform: expected given and clause beside it, got {', '.join(sorted(strange))}")
    values = _values(name, known[name], given)
    body = [filled(one, values, name) for one in known[name].steps]
    beside = {key: value for key, value in step.items() if key != "perform"}
    steps = expanded(body, known, (*within, name), beside)
    return [{"given": True, **beside, **one} for one in steps if isinstance(one, dict)]


def _named(spec: Node) -> tuple[str, Mapping[str, Node]]:
    """Return the name of a sequence and what it is given."""
    if isinstance(spec, str):
        return spec, {}
    if isinstance(spec, dict) and len(spec) == 1:
        ((name, given),) = spec.items()
        if given is None or isinstance(given, dict):
            return name, given or {}
    raise SequenceError(f"perform: expected NAME or {{NAME: {{name: value}}}}, got {spec!r}")


def _values(name: str, sequence: Sequence, given: Mapping[str, Node]) -> Mapping[str, Node]:
    if unknown := set(given) - set(sequence.defaults):
        takes = ", ".join(sequence.defaults) or "nothing"
        raise SequenceError(f"{name}: takes {takes}; got {', '.join(sorted(unknown))}")
    values = {**sequence.defaults, **given}
    if lacking := [one for one, value in values.items() if value is None]:
        raise SequenceError(f"{name}: {', '.join(lacking)} must be given")
    return values


def filled(spec: Node, values: Mapping[str, Node], where: str) -> Node:
    """Return what was written with its names filled in; a text that is one name alone becomes the value itself.

    Raises `SequenceError` for a list or mapping inside a text.
    """
    if isinstance(spec, dict):
        return {str(filled(key, values, where)): filled(value, values, where) for key, value in spec.items()}
    if isinstance(spec, list):
        return [filled(one, values, where) for one in spec]
    if not isinstance(spec, str):
        return spec
    if alone := _NAME.fullmatch(spec):
        return values[alone[1]]

    def text(found: re.Match[str]) -> str:
        """Raises `SequenceError` for a value that is not a text."""
        value = values[found[1]]
        if isinstance(value, dict | list):
            raise SequenceError(f"{where}: <{found[1]}> inside {spec!r}: expected a text or a number, got {value!r}")
        return str(value)

    return _NAME.sub(text, spec)
