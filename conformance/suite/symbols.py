"""Turns what people write in cases into messages and values, for one protocol, profile, variant and case.

Texts: `$name` is a key of the case's own (no two cases share one), `@name` a saved value, `{i}` a variable inside a
text; numbers may be expressions over `N`, `MAX` and the variables, or enum names where the field has an enum.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any

from wireproof.conformance.model.expressions import ExpressionError, Number, evaluate
from wireproof.conformance.suite.declared import parameters as own_parameters
from wireproof.protocols import LocalProtocolError, Message, Protocol
from wireproof.protocols.fields import (
    Absent,
    Blob,
    Flag,
    Kind,
    Nested,
    Raw,
    Repeated,
    Rest,
    Rows,
    Split,
    Terminated,
    UInt,
)
from wireproof.protocols.links import Link

DEFAULT_PARAMETERS: Mapping[str, Number] = {
    "TOLERANCE": 0.25,
    "MEMORY_SLACK": 4 << 20,
    "DESCRIPTOR_SLACK": 32,
    "IDLE_CPU": 0.25,
    "ANSWER_TIME": 1.0,
}
"""What a case may not fix for every target (docs/writing-cases.md): lateness of expiry allowed in seconds (T20), bytes
and descriptors that may stay taken, CPU of an idle server in seconds a second, seconds to an answer."""
DATA_FORMS = frozenset({"hex", "fill", "join", "hex_of", "uint", "message", "nest", "call"})
"""The keys of a mapping that describes bytes."""


def usual_parameters(protocol: str) -> Mapping[str, Number]:
    """Return the parameters that hold unless the target has others, those of the protocol's own among them."""
    return {**DEFAULT_PARAMETERS, **own_parameters(protocol)}


class SymbolError(ValueError):
    """Raised when a step cannot be made concrete; it names the message, the field and what was expected."""


