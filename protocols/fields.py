"""The vocabulary of wire layouts: what a field of a message occupies on the wire.

A message class names its fields once, as `Annotated[type, kind]`, in wire order. One rule places the bytes:
fixed parts first, in order of declaration (a `Blob` puts its size there), then the bodies of the blobs in order.
A layout with a `Terminated` field is read in one pass instead: every field stands where it is declared.
A `Size` may be symbolic (`Size("value")`): the variant of the profile says how many bytes it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeGuard

if TYPE_CHECKING:
    from wireproof.protocols.messages import Message

STRUCT_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(frozen=True, slots=True)
class UInt:
    """An unsigned integer of 1, 2, 4 or 8 bytes, or as wide as the variant's size of that name."""

    size: int | str

    def resolve(self, sizes: Mapping[str, int]) -> UInt:
        """Return the kind with its size in bytes, looked up in `sizes` when symbolic."""
        return self if isinstance(self.size, int) else UInt(sizes[self.size])

    @property
    def width(self) -> int:
        """Size in bytes; `TypeError` while symbolic."""
        if not isinstance(self.size, int):
            raise TypeError(f"the size of {self.size!r} depends on the variant: resolve it first")
        return self.size

    @property
    def minimum(self) -> int:
        """The smallest value that fits."""
        return 0

    @property
    def maximum(self) -> int:
        """The largest value that fits."""
        return int((1 << (8 * self.width)) - 1)

    @property
    def code(self) -> str:
        """Its `struct` code."""
        return STRUCT_CODES[self.width]

    def taken(self, value: int) -> int:
        """Return how many bytes `value` takes."""
        return self.width


@dataclass(frozen=True, slots=True)
class Bits(UInt):
    """A number of less than a byte, in the bytes that the message begins with: `count` bits from bit `at` on.

    Bits are counted from the highest of the first byte; no number crosses a byte.
    """

    size: int | str = field(default=0, init=False)
    at: int
    count: int

    @property
    def maximum(self) -> int:
        """The largest value that fits."""
        return (1 << self.count) - 1

    @property
    def code(self) -> str:
        """None: its byte belongs to the lead."""
        return ""


@dataclass(frozen=True, slots=True)
class Signed(UInt):
    """A signed integer, in two's complement."""

    @property
    def minimum(self) -> int:
        """The smallest value that fits."""
        return -(1 << (8 * self.width - 1))

    @property
    def maximum(self) -> int:
        """The largest value that fits."""
        return int((1 << (8 * self.width - 1)) - 1)

    @property
    def code(self) -> str:
        """Its `struct` code."""
        return STRUCT_CODES[self.width].lower()


@dataclass(frozen=True, slots=True)
class Constant(UInt):
    """A number that names the message: the same in each of a profile; decoding gives 0, since the class says it."""

    value: int


@dataclass(frozen=True, slots=True)
class Shortest(UInt):
    """The size of a body, in one byte up to 252; 253, 254 and 255 announce 2, 4 and 8 bytes, which hold it instead.

    Every form is read, the shortest is written.
    """

    size: int | str = field(default=1, init=False)

    @property
    def maximum(self) -> int:
        """The largest value that fits."""
        return (1 << 64) - 1

    def taken(self, value: int) -> int:
        """Return how many bytes `value` takes."""
        return next(1 + width for width, least in ((8, 1 << 32), (4, 1 << 16), (2, 253), (0, 0)) if value >= least)


@dataclass(frozen=True, slots=True)
class Flag:
    """One byte that is 01 or 00 and nothing else."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Exactly `size` bytes of any value."""

    size: int


