"""Values and messages of cases as types: what a field is given, symbolic until `Symbols` makes it concrete.

Each class is one form of the language (docs/writing-cases.md). People never write a class's name: a form is known by
its first field, so `{fill: 0x61, size: 255}` is a `Fill`. `case_reader.py` reads them from YAML, `written.py` writes
them back as people do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Scalar = bool | int | float | str | None
Node = Scalar | list["Node"] | dict[str, "Node"]
"""What a YAML or JSON document holds."""


class Typed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True, tag_field="node"):
    """Something that a case is made of; `node` names its class where it is kept."""


class Choice(Typed, frozen=True, tag=True):
    """What stands here depends on the profile or the variant; subclasses say what it may be."""

    by: Literal["profile", "variant"]


def options_of(choice: Choice) -> Mapping[str, object]:
    """Return profile or variant, or `else`, -> what stands there."""
    found: Mapping[str, object] = choice.options  # type: ignore[attr-defined]
    return found


class ValueChoice(Choice, frozen=True, tag=True):
    """A value for each profile or variant."""

    options: dict[str, Value]


class Hex(Typed, frozen=True):
    """Bytes in hexadecimal."""

    hex: str | int | ValueChoice


class Fill(Typed, frozen=True):
    """`size` bytes: `prefix`, then `fill` again and again; a number is one byte."""

    fill: Value
    size: Number
    prefix: Value = ""


class Join(Typed, frozen=True):
    """Bytes one after another."""

    join: tuple[Value, ...]


class HexOf(Typed, frozen=True):
    """The lower-case hexadecimal text of bytes."""

    hex_of: Value


class LittleEndian(Typed, frozen=True):
    """A number in `size` bytes, the lowest first."""

    uint: Number
    size: Number


class Encoded(Typed, frozen=True):
    """The bytes of a message."""

    message: SymbolicMessage


class Layer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message, and the field of it that holds what it is put around."""

    message: SymbolicMessage
    field: str


class Nest(Typed, frozen=True):
    """A message whose field holds the same message, and so on, `times` deep, `around` in the innermost."""

    nest: Layer
    times: Number
    around: Value


class Call(Typed, frozen=True):
    """What a function of the protocol makes of bytes, numbers and names of its enums."""

    call: str
    arguments: dict[str, Value]


class CountFrom(Typed, frozen=True):
    """Of an SDK's case, in place of the fields that are not named: n, n + 1, and so on."""

    start: Number = msgspec.field(name="from")


class Fields(Typed, frozen=True):
    """One row of a table."""

    fields: dict[str, Value]


class RowEach(Typed, frozen=True):
    """A row for each number from the first to the last."""

    each: Range
    of: Fields


class RowTimes(Typed, frozen=True):
    """The same row several times."""

    times: Number
    of: Fields


class SymbolicMessage(Typed, frozen=True):
    """A message by its name, every field given; `*` stands for the fields not named."""

    name: str
    fields: dict[str, Value]


class Raw(Typed, frozen=True):
    """Bytes sent as they are: a text is hexadecimal. With `as`, the reply to that request will come."""

    raw: Value
    stands_for: SymbolicMessage | None = msgspec.field(name="as", default=None)


class MessageEach(Typed, frozen=True):
    """A message for each number from the first to the last, under the variable's name."""

    each: Range
    of: SymbolicMessage | Raw | MessageChoice


class MessageTimes(Typed, frozen=True):
    """The same message several times."""

    times: Number
    of: SymbolicMessage | Raw | MessageChoice


class MessageChoice(Choice, frozen=True, tag=True):
    """What is sent under each profile or variant."""

    options: dict[str, MessageItem | tuple[MessageItem, ...]]


Number = Annotated[int | float | str | ValueChoice, Meta(description="A number, an enum's name or an expression.")]
Range = Annotated[dict[str, tuple[Number, Number]], Meta(min_length=1, max_length=1)]
"""Variable -> its first and its last number."""
Row = Fields | RowEach | RowTimes
Value = (
    bool | int | float | str | None | tuple[Row | Number, ...] | Hex | Fill | Join | HexOf | LittleEndian | Encoded
    | Nest | Call | CountFrom | SymbolicMessage | ValueChoice
)  # fmt: skip
MessageItem = SymbolicMessage | Raw | MessageEach | MessageTimes | MessageChoice
