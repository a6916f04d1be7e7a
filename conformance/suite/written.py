"""Typed steps, messages and patterns as people write them: for messages about them and for those who read JSON.

`as_written` undoes what `case_reader.py` did, short forms apart: `None` for a message's fields becomes its name alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from wireproof.conformance.suite.pattern_types import Matchers, MessagePattern, RowPattern
from wireproof.conformance.suite.sdk_steps import Connection, ScriptedMessage
from wireproof.conformance.suite.steps import Expect, ExpectPush, Observe, Send, Step
from wireproof.conformance.suite.values import Call, Choice, Fields, Node, SymbolicMessage, options_of


def as_written(spec: object) -> Node:
    """Return a step, a message, a pattern or a value as YAML would give it; raises `TypeError` for anything else."""
    match spec:
        case str() | bool() | int() | float() | None:
            return spec
        case tuple() | list():
            return [as_written(one) for one in spec]
        case dict():
            return _mapping(spec)
        case msgspec.Struct():
            return _form(spec)
    raise TypeError(f"expected something that a case is made of, got {type(spec).__name__}")


def _form(spec: msgspec.Struct) -> Node:
    """Return a struct; those that are more than their fields each in their own way."""
    match spec:
        case MessagePattern(name, fields, is_name) | ScriptedMessage(name, fields, is_name):
            return name if is_name else {name: _mapping(fields)}
        case SymbolicMessage(name, fields):
            return {name: _mapping(fields)} if fields else name
        case Fields(written) | RowPattern(written):
            return _mapping(written)
        case Matchers(matchers):
            return {name: one for each in matchers for name, one in _fields(each).items()}
        case Call(name, arguments):
            return {"call": name, **_mapping(arguments)}
        case Connection(_, _, fields):
            return {**{name: one for name, one in _fields(spec).items() if name != "fields"}, **_mapping(fields)}
        case Choice(by):
            return {f"by_{by}": as_written(options_of(spec))}
        case Step():
            return _step(spec)
    return _fields(spec)


def _mapping(found: Mapping[str, object]) -> dict[str, Node]:
    return {name: as_written(one) for name, one in found.items()}


def _fields(spec: msgspec.Struct) -> dict[str, Node]:
    """Return the fields that are not as they are where nothing is written."""
    found: dict[str, Node] = {}
    for name, written, default in _layout(type(spec)):
        value = getattr(spec, name)
        if value not in (default, {}):
            found[written] = as_written(value)
    return found


@cache
def _layout(kind: type[msgspec.Struct]) -> list[tuple[str, str, object]]:
    """Return name, written name and default of each field."""
    return [(one.name, one.encode_name, one.default) for one in msgspec.structs.fields(kind)]


def _step(step: Step) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for verb in step.verbs:
        match verb:
            case Send(items):
                found["send"] = _one_or_many(as_written(one) for one in items)
            case Expect(items):
                found["expect"] = _one_or_many(as_written(one) for one in items)
            case ExpectPush(items):
                found["push"] = _one_or_many(_push(as_written(one)) for one in items)
            case Observe(labels, silent, closed):
                ends: dict[str, object] = {"silent": silent, "closed": closed or None}
                found["observe"] = _mapping({**labels, **{name: one for name, one in ends.items() if one is not None}})
            case _:
                found.update(_fields(verb))
    beside: dict[str, Node] = {
        "on": step.on if step.on != "a" else None,
        "clause": step.clause,
        "within": as_written(step.within),
    }
    beside["given"] = step.given or None
    beside["when"] = step.when or None
    found.update({name: one for name, one in beside.items() if one is not None})
    for name in ("or_closed", "exact"):
        found.update({name: True} if getattr(step, name) else {})
    return found


def _one_or_many(items: Iterable[Node]) -> Node:
    found = list(items)
    return found[0] if len(found) == 1 else found


def _push(pattern: Node) -> Node:
    """Return the fields of a push's pattern, as the verb has them."""
    if isinstance(pattern, dict) and "push" in pattern:
        return pattern["push"]
    if isinstance(pattern, dict) and "of" in pattern:
        return {**pattern, "of": _push(pattern["of"])}
    return pattern
