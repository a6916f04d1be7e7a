"""Patterns of cases as types: what a reply must look like. `patterns.py` matches them.

As with values, a matcher is known by its first field: `{at_least: 3}` is an `AtLeast`. Several in one mapping are a
`Matchers`: all of them must hold.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from wireproof.conformance.suite.values import (
    Call,
    Choice,
    Encoded,
    Fill,
    Hex,
    HexOf,
    Join,
    LittleEndian,
    Nest,
    Number,
    Range,
    Row,
    Typed,
    Value,
)


class AtLeast(Typed, frozen=True):
    """No less than this."""

    at_least: Number


class AtMost(Typed, frozen=True):
    """No more than this."""

    at_most: Number


class Between(Typed, frozen=True):
    """From the first number to the second."""

    between: tuple[Number, Number]


class Save(Typed, frozen=True):
    """Anything; it is saved under this name."""

    save: str


class Unseen(Typed, frozen=True):
    """No value that was matched with this name before in the case."""

    unseen: str


class Unlike(Typed, frozen=True):
    """Bytes of which no `PIECE` in a row were matched with this name before in the case, nor occur twice in them."""

    unlike: str


class OneOf(Typed, frozen=True):
    """One of these values."""

    one_of: tuple[Value, ...]


class Other(Typed, frozen=True):
    """Not this."""

    other: FieldPattern = msgspec.field(name="not")


class StartsWith(Typed, frozen=True):
    """Bytes that begin so."""

    starts_with: Value


class Padded(Typed, frozen=True):
    """These bytes, then zero bytes to the end."""

    padded: Value


class ZeroPadded(Typed, frozen=True):
    """Nothing but zero bytes after the first one."""

    zero_padded: Literal[True]


class Utf8(Typed, frozen=True):
    """The bytes are UTF-8."""

    utf8: Literal[True]


class Size(Typed, frozen=True):
    """The number of bytes."""

    size: FieldPattern


class Is(Typed, frozen=True):
    """Exactly this, beside other matchers."""

    exact: Value = msgspec.field(name="is")


class ReadsAs(Typed, frozen=True):
    """Bytes that are a message of the protocol, such as a JSON body."""

    reads_as: MessagePattern


class Contains(Typed, frozen=True):
    """Rows that a table has, among others."""

    contains: tuple[RowPattern, ...]


class Excludes(Typed, frozen=True):
    """Rows that a table lacks."""

    excludes: tuple[RowPattern, ...]


class Exactly(Typed, frozen=True):
    """The rows of a table, and no others."""

    exactly: tuple[RowPattern, ...]


class Count(Typed, frozen=True):
    """The number of rows."""

    count: FieldPattern


class EachRow(Typed, frozen=True):
    """What every row of a table, or every number of a list, must be."""

    each: RowPattern | FieldPattern


class RowPattern(Typed, frozen=True):
    """A row by some of its fields; `times` rows must be so, the first at a `position` of the table."""

    written: dict[str, FieldPattern]
    """The fields, and `times` and `position` among them where they were written."""

    @property
    def fields(self) -> dict[str, FieldPattern]:
        """The fields of the row."""
        return {name: one for name, one in self.written.items() if name not in ("times", "position")}

    @property
    def position(self) -> FieldPattern:
        """What the place of the first such row must be, from 0; none: any."""
        return self.written.get("position")


class Matchers(Typed, frozen=True):
    """All of these must hold."""

    matchers: tuple[Matcher, ...]


class FieldChoice(Choice, frozen=True, tag=True):
    """What a field must be under each profile or variant."""

    options: dict[str, FieldPattern]


class MessagePattern(Typed, frozen=True):
    """A message by its name and some of its fields; also `any`, `ok`, `refused` and `push`."""

    name: str
    fields: dict[str, FieldPattern]
    is_name: bool = False
    """It was written as its name alone."""


class AnyOf(Typed, frozen=True):
    """One of several patterns."""

    any_of: tuple[Pattern, ...]


class PatternEach(Typed, frozen=True):
    """A message expected for each number from the first to the last, under the variable's name."""

    each: Range
    of: Pattern


class PatternTimes(Typed, frozen=True):
    """The same message expected several times."""

    times: Number
    of: Pattern


class PatternChoice(Choice, frozen=True, tag=True):
    """What is expected under each profile or variant."""

    options: dict[str, PatternItem | tuple[PatternItem, ...]]


ValueMatcher = (
    AtLeast
    | AtMost
    | Between
    | Save
    | Unseen
    | Unlike
    | OneOf
    | Other
    | StartsWith
    | Padded
    | ZeroPadded
    | Utf8
    | Size
    | Is
    | ReadsAs
)
TableMatcher = Contains | Excludes | Exactly | Count | EachRow
Matcher = ValueMatcher | TableMatcher
FieldPattern = (
    bool | int | float | str | None | tuple[Row | Number, ...] | Hex | Fill | Join | HexOf | LittleEndian | Encoded
    | Nest | Call | MessagePattern | AnyOf | Matchers | FieldChoice
)  # fmt: skip
Pattern = MessagePattern | AnyOf | PatternChoice
PatternItem = Pattern | PatternEach | PatternTimes
