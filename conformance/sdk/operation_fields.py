"""What the fields of each operation are to a driver: bytes, numbers, words or flags, as the layouts alone show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wireproof.conformance.sdk.samples import Samples
from wireproof.protocols.fields import (
    Absent,
    Atom,
    Blob,
    Flag,
    Kind,
    Nested,
    Raw,
    Repeated,
    Rows,
    Split,
    UInt,
    Word,
    is_bytes,
)
from wireproof.protocols.messages import Message
from wireproof.protocols.plain import STATUS, Plain
from wireproof.protocols.registry import Protocol

__all__ = [
    "KINDS",
    "DriverField",
    "command_example",
    "command_fields",
    "event_fields",
    "fields_page",
    "fields_text",
    "number_names",
    "result_fields",
]

KINDS = {
    "bytes": '{"hex": "6b"}; {"text": "k"} will do in answers',
    "number": 'a string of digits: "60"',
    "word": 'a string, the name of a number; "9" where the number has none',
    "flag": "true or false",
    "reply": "the result of another operation",
}
"""Kind of field -> how it stands in a line."""

MANY = 1 << 31
"""A field that holds more bytes than this, or greater numbers, is as good as without a limit."""


class DriverField(NamedTuple):
    """One field as a driver reads or writes it."""

    name: str
    """As it stands in the line; `rows.key` is the field `key` of each row."""
    kind: str
    """`bytes`, `number`, `word`, `flag` or `reply`."""
    detail: str
    """What it may hold."""


def command_fields(plain: Plain, operation: str) -> list[DriverField]:
    """Return the fields of the command of an operation; raises `PlainError` for one that is not known."""
    return [one for part in plain.parts(operation) for one in _fields(plain, part, beside=True)]


def result_fields(plain: Plain, operation: str) -> list[DriverField]:
    """Return the fields of the results of an operation, that of a refusal last; raises as `command_fields`."""
    replies = plain.profile.replies[plain.operations[operation]]
    found: dict[str, DriverField] = {}
    for reply in sorted(replies, key=plain.is_flag):
        flag = [DriverField(STATUS, "flag", "true or false")]
        found |= {one.name: one for one in (flag if plain.is_flag(reply) else _fields(plain, reply))}
    return list(found.values())


def event_fields(plain: Plain) -> list[DriverField]:
    """Return the fields of the event `message`; none where the server pushes nothing."""
    names = ", ".join(push.NAME.lower() for push in plain.pushes)
    which = [DriverField("push", "word", names)] if len(plain.pushes) > 1 else []
    return which + list(dict.fromkeys(one for push in plain.pushes for one in _fields(plain, push, beside=True)))


def command_example(plain: Plain, operation: str) -> str:
    """Return a command of an operation as a line."""
    samples = Samples(plain)
    fields = {name: one for part in plain.parts(operation) for name, one in plain.beside(samples.of(part)).items()}
    return json.dumps({"id": 3, "do": operation, "connection": "a", **fields})


def number_names(plain: Plain) -> set[str]:
    """Return what `largest_numbers` of hello may name: numbers, sizes of bytes, and sizes in bytes of either."""
    messages = [*plain.profile.messages.values()]
    names: set[str] = set()
    while messages:
        for name, kind in plain.layout(messages.pop()).fields:
            match kind:
                case UInt():
                    names |= {name, str(kind.size)}
                case Blob() | Split():
                    names |= {f"{name}_size", str(kind.size.size)}
                case Rows(row, count):
                    names.add(str(count.size))
                    messages.append(row)
                case Repeated(part, _):
                    messages.append(part)
    return names


def fields_text(plain: Plain, operations: Sequence[str]) -> str:
    """Return the fields of operations as lines for a terminal; raises `PlainError` for one that is not known."""
    lines = [f"{plain.protocol.name}, profile {plain.profile.name}, variant {plain.variant.name}"]
    for operation in operations:
        rows = [("command", one) for one in command_fields(plain, operation)]
        rows += [("result", one) for one in result_fields(plain, operation)]
        lines += ["", operation, f"  {command_example(plain, operation)}"]
        lines += [f"  {where:<8} {one.name:<28} {one.kind:<7} {one.detail}" for where, one in rows]
    if events := event_fields(plain):
        lines += ["", "the event message"]
        lines += [f"  {'event':<8} {one.name:<28} {one.kind:<7} {one.detail}" for one in events]
    lines += ["", *(f"{kind:<7} {how}" for kind, how in KINDS.items())]
    return "\n".join(lines)


def fields_page(spoken: Protocol) -> str:
    """Return the page of what the fields of a protocol's operations are to a driver, as Markdown."""
    lines = [
        f"# Fields of {spoken.name} in a driver's lines",
        "",
        f"Rendered from `protocols/{spoken.name}/` by `wireproof docs`.",
        f"`wireproof driver fields {spoken.name}` shows the same with an example of each command, and the limits.",
        "",
        "| kind | in a line |",
        "|---|---|",
        *(f"| {kind} | {how} |" for kind, how in KINDS.items()),
    ]
    for profile in spoken.profiles.values():
        plain = Plain(spoken, profile.name, next(iter(profile.variants)))
        lines += ["", f"## Profile {profile.name}", "", "| operation | command | result |", "|---|---|---|"]
        for one in plain.operations:
            lines.append(f"| {one} | {_by_kind(command_fields(plain, one))} | {_by_kind(result_fields(plain, one))} |")
        if events := event_fields(plain):
            lines += ["", f"The event `message`: {_by_kind(events)}."]
    return "\n".join(lines) + "\n"


def _by_kind(fields: Sequence[DriverField]) -> str:
    """Return the names of fields, behind their kind."""
    kinds = {kind: [one.name for one in fields if one.kind == kind] for kind in KINDS}
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names) or "-"


def _fields(plain: Plain, message: type[Message], before: str = "", *, beside: bool = False) -> Iterator[DriverField]:
    for name, kind in plain.reported_fields(message):
        match kind:
            case Absent():
                continue
            case Repeated(part, _):
                yield from _fields(plain, part, before)
            case Rows(row, _):
                yield from _fields(plain, row, f"{before}{name}.")
            case _:
                shown = plain.name_beside(name) if beside else plain.name_within(name)
                yield DriverField(before + shown, *_kind(plain, message, name, kind))


def _kind(plain: Plain, message: type[Message], name: str, kind: Kind) -> tuple[str, str]:
    words = None if message in plain.protocol.sdk.unnamed_numbers else plain.protocol.names.get(name)
    match kind:
        case UInt() | Word() if words:
            return "word", ", ".join(f"{one.name.lower()} {one.value}" for one in words)
        case UInt() | Atom("number" | "time"):
            return "number", f"at most {kind.maximum}"
        case Flag():
            return "flag", "true or false"
        case Raw(size):
            return "bytes", f"{size} of them"
        case Blob(size) | Split(size):
            return "bytes", f"at most {size.maximum}" if size.maximum < MANY else "of any size"
        case Nested():
            return "reply", "the result of another operation"
    assert is_bytes(kind)
    return "bytes", "of any size"
