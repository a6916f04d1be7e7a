"""The operators of wire mutants: what each does to a field, and which kinds of field it fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from wireproof.protocols.fields import (
    ABSENT,
    STRUCT_CODES,
    Atom,
    Bits,
    Blob,
    Constant,
    Flag,
    Kind,
    Lines,
    Raw,
    Repeated,
    Rows,
    Signed,
    UInt,
)
from wireproof.protocols.messages import Message, declared_layout
from wireproof.protocols.profile import Profile, Variant

__all__ = ["OPERATORS", "Operator", "fitted"]

Fields = Sequence[tuple[str, Kind]]
MOVED = (UInt, Raw, Flag, Blob)
OTHER_SIZE = "another size"


@dataclass(frozen=True, kw_only=True)
class Operator:
    """One way to get a field wrong: another value, or another kind of field in the layout."""

    name: str
    description: str
    """What comes after "QUERY_REPLY.quota is written"."""
    fits: Callable[[Kind], bool]
    value: Callable[[Any, Kind], Any] | None = None
    """(value, its kind) -> another value."""
    kind: Callable[[Kind], Kind] | None = None
    """Resolved kind -> another kind."""
    moves: bool = False
    """It lies behind the next field."""
    fine: bool = False
    """Shows with some values only; of bytes, where their size is one byte."""
    amounts: bool = False
    """Fits only numbers whose size depends on the variant."""
    announces: bool = False
    """What is written before the bytes or rows says how many `value` would have; the bytes or rows stay."""

    @property
    def is_sampled(self) -> bool:
        """Whether a run tries it on some fields only, in turns with others."""
        return not (self.fine or self.announces)

    @property
    def swaps(self) -> bool:
        """Whether it exchanges the values of a field and the next one of its kind."""
        return self.value is None and not self.of_layout

    @property
    def of_layout(self) -> bool:
        """Whether it changes the layout, not the value."""
        return self.moves or self.kind is not None

    def applies(self, message: type[Message], fields: Fields, field: str) -> bool:
        """Say whether it can be applied to `field` of `message`, laid out as `fields`."""
        kind, declared = dict(fields)[field], declared_layout(message)[field]
        if self.amounts and not (isinstance(declared, UInt) and isinstance(declared.size, str)):
            return False
        if self.fine and isinstance(declared, Blob) and declared.size.size != 1:
            return False
        if self.moves:
            at = [name for name, _ in fields].index(field)
            return at + 1 < len(fields) and type(fields[at + 1][1]) in MOVED and type(kind) in MOVED
        return self.fits(kind) and (not self.swaps or _next(fields, field) is not None)

    def changed(self, message: Any, field: str, fields: Fields) -> Any:
        """Return `message`, laid out as `fields`, with another value in `field`."""
        value, other = getattr(message, field), _next(fields, field)
        if self.swaps and other is not None:
            return msgspec.structs.replace(message, **{field: getattr(message, other), other: value})
        assert self.value is not None
        return msgspec.structs.replace(message, **{field: self.value(value, dict(fields)[field])})

    def derived(self, profile: Profile, message: type[Message], field: str) -> Profile:
        """Return `profile` with another kind for `field` of `message`, under each variant that it applies to."""
        return _derived(self, profile, message, field)


@cache
def _derived(operator: Operator, profile: Profile, message: type[Message], field: str) -> Profile:
    if operator.moves:
        names = [name for name, _ in profile.layout(message, next(iter(profile.variants.values()))).fields]
        at = names.index(field)
        names[at : at + 2] = reversed(names[at : at + 2])
        return profile.derive(profile.name, orders={message: tuple(names)})
    assert operator.kind is not None
    kinds: dict[str, Any] = {}
    for name, variant in profile.variants.items():
        kind = dict(profile.layout(message, variant).fields)[field]
        kinds[name] = operator.kind(kind) if operator.fits(kind) else kind
    first = next(iter(kinds.values()))
    if all(one == first for one in kinds.values()):
        return profile.derive(profile.name, overrides={(message, field): first})
    symbol = UInt(OTHER_SIZE)
    sizes = {name: (kind if isinstance(kind, UInt) else kind.size).width for name, kind in kinds.items()}
    variants = {
        name: Variant(name, {**variant.sizes, OTHER_SIZE: sizes[name]}) for name, variant in profile.variants.items()
    }
    other = symbol if isinstance(first, UInt) else Blob(symbol)
    return profile.derive(profile.name, overrides={(message, field): other}, variants=variants)


def fitted(message: Any, fields: Fields) -> Any:
    """Return `message` with what its numbers and tables can hold when they are laid out as `fields`."""
    values: dict[str, Any] = {}
    for name, kind in fields:
        value = getattr(message, name)
        if isinstance(kind, UInt):
            values[name] = value & kind.maximum
        elif isinstance(kind, Raw):
            values[name] = value[: kind.size].ljust(kind.size, b"\0")
        elif isinstance(kind, Blob):
            values[name] = value[: kind.size.maximum]
    return msgspec.structs.replace(message, **values)


def _next(fields: Fields, field: str) -> str | None:
    """Return the next field of the same kind."""
    names = [name for name, kind in fields if kind == dict(fields)[field]]
    return names[names.index(field) + 1] if field != names[-1] else None


def _is_fixed(kind: Kind) -> bool:
    return isinstance(kind, UInt) and not isinstance(kind, Constant)


def _is_number(kind: Kind) -> bool:
    return _is_fixed(kind) or (isinstance(kind, Atom) and kind.form == "number")


def _is_text(kind: Kind) -> bool:
    return _is_blob(kind) or (isinstance(kind, Atom) and kind.form == "text")


def _is_wide(kind: Kind) -> bool:
    return _is_fixed(kind) and kind.width > 1  # type: ignore[union-attr]


def _is_bytes(kind: Kind) -> bool:
    return isinstance(kind, Blob | Raw)


def _is_blob(kind: Kind) -> bool:
    return isinstance(kind, Blob)


def _is_table(kind: Kind) -> bool:
    return isinstance(kind, Rows | Repeated)


def _resized(kind: Kind, step: int) -> Kind:
    """Return the kind with its number of the next or previous size, the same where there is none."""
    match kind:
        case Bits() | Constant() | Lines() | Signed():
            return kind
        case UInt():
            sizes = list(STRUCT_CODES)
            at = sizes.index(kind.width) + step
            return UInt(sizes[at]) if 0 <= at < len(sizes) else kind
        case Blob(size):
            return Blob(_resized(size, step))  # type: ignore[arg-type]
        case Rows(row, count):
            return Rows(row, _resized(count, step))  # type: ignore[arg-type]
        case Repeated(part, count):
            return Repeated(part, _resized(count, step))  # type: ignore[arg-type]
        case Raw(size):
            return Raw(size + step)
    return kind


def _can_be_resized(step: int) -> Callable[[Kind], bool]:
    return lambda kind: _resized(kind, step) != kind


def _swapped(value: int, kind: Any) -> int:
    signed = isinstance(kind, Signed)
    return int.from_bytes(value.to_bytes(kind.width, "little", signed=signed), "big", signed=signed)


def _longer(value: bytes, kind: Kind) -> bytes:
    return value + b"\0" if not isinstance(kind, Blob) or len(value) < kind.size.maximum else value


def _value(
    name: str,
    description: str,
    fits: Callable[[Kind], bool],
    value: Callable[[Any, Any], Any] | None,
    *,
    amounts: bool = False,
    fine: bool = False,
) -> Operator:
    return Operator(name=name, description=description, fits=fits, value=value, amounts=amounts, fine=fine or amounts)


def _announced(what: str, fits: Callable[[Kind], bool]) -> tuple[Operator, Operator]:
    """Return the operators that announce one more or one less of `what`, a size or a count, than follow."""
    more, less = (lambda value, kind: value + (value[-1:] or value[:1])), (lambda value, kind: value[:-1])
    return tuple(  # type: ignore[return-value]
        Operator(
            name=f"{what}-{name}",
            description=f"after a {what} that is {which}",
            fits=fits,
            value=value,
            announces=True,
        )
        for name, which, value in (("one-more", "one more", more), ("one-less", "one less", less))
    )


def _kind(name: str, description: str, fits: Callable[[Kind], bool], kind: Callable[[Kind], Kind]) -> Operator:
    return Operator(name=name, description=description, fits=fits, kind=kind)


def _to_zero_byte(value: int, kind: Any) -> int:
    return int.from_bytes(value.to_bytes(kind.width, "little").split(b"\0")[0], "little")


def _first(most: int) -> Callable[[Any, Any], Any]:
    return lambda value, kind: value[:most]


# fmt: off
OPERATORS = (
    _value("byte-order", "with its bytes in the opposite order", _is_wide, _swapped),
    _value("low-byte", "as its low byte only", _is_wide, lambda value, kind: value & 0xFF, amounts=True),
    _value("low-bits", "without its two lowest bits", _is_number, lambda value, kind: value & ~3, amounts=True),
    _value("bit-7", "without the top bit of its low byte", _is_number, lambda value, kind: value & ~0x80, amounts=True),
    _value("string", "up to its first zero byte", _is_wide, _to_zero_byte, amounts=True),
    _value("empty-string",
           "as zero where its low byte is zero", _is_wide, lambda value, kind: value if value & 0xFF else 0, amounts=True),
    _value("off-by-one", "as one more", _is_number, lambda value, kind: value + 1 & kind.maximum),
    _value("less-one", "as one less", _is_number, lambda value, kind: value - 1 & kind.maximum, amounts=True),
    _value("zero", "as zero", _is_number, lambda value, kind: 0),
    _value("swapped", "where the next field of its kind belongs, and that in its place", _is_number, None),
    _value("inverted", "as its opposite", lambda kind: isinstance(kind, Flag), lambda value, kind: not value),
    _value("cut", "without its last byte", _is_text, lambda value, kind: value[:-1]),
    _value("one-is-none",
           "as nothing where it is one byte", _is_blob, lambda value, kind: value if len(value) > 1 else b"", fine=True),
    _value("padded", "with a zero byte after it", _is_text, _longer),
    _value("size-of-7-bits",
           "with a size without its bit 7", _is_blob, lambda value, kind: value[: len(value) & ~0x80], fine=True),
    *(_value(f"first-{most}", f"cut at {most} bytes", _is_blob, _first(most), fine=True) for most in (62, 126, 127, 253, 254)),
    _value("reversed", "backwards", lambda kind: _is_bytes(kind) or _is_text(kind), lambda value, kind: value[::-1]),
    _value("zeros", "as zeros", _is_bytes, lambda value, kind: bytes(len(value))),
    _value("row-lost", "without its last part", _is_table, lambda value, kind: value[:-1]),
    _value("row-twice", "with its last part twice", _is_table, lambda value, kind: (*value, *value[-1:])),
    _value("rows-reversed", "with its last part first", _is_table, lambda value, kind: value[::-1]),
    *_announced("size", _is_blob),
    *_announced("count", _is_table),
    _kind("wider", "in a field, or after a size, one step wider", _can_be_resized(1), lambda kind: _resized(kind, 1)),
    _kind("narrower",
          "in a field, or after a size, one step narrower", _can_be_resized(-1), lambda kind: _resized(kind, -1)),
    Operator(name="moved", description="after the next field", fits=lambda kind: True, moves=True),
    _kind("left-out", "nowhere", _is_fixed, lambda kind: ABSENT),
)
# fmt: on