@dataclass(frozen=True, slots=True)
class Blob:
    """A run of bytes: its size among the fixed parts, its body after them."""

    size: UInt

    def resolve(self, sizes: Mapping[str, int]) -> Blob:
        """Return the kind with the width of its size field known."""
        return Blob(self.size.resolve(sizes))


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes up to a 00, in a body shared with the `Rest` after it: the size counts both and the 00 between them."""

    size: UInt

    def resolve(self, sizes: Mapping[str, int]) -> Split:
        """Return the kind with the width of its size field known."""
        return Split(self.size.resolve(sizes))


@dataclass(frozen=True, slots=True)
class Rest:
    """Everything to the end of the body that a `Split` before it began, or of the datagram."""


@dataclass(frozen=True, slots=True)
class Terminated:
    """Bytes without 00, and a 00 after them; or without `by`, and that after them."""

    by: bytes = b"\0"


@dataclass(frozen=True, slots=True)
class Rows:
    """A counted table: the count, the fixed parts of all rows, then the bodies of all rows."""

    row: type[Message]
    count: UInt


@dataclass(frozen=True, slots=True)
class Lines(Rows):
    """Rows as lines of text, `name:value` and CR LF; `count` holds their size in bytes.

    They are there where bit `flag` of the first bytes is set (see `Bits`). Lines of another form are skipped.
    """

    flag: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """A counted run of parts, each written whole (its fixed parts, then its table)."""

    part: type[Message]
    count: UInt


@dataclass(frozen=True, slots=True)
class Nested:
    """A whole message to the end, framed by the codec of the protocol (not by this layout)."""


@dataclass(frozen=True, slots=True)
class Json:
    """A member of a JSON object: text (as UTF-8), number, true or false, or an array of numbers; None where it is null.

    Members may come in any order and beside others. Where it is None, it is written as null, or left out.
    """

    form: Literal["text", "number", "flag", "numbers"]
    is_left_out: bool = False


@dataclass(frozen=True, slots=True)
class JsonRows:
    """The whole text is an array of JSON objects."""

    row: type[Message]


@dataclass(frozen=True, slots=True)
class Atom:
    """An atom of an s-expression: bytes, a whole number in decimal, or a time in microseconds since 1970 UTC."""

    form: Literal["text", "number", "time"]
    minimum: int = 0
    maximum: int = (1 << 64) - 1
    is_member: bool = False
    """It stands in a list after its name, `(id 3)`; such fields are read in any order."""


@dataclass(frozen=True, slots=True)
class Word:
    """A constructor of an s-expression: one of `words`, as its number. Their first letter is read in either case.

    The word of number `takes` stands in a list with the next field, `(From_message 42)`; after others that is 0.
    """

    words: tuple[str, ...]
    takes: int = -1

    @property
    def minimum(self) -> int:
        """The number of the first word."""
        return 0

    @property
    def maximum(self) -> int:
        """The number of the last word."""
        return len(self.words) - 1


@dataclass(frozen=True, slots=True)
class Absent:
    """Not on the wire in this profile: decoding gives 0, encoding skips it."""


Kind = (
    UInt
    | Flag
    | Raw
    | Blob
    | Split
    | Rest
    | Terminated
    | Rows
    | Repeated
    | Nested
    | Json
    | JsonRows
    | Atom
    | Word
    | Absent
)
BYTES = Raw | Blob | Split | Rest | Terminated
"""The kinds whose values are bytes."""


def is_number(kind: Kind) -> TypeGuard[UInt | Atom | Word]:
    """Say whether values of a kind are whole numbers."""
    return isinstance(kind, UInt | Word) or (isinstance(kind, Atom) and kind.form != "text")


def is_bytes(kind: Kind) -> bool:
    """Say whether values of a kind are bytes."""
    return isinstance(kind, BYTES) or (isinstance(kind, Atom) and kind.form == "text")


U8, U16, U32, U64 = UInt(1), UInt(2), UInt(4), UInt(8)
ABSENT = Absent()


def resolve(kind: Kind, sizes: Mapping[str, int]) -> Kind:
    """Return `kind` with every symbolic size replaced by the variant's."""
    return kind.resolve(sizes) if isinstance(kind, UInt | Blob | Split) else kind
