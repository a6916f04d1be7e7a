"""Draws a history for people: one line an operation, grouped by connection, from its sending to its answer.

      p1 ├───────┤       #3 UPDATE(attribute=quota, change=increase, value=5) -> ok
    > p2     ├───────┤   #5 QUERY -> QUERY_REPLY(quota=10, ttl_type=hours, ttl=60)

Columns are instants in their order, not a scale of time: what ends left of another's beginning came before it. `>`
marks what no order explains, the others are there for comparison.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from enum import IntEnum

from wireproof.conformance.model.wording import describe
from wireproof.conformance.player.concurrency.history import NEVER, Operation, by_connection
from wireproof.protocols import Message
from wireproof.reference_server.model import Model

WIDEST = 60
"""Columns between the first instant and the last, at most."""
SHOWN_STATES = 4
Names = Mapping[str, type[IntEnum]]
"""Field -> the enum whose names its numbers are shown by."""


class HistoryDescriber:
    """Tells of operations on one key in words; the key itself is not repeated."""

    def __init__(self, key: bytes, model: Model, names: Names) -> None:
        self._key, self.model, self._names = key, model, names
        text = key.decode("ascii", "replace")
        self.key = repr(text) if key and text.isprintable() and text.isascii() else describe(key)

    def state(self, state: Hashable) -> str:
        """Return a state in words."""
        return self.model.describe(state)

    def states(self, states: Sequence[Hashable]) -> str:
        """Return states any of which it may be."""
        shown = " or ".join(map(self.state, states[:SHOWN_STATES]))
        return shown + (f" or {len(states) - SHOWN_STATES} others" if len(states) > SHOWN_STATES else "")

    def operation(self, one: Operation) -> str:
        """Return an operation in words."""
        reply = "no answer" if one.reply is None else self.message(one.reply)
        return f"#{one.number} {self.message(one.request)} -> {reply}"

    def message(self, one: Message) -> str:
        """Return a message in words; one that only says yes or no as `ok` or `refused`."""
        fields = {name: getattr(one, name) for name in one.__struct_fields__}
        if list(fields) == ["ok"]:
            return "ok" if fields["ok"] else "refused"
        shown = [f"{name}={self._value(name, value)}" for name, value in fields.items() if value != self._key]
        return f"{one.NAME}({', '.join(shown)})" if shown else one.NAME

    def _value(self, name: str, value: object) -> str:
        known = self._names.get(name)
        if known is not None and isinstance(value, int) and value in known.__members__.values():
            return known(value).name.lower()
        return describe(value)


def draw(needed: Sequence[Operation], beside: Sequence[Operation], describer: HistoryDescriber) -> list[str]:
    """Return the lines of a drawing, connection by connection."""
    operations = sorted((*needed, *beside), key=lambda one: one.number)
    instants = sorted({at for one in operations for at in (one.invoked, one.returned) if at != NEVER})
    step = min(4.0, WIDEST / max(1, len(instants) - 1))
    columns = {at: round(place * step) for place, at in enumerate(instants)}
    width = max(columns.values(), default=0) + 2
    label = max((len(one.connection) for one in operations), default=0)
    marked = {one.number for one in needed}
    lines = []
    for connection, chain in sorted(by_connection(operations).items()):
        for one in chain:
            bar = _bar(columns[one.invoked], columns.get(one.returned), width)
            lines.append(
                f"{'>' if one.number in marked else ' '} {connection:<{label}} {bar}  {describer.operation(one)}"
            )
    return lines


def _bar(start: int, stop: int | None, width: int) -> str:
    """Return the line from one column to another; one that was not answered goes on to the right."""
    if stop is None:
        return " " * start + "├" + "─" * (width - start - 2) + "?"
    return (" " * start + "├" + "─" * max(0, stop - start - 1) + "┤").ljust(width)
