"""Turns what people write in cases into messages and values, for one protocol, profile, variant and case.

Texts: `$name` is a key of the case's own (no two cases share one), `@name` a saved value, `{i}` a variable inside a
text; numbers may be expressions over `N`, `MAX` and the variables, or enum names where the field has an enum.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from operator import is_
from typing import TypeVar

import msgspec

from wireproof.conformance.model.expressions import ExpressionError, Number, evaluate
from wireproof.conformance.suite.declared import usual_parameters
from wireproof.conformance.suite.values import (
    Call,
    Choice,
    CountFrom,
    Encoded,
    Fields,
    Fill,
    Hex,
    HexOf,
    Join,
    LittleEndian,
    Nest,
    Range,
    RowEach,
    RowTimes,
    Scalar,
    SymbolicMessage,
    Value,
    options_of,
)
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import LocalProtocolError, Message, Protocol
from wireproof.protocols.fields import (
    Absent,
    Atom,
    Blob,
    Constant,
    Flag,
    Json,
    JsonRows,
    Kind,
    Nested,
    Raw,
    Repeated,
    Rest,
    Rows,
    Split,
    Terminated,
    UInt,
    Word,
)
from wireproof.protocols.links import Link

LEAVES = frozenset({str, int, float, bool, bytes, type(None)})
"""Types of what holds no choice."""
DATA_FORMS = frozenset({"hex", "fill", "join", "hex_of", "uint", "message", "nest", "call"})
"""The keys of a mapping that describes bytes."""
ALIASES: Mapping[str, tuple[str, Mapping[str, Value]]] = {
    "ok": ("STATUS", {"ok": True}),
    "refused": ("STATUS", {"ok": False}),
}
"""Short names of messages."""
Saved = Scalar | bytes
"""What a name stands for."""
Given = Mapping[str, Value | bytes]
"""The fields of a message or row, as a step gives them."""
Chosen = TypeVar("Chosen", bound=msgspec.Struct | tuple[msgspec.Struct, ...])


class SymbolError(ValueError):
    """Raised when a step cannot be made concrete; it names the message, the field and what was expected."""


def _tag(case: str, play: str) -> str:
    """Return six characters that distinguish the keys of one play of a case from those of all others of a run."""
    digest = sha256(f"{case}{play}".encode())
    return urlsafe_b64encode(digest.digest())[:6].decode() if play else digest.hexdigest()[:6]


class Symbols:
    """The names one case may use, and what they mean here."""

    def __init__(
        self,
        protocol: Protocol,
        profile: str,
        variant: str,
        *,
        case: str,
        namespace: str,
        play: str = "",
        variables: Mapping[str, Scalar] | None = None,
        parameters: Mapping[str, Number] | None = None,
    ) -> None:
        """`parameters` are the target's where they are not the usual ones."""
        self.protocol = protocol
        self.case = case
        self.profile = profile
        self.variant = variant
        self.codec = protocol.codec(protocol.profiles[profile], variant)
        self.saved: dict[str, Saved] = {}
        self.seen: dict[str, set[Saved]] = {}
        self._fields: dict[type[Message], dict[str, Kind]] = {}
        self._prefix = f"{namespace}-{_tag(case, play)}-".encode()
        self.variables: dict[str, Saved] = {
            **usual_parameters(protocol.name),
            **(parameters or {}),
            **(variables or {}),
        }
        for name, size in protocol.profiles[profile].variants[variant].sizes.items():
            scope = {"value": ("N", "MAX")}.get(name, (f"{name}_size", f"{name}_max"))
            self.variables.update({scope[0]: size, scope[1]: (1 << (8 * size)) - 1})

    def link(self, name: str) -> Link:
        """Return the link of that name, for "" the usual one; `SymbolError` with the known names."""
        try:
            return self.protocol.link_of(name)
        except KeyError as error:
            raise SymbolError(str(error.args[0])) from None

    def here(self, spec: Chosen) -> Chosen:
        """Return steps, messages or patterns with every choice by profile or variant taken."""
        return self._here(spec)  # type: ignore[return-value]

    def _here(self, spec: object) -> object:
        kind = type(spec)
        if kind in LEAVES:
            return spec
        if kind is tuple:
            found = [(one, self._here(one)) for one in spec]  # type: ignore[attr-defined]
            if all(one is here for one, here in found):
                return spec
            return tuple(
                each
                for one, here in found
                for each in (here if isinstance(one, Choice) and isinstance(here, tuple) else (here,))
            )
        if kind is dict:
            taken = {name: self._here(one) for name, one in spec.items()}  # type: ignore[attr-defined]
            return spec if all(map(is_, taken.values(), spec.values())) else taken  # type: ignore[attr-defined]
        if isinstance(spec, Choice):
            return self._here(self._chosen(spec))
        if isinstance(spec, msgspec.Struct):
            fields = {name: getattr(spec, name) for name in spec.__struct_fields__}
            changed = {name: here for name, one in fields.items() if (here := self._here(one)) is not one}
            return msgspec.structs.replace(spec, **changed) if changed else spec
        return spec

    def _chosen(self, choice: Choice) -> object:
        options = options_of(choice)
        mine = self.profile if choice.by == "profile" else self.variant
        if mine not in options and "else" not in options:
            raise SymbolError(f"by_{choice.by}: nothing for {mine}; it has {', '.join(options)}")
        return options.get(mine, options.get("else"))

    def number(self, spec: Value, field: str = "") -> Number:
        """Return a number: as written, an enum's name, a saved value, or an expression.

        Raises `SymbolError` for anything else.
        """
        if isinstance(spec, bool) or not isinstance(spec, int | float | str):
            raise SymbolError(f"{field}: expected a number, a name or an expression, got {spec!r}")
        if not isinstance(spec, str):
            return spec
        names = self.protocol.names.get(field)
        value = self.variables.get(spec)
        text = value if isinstance(value, str) else spec
        if names is not None and text.upper() in names.__members__:
            return int(names[text.upper()])
        try:
            return evaluate(text.replace("@", ""), self._names())
        except ExpressionError as error:
            raise SymbolError(f"{field}: {error}") from None

    def _names(self) -> dict[str, Saved]:
        """Return what expressions may name; a variable that is an expression (`MAX - 1`) is its value."""
        names = {**self.variables, **self.saved}
        for name, value in self.variables.items():
            if isinstance(value, str):
                with suppress(ExpressionError):
                    names[name] = evaluate(value, names)
        return names

    def numbers(self, each: Range) -> Iterator[int]:
        """Yield the numbers of a range; the variable has each while it is used, and afterwards its old value again."""
        ((name, (first, last)),) = each.items()
        before = {name: self.variables[name]} if name in self.variables else {}
        for number in range(self.integer(first, name), self.integer(last, name) + 1):
            self.variables[name] = number
            yield number
        self.variables.pop(name, None)
        self.variables.update(before)

    def integer(self, spec: Value, field: str = "") -> int:
        """Return a whole number."""
        return int(self.number(spec, field))

    def data(self, spec: Value | bytes) -> bytes:
        """Return bytes: a text, `$key`, `@saved`, or one of the forms of bytes; else raises `SymbolError`."""
        match spec:
            case bytes():
                return spec
            case str() | int() if not isinstance(spec, bool):
                return self._text(str(spec))
        try:
            return self._composed(spec)
        except SymbolError:
            raise
        except (ValueError, OverflowError, TypeError) as error:
            raise SymbolError(f"{as_written(spec)!r} are no bytes: {error}") from None

    def _composed(self, spec: Value) -> bytes:
        match spec:
            case Hex(text):
                return bytes.fromhex(self.filled(str(text)))
            case Fill(byte, size, prefix):
                start, wanted = self.data(prefix), self.integer(size, "size")
                unit = bytes([self.integer(byte, "fill")]) if isinstance(byte, int | str) else self.data(byte)
                return (start + unit * (wanted - len(start)))[:wanted]
            case Join(parts):
                return b"".join(self.data(part) for part in parts)
            case HexOf(inner):
                return self.data(inner).hex().encode()
            case LittleEndian(number, size):
                return self.integer(number).to_bytes(self.integer(size), "little")
            case Encoded(message):
                return bytes(self.codec.encode(self.message(message)))
            case Nest(layer, times, inner):
                data, outer = self.data(inner), layer.message
                for _ in range(self.integer(times)):
                    fields: dict[str, Value | bytes] = {**outer.fields, layer.field: data}
                    data = self.codec.encode(self.build(self.message_class(outer.name), fields, outer.name))
                return data
            case Call(name, arguments):
                return self._called(name, arguments)
        raise SymbolError(f"expected bytes: a text or one of {', '.join(sorted(DATA_FORMS))}; got {as_written(spec)!r}")

    def _called(self, name: str, arguments: Mapping[str, Value]) -> bytes:
        """Return what a function of the protocol makes of its arguments: bytes, or numbers."""
        functions = self.protocol.functions
        if name not in functions:
            raise SymbolError(f"call: no function {name!r}; there is {', '.join(functions) or 'none'}")
        values = {
            key: self.integer(spec, key) if key in self.protocol.names or type(spec) is int else self.data(spec)
            for key, spec in arguments.items()
        }
        try:
            return functions[name](**values)
        except LocalProtocolError as error:
            raise SymbolError(f"call: {error}") from None

    def filled(self, text: str) -> str:
        """Return a text with its `{variables}` filled in; `SymbolError` for a name that is none."""
        try:
            return text.format_map(self.variables) if "{" in text else text
        except (LookupError, ValueError, AttributeError):
            raise SymbolError(f"{text!r}: expected variables in braces, of {', '.join(self.variables)}") from None

    def _text(self, text: str) -> bytes:
        text = self.filled(text)
        if text.startswith("@"):
            if text[1:] not in self.saved:
                raise SymbolError(f"nothing was saved as {text[1:]!r}")
            value = self.saved[text[1:]]
            return value if isinstance(value, bytes) else str(value).encode()
        return self._prefix + text[1:].encode() if text.startswith("$") else text.encode()

    def message_class(self, name: str) -> type[Message]:
        """Return the class of that name in this profile; `SymbolError` with the known names."""
        try:
            return self.protocol.message(self.profile, name)
        except KeyError as error:
            raise SymbolError(str(error.args[0])) from None

    def message(self, spec: SymbolicMessage) -> Message:
        """Return the message described, every field given (or `"*"` for the rest); raises `SymbolError`."""
        name, fields = ALIASES.get(spec.name, (self.filled(spec.name), spec.fields))
        return self.build(self.message_class(name), fields, name)

    def build(self, kind: type[Message], fields: Given, name: str) -> Message:
        """Return a message or row of class `kind`; raises `SymbolError` for a field that lacks or is none."""
        layout = self._fields.get(kind)
        if layout is None:
            layout = self._fields[kind] = dict(self.codec.layout(kind).fields)
        if not fields.keys() <= layout.keys():
            unknown = fields.keys() - layout.keys() - {"*"}
            if unknown:
                raise SymbolError(f"{name} has no field {', '.join(sorted(unknown))}; it has {', '.join(layout)}")
            fields = self._counted(fields, layout)
        is_rest_given, optional = "*" in fields, defaults(kind)
        values = {}
        for field, field_kind in layout.items():
            if field in fields or is_rest_given or isinstance(field_kind, Absent | Constant):
                spec = fields[field] if field in fields else fields.get("*")
                values[field] = self._field(field_kind, spec, f"{name}.{field}", field)
            elif field not in optional:
                raise SymbolError(f"{name}.{field} is missing")
        return kind(**values)

    def _counted(self, fields: Given, layout: Collection[str]) -> Given:
        """Return fields with a number for each that is not named, where `*` counts from one."""
        rest = fields.get("*")
        if not isinstance(rest, CountFrom):
            return fields
        first, left = self.integer(rest.start, "from"), [one for one in layout if one not in fields]
        return {**fields, **{name: first + number for number, name in enumerate(left)}}

    def _member(self, kind: Json, spec: Value | bytes, field: str) -> object:
        """Return the value of a member of a JSON object."""
        if spec is None or kind.form == "flag":
            return spec
        if kind.form == "text":
            return self.data(spec)
        if isinstance(spec, tuple):
            return tuple(self.integer(one, field) for one in spec)  # type: ignore[arg-type]
        return self.integer(_no_bytes(spec, field), field)

    def _rows(self, spec: Value | bytes, where: str) -> Iterator[Fields]:
        """Yield the rows of a table; those of an `each` while its variable has their number."""
        if not isinstance(spec, tuple):
            raise SymbolError(f"{where}: expected rows, each with its fields")
        for one in spec:
            match one:
                case RowEach(each, of):
                    yield from (of for _ in self.numbers(each))
                case RowTimes(times, of):
                    yield from [of] * self.integer(times, "times")
                case Fields():
                    yield one
                case _:
                    raise SymbolError(f"{where}: expected rows, each with its fields")

    def is_new(self, name: str, parts: Iterable[Saved]) -> bool:
        """Say whether no part came before under this name, nor comes twice; what is new is seen from now on."""
        seen, come = self.seen.setdefault(name, set()), list(parts)
        is_new = len(set(come)) == len(come) and seen.isdisjoint(come)
        seen.update(come)
        return is_new

    def _field(self, kind: Kind, spec: Value | bytes, where: str, field: str) -> object:
        match kind:
            case Absent() | Constant():
                return 0
            case Json():
                return self._member(kind, spec, field)
            case Flag():
                return spec
            case UInt() | Word() | Atom("number" | "time"):
                return self.integer(_no_bytes(spec, where), field)
            case Raw(size):
                return self.data(spec if spec != 0 else "").ljust(size, b"\0")
            case Blob() | Split() | Rest() | Terminated() | Atom():
                return self.data(spec)
            case Rows(row) | Repeated(row) | JsonRows(row):
                return tuple(self.build(row, one.fields, where) for one in self._rows(spec, where))
            case Nested():
                return self.message(_message(spec, where))
        raise SymbolError(f"{where}: no value can be given for it")


@cache
def defaults(kind: type[Message]) -> frozenset[str]:
    """Return the fields of a message that cases may leave out."""
    return frozenset(one.name for one in msgspec.structs.fields(kind) if not one.required)


def _no_bytes(spec: Value | bytes, where: str) -> Value:
    if isinstance(spec, bytes):
        raise SymbolError(f"{where}: expected a number, got bytes")
    return spec


def _message(spec: Value | bytes, where: str) -> SymbolicMessage:
    if isinstance(spec, str):
        return SymbolicMessage(spec, {})
    if not isinstance(spec, SymbolicMessage):
        raise SymbolError(f"{where}: expected one message as NAME or {{NAME: fields}}")
    return spec