def _tag(case: str, play: str) -> str:
    """Return six characters that tell the keys of one play of a case from those of all others of a run."""
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
        variables: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Number] | None = None,
    ) -> None:
        """`parameters` are the target's where they are not the usual ones."""
        self.protocol = protocol
        self.profile = profile
        self.variant = variant
        self.codec = protocol.codec(protocol.profiles[profile], variant)
        self.saved: dict[str, Any] = {}
        self._fields: dict[type[Message], dict[str, Kind]] = {}
        self._prefix = f"{namespace}-{_tag(case, play)}-".encode()
        self.variables: dict[str, Any] = {**usual_parameters(protocol.name), **(parameters or {}), **(variables or {})}
        for name, size in protocol.profiles[profile].variants[variant].sizes.items():
            scope = {"value": ("N", "MAX")}.get(name, (f"{name}_size", f"{name}_max"))
            self.variables.update({scope[0]: size, scope[1]: (1 << (8 * size)) - 1})

    def link(self, name: str) -> Link:
        """Return the link of that name, for "" the usual one; `SymbolError` with the known names."""
        try:
            return self.protocol.link_of(name)
        except KeyError as error:
            raise SymbolError(str(error.args[0])) from None

    def here(self, spec: Any) -> Any:
        """Return `spec` with every `by_profile` and `by_variant` choice taken."""
        if isinstance(spec, dict):
            for choice, mine in (("by_profile", self.profile), ("by_variant", self.variant)):
                if choice in spec:
                    options = {str(name): value for name, value in spec[choice].items()}
                    if mine not in options and "else" not in options:
                        raise SymbolError(f"{choice}: nothing for {mine}; it has {', '.join(options)}")
                    return self.here(options.get(mine, options.get("else")))
            return {key: self.here(value) for key, value in spec.items()}
        return [self.here(one) for one in spec] if isinstance(spec, list) else spec

    def number(self, spec: Any, field: str = "") -> Number:
        """Return a number: as written, an enum's name, a saved value, or an expression."""
        if isinstance(spec, bool) or not isinstance(spec, int | float | str):
            raise SymbolError(f"{field}: expected a number, a name or an expression, got {spec!r}")
        if not isinstance(spec, str):
            return spec
        names = self.protocol.names.get(field)
        text = self.variables.get(spec, spec) if isinstance(self.variables.get(spec), str) else spec
        if names is not None and text.upper() in names.__members__:
            return int(names[text.upper()])
        try:
            return evaluate(text.replace("@", ""), self._names())
        except ExpressionError as error:
            raise SymbolError(f"{field}: {error}") from None

    def _names(self) -> dict[str, Any]:
        """Return what expressions may name; a variable that is an expression (`MAX - 1`) is its value."""
        names = {**self.variables, **self.saved}
        for name, value in self.variables.items():
            if isinstance(value, str):
                with suppress(ExpressionError):
                    names[name] = evaluate(value, names)
        return names

    def integer(self, spec: Any, field: str = "") -> int:
        """Return a whole number."""
        return int(self.number(spec, field))

    def data(self, spec: Any) -> bytes:
        """Return bytes: a text, `$key`, `@saved`, or one of `DATA_FORMS`."""
        if isinstance(spec, bytes):
            return spec
        if isinstance(spec, str | int) and not isinstance(spec, bool):
            return self._text(str(spec))
        if not isinstance(spec, dict):
            raise SymbolError(f"expected a text or one of {', '.join(sorted(DATA_FORMS))}; got {spec!r}")
        try:
            return self._composed(spec)
        except SymbolError:
            raise
        except (ValueError, OverflowError, TypeError) as error:
            raise SymbolError(f"{spec!r} are no bytes: {error}") from None

    def _composed(self, spec: Mapping[str, Any]) -> bytes:
        match spec:
            case {"hex": text}:
                return bytes.fromhex(self.filled(str(text)))
            case {"fill": byte, "size": size}:
                start = self.data(spec.get("prefix", ""))
                wanted = self.integer(size, "size")
                unit = self.data(byte) if isinstance(byte, dict) else bytes([self.integer(byte, "fill")])
                return (start + unit * (wanted - len(start)))[:wanted]
            case {"join": parts}:
                return b"".join(self.data(part) for part in parts)
            case {"hex_of": inner}:
                return self.data(inner).hex().encode()
            case {"uint": number, "size": size}:
                return self.integer(number).to_bytes(self.integer(size), "little")
            case {"message": inner}:
                return bytes(self.codec.encode(self.message(inner)))
            case {"nest": {"message": outer, "field": field}, "times": times, "around": inner}:
                data = self.data(inner)
                for _ in range(self.integer(times)):
                    name, fields = self.named(outer)
                    data = self.codec.encode(self.message({name: {**fields, field: data}}))
                return data
            case {"call": name, **arguments}:
                return self._called(str(name), arguments)
        told = "hex, fill+size, join, hex_of, uint+size, message, nest+times+around, call"
        raise SymbolError(f"expected one of {told}; got {sorted(spec)}")

    def _called(self, name: str, arguments: Mapping[str, Any]) -> bytes:
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

    def named(self, spec: Any) -> tuple[str, Mapping[str, Any]]:
        """Split `{NAME: fields}` or `NAME` into name and fields."""
        if isinstance(spec, str):
            return spec, {}
        if isinstance(spec, dict) and len(spec) == 1:
            ((name, fields),) = spec.items()
            if fields is None or isinstance(fields, dict):
                return str(name), fields or {}
        raise SymbolError(f"expected one message as NAME or {{NAME: fields}}, got {spec!r}")

    def message_class(self, name: str) -> type[Message]:
        """Return the class of that name in this profile; `SymbolError` with the known names."""
        try:
            return self.protocol.message(self.profile, name)
        except KeyError as error:
            raise SymbolError(str(error.args[0])) from None

    def message(self, spec: Any) -> Message:
        """Return the message that `{NAME: {field: value}}` describes, every field given (or `"*"` for the rest)."""
        name, fields = self.named(spec)
        aliases = {"ok": ("STATUS", {"ok": True}), "refused": ("STATUS", {"ok": False})}
        name, fields = aliases.get(name, (name, fields))
        return self.build(self.message_class(name), fields, name)

    def build(self, kind: type[Message], fields: Mapping[str, Any], name: str) -> Message:
        """Return a message or row of class `kind`."""
        layout = self._fields.get(kind)
        if layout is None:
            layout = self._fields[kind] = dict(self.codec.layout(kind).fields)
        unknown = set(fields) - set(layout) - {"*"}
        if unknown:
            raise SymbolError(f"{name} has no field {', '.join(sorted(unknown))}; it has {', '.join(layout)}")
        values = {}
        for field, field_kind in layout.items():
            if field not in fields and "*" not in fields and not isinstance(field_kind, Absent):
                raise SymbolError(f"{name}.{field} is missing")
            values[field] = self._field(field_kind, fields.get(field, fields.get("*")), f"{name}.{field}", field)
        return kind(**values)

    def _field(self, kind: Kind, spec: Any, where: str, field: str) -> Any:
        match kind:
            case Absent():
                return 0
            case Flag():
                return spec
            case UInt():
                return self.integer(spec, field)
            case Raw(size):
                return self.data(spec if spec != 0 else "").ljust(size, b"\0")
            case Blob() | Split() | Rest() | Terminated():
                return self.data(spec)
            case Rows(row) | Repeated(row):
                return tuple(self.build(row, one, where) for one in spec)
            case Nested():
                return self.message(spec)
