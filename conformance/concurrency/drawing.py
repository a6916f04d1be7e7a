"""Draws a history for people: one line an operation, grouped by connection, from its sending to its answer.

    p1 ├──────┤     #3 UPDATE(attribute=quota, change=increase, value=5) -> ok
    p2    ├─────┤   #5 QUERY -> QUERY_REPLY(quota=10, ttl_type=seconds, ttl=60)

Columns are instants in their order, not a scale of time: what ends left of another's beginning came before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from conformance.concurrency.history import NEVER, Operation, by_connection
from conformance.wording import describe
from protocols import Message

WIDEST = 60
"""Columns between the first instant and the last, at most."""
Names = Mapping[str, type[IntEnum]]
"""Field -> the enum whose names its numbers are shown by."""


def draw(operations: Sequence[Operation], key: bytes, names: Names) -> list[str]:
    """Return the lines of a drawing."""
    instants = sorted({at for one in operations for at in (one.invoked, one.returned) if at != NEVER})
    step = min(4.0, WIDEST / max(1, len(instants) - 1))
    columns = {at: round(place * step) for place, at in enumerate(instants)}
    width = max(columns.values(), default=0) + 2
    labels = max((len(one.connection) for one in operations), default=0)
    lines = []
    for connection, chain in by_connection(operations).items():
        for one in chain:
            bar = _bar(columns[one.invoked], columns.get(one.returned), width)
            lines.append(f"{connection:<{labels}} {bar}  {told(one, key, names)}")
    return lines


def _bar(start: int, stop: int | None, width: int) -> str:
    if stop is None:
        return " " * start + "├" + "─" * (width - start - 2) + "?"
    return (" " * start + "├" + "─" * max(0, stop - start - 1) + "┤").ljust(width)


def told(one: Operation, key: bytes, names: Names) -> str:
    """Return an operation in words, without its key."""
    reply = "no answer" if one.reply is None else message(one.reply, key, names)
    return f"#{one.number} {message(one.request, key, names)} -> {reply}"


def message(one: Message, key: bytes, names: Names) -> str:
    """Return a message in words, without its key; one that only says yes or no as `ok` or `refused`."""
    fields = {name: getattr(one, name) for name in one.__struct_fields__}
    if list(fields) == ["ok"]:
        return "ok" if fields["ok"] else "refused"
    shown = [f"{name}={_value(name, value, names)}" for name, value in fields.items() if value != key]
    return f"{one.NAME}({', '.join(shown)})" if shown else one.NAME


def _value(name: str, value: object, names: Names) -> str:
    known = names.get(name)
    if known is not None and isinstance(value, int) and value in known.__members__.values():
        return known(value).name.lower()
    return describe(value)
