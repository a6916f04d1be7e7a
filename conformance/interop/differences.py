"""Where a server's message is not what the reference says, as far as two right servers must agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wireproof.conformance.model.wording import describe, first_byte
from wireproof.protocols import Message
from wireproof.protocols.fields import Absent, Repeated, Rows
from wireproof.protocols.plain import Plain

__all__ = ["ReplyDifference", "unlike"]

SLACK_NS = 2_000_000_000
"""By how much the times left that two servers report may differ, besides one unit."""
LONGEST = 400
Rowed = Mapping[bytes, Mapping[str, Any]]
"""Name of a row -> its fields."""


@dataclass(frozen=True, slots=True)
class ReplyDifference:
    """The first difference."""

    reply: str
    """The name of the message that differs, which may be inside another one."""
    field: str
    """`rows.field` within a row; with its right value, where that is true or false; empty: it is another message."""
    byte: int
    expected: str
    got: str


class ChosenIds:
    """Which number of a server stands for which of the reference's, where each server chooses its own."""

    def __init__(self, plain: Plain) -> None:
        self._known = plain.protocol.chosen_ids
        self._pairs: set[tuple[str, int, int]] = set()

    def agree(self, message: str, field: str, mine: int, theirs: int) -> bool | None:
        """Say whether two numbers stand for each other, as all that came before them did; None: they are no ids."""
        what = self._known.get(f"{message}.{field}")
        if what is None:
            return None
        known = {one for one in self._pairs if one[0] == what and (one[1] == mine or one[2] == theirs)}
        if not known:
            self._pairs.add((what, mine, theirs))
        return known <= {(what, mine, theirs)}


@dataclass(frozen=True, slots=True)
class RemainingTime:
    """A time that shrinks while it is asked for."""

    nanoseconds: int
    unit: int

    def __str__(self) -> str:
        return f"{self.nanoseconds / 1e9:g} s"

    def agrees(self, other: RemainingTime) -> bool:
        """Say whether both may be the same instant."""
        return abs(self.nanoseconds - other.nanoseconds) <= SLACK_NS + max(self.unit, other.unit)


def unlike(
    plain: Plain, mine: Message, theirs: Message, mark: bytes, ids: ChosenIds | None = None
) -> ReplyDifference | None:
    """Return how `theirs` differs from the reference's; only rows count whose name has `mark` in it.

    `ids`: those that both servers chose before; None: there were none.
    """
    ids = ids or ChosenIds(plain)
    if type(mine) is not type(theirs):
        flags = [name for name in mine.__struct_fields__ if isinstance(getattr(mine, name), bool)]
        field = f"{flags[0]}={getattr(mine, flags[0])}" if flags else ""
        return ReplyDifference(mine.NAME, field, 0, describe(mine), describe(theirs))
    layout = plain.layout(type(mine))
    for name, kind in _compared(plain, mine):
        one, other = getattr(mine, name), getattr(theirs, name)
        if isinstance(one, Message):
            found = unlike(plain, one, other, mark, ids)
        elif isinstance(kind, Repeated):
            found = _in_rows(mine.NAME, _rowed(plain, one, mark), _rowed(plain, other, mark))
        elif isinstance(kind, Rows):
            found = _unless_same(mine.NAME, name, f"{len(one)} rows", f"{len(other)} rows")
        elif (is_same := ids.agree(mine.NAME, name, one, other)) is not None:
            found = None if is_same else _another_id(mine.NAME, name, other)
        else:
            found = _unless_same(mine.NAME, name, *(_value(plain, each, name) for each in (mine, theirs)))
        if found is not None:
            return ReplyDifference(
                found.reply, found.field, first_byte(layout, theirs, name), found.expected, found.got
            )
    return None


def _another_id(reply: str, name: str, other: int) -> ReplyDifference:
    return ReplyDifference(reply, name, 0, f"{name} as it came before", f"{name} = {other}")


def _compared(plain: Plain, message: Message) -> Iterator[tuple[str, Any]]:
    """Yield the fields that two right servers fill alike."""
    spoken = plain.protocol
    for name, kind in plain.layout(type(message)).fields:
        if not isinstance(kind, Absent) and (name not in spoken.masked or name in spoken.time_left):
            yield name, kind


def _value(plain: Plain, message: Message, name: str) -> Any:
    value = getattr(message, name)
    if name not in plain.protocol.time_left:
        return value
    unit, lengths = plain.protocol.time_left[name]
    length = lengths.get(getattr(message, unit), 1)
    return RemainingTime(value * length, length)


def _unless_same(reply: str, name: str, one: Any, other: Any) -> ReplyDifference | None:
    same = one.agrees(other) if isinstance(one, RemainingTime) and isinstance(other, RemainingTime) else one == other
    if same:
        return None
    field = f"{name}={one}" if isinstance(one, bool) else name
    return ReplyDifference(reply, field, 0, f"{name} = {_shown(one)}", f"{name} = {_shown(other)}")


def _in_rows(reply: str, mine: Rowed, theirs: Rowed) -> ReplyDifference | None:
    if mine.keys() != theirs.keys():
        detail = ["rows " + (", ".join(map(_shown, sorted(each))) or "none of these") for each in (mine, theirs)]
        return ReplyDifference(reply, "rows", 0, *detail)
    for name, fields in mine.items():
        for field, value in fields.items():
            other = theirs[name][field]
            if value != other:
                where = f"the row {_shown(name)}, {field} = "
                return ReplyDifference(reply, f"rows.{field}", 0, where + _shown(value), where + _shown(other))
    return None


def _rowed(plain: Plain, parts: Any, mark: bytes) -> Rowed:
    found = {}
    for row in [row for part in parts for row in _rows_of(plain, part)]:
        names = [getattr(row, one) for one in sorted(plain.protocol.named_by & set(row.__struct_fields__))]
        timeless = [one for one, _ in _compared(plain, row) if one not in plain.protocol.time_left]
        if any(mark in one for one in names):
            found[b"".join(names)] = {one: getattr(row, one) for one in timeless}
    return found


def _rows_of(plain: Plain, part: Message) -> Iterator[Message]:
    for name, kind in plain.layout(type(part)).fields:
        if isinstance(kind, Rows):
            yield from getattr(part, name)


def _shown(value: Any) -> str:
    text = describe(value) if isinstance(value, bytes) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
