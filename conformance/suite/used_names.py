"""Finds names that the steps of a case use and that nothing gives: saved values, variables, enums, functions, marks.

A case is walked in the order in which it is played. What stands in a field is a number or bytes by the field's kind in
the profiles of the case; where these differ, or where a variable names the message, it is not checked.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from fnmatch import fnmatchcase
from functools import cache
from string import Formatter
from typing import Annotated, NamedTuple, get_args, get_origin

import msgspec

from wireproof.conformance.suite.blamed_fields import blamable
from wireproof.conformance.suite.case_reader import Kind as Hint
from wireproof.conformance.suite.case_reader import Path, keys_of, members
from wireproof.conformance.suite.declared import usual_parameters
from wireproof.conformance.suite.names import near, shown_names
from wireproof.conformance.suite.pattern_types import (
    Count,
    Matchers,
    MessagePattern,
    Padded,
    RowPattern,
    Save,
    Size,
    StartsWith,
    Unlike,
    Unseen,
)
from wireproof.conformance.suite.sdk_steps import AskStep, Connection, Cut, ReceiveStep, ScriptedBytes, ScriptedMessage
from wireproof.conformance.suite.steps import RESOURCES, Concurrent, Connect, Instant, Mark, Measured, Observe, Step
from wireproof.conformance.suite.values import (
    Call,
    Choice,
    Encoded,
    Fields,
    Fill,
    Hex,
    HexOf,
    Join,
    Nest,
    Number,
    Range,
    Raw,
    Scalar,
    SymbolicMessage,
    options_of,
)
from wireproof.protocols import Protocol
from wireproof.protocols.fields import Kind, Repeated, Rows, is_bytes, is_number
from wireproof.protocols.messages import declared_layout

Layouts = Sequence[Mapping[str, Kind]]
WORDS_OF_TABLES = ("any", "contiguous", "from_one")
WORDS_OF_CUTS = ("whole", "bytes", "fields", "apart", "halves")
DRAWN = ("key", "by", "n")
"""Variables of every request of a `concurrent` step."""
UNWRITTEN = ((Step, "verbs"), (Matchers, "matchers"), (Observe, "labels"))
"""Fields that are not in what people write: what they hold stands in the mapping itself."""
DATA = (Join, HexOf, StartsWith, Padded, Nest, Encoded)
"""Forms in which a text is bytes, whatever the field."""


class Sort(Enum):
    """What a text stands for."""

    NUMBER = auto()
    DATA = auto()
    HEX = auto()
    OPEN = auto()
    """One or the other: only what both know is looked at."""


class _Spot(NamedTuple):
    """Where a value stands."""

    path: Path
    sort: Sort = Sort.OPEN
    field: str = ""
    rows: Layouts = ()
    """The fields of the rows that stand here."""

    def at(self, *steps: str | int) -> _Spot:
        """Return a place further in."""
        return _Spot((*self.path, *steps), self.sort, self.field, self.rows)

    def of(self, sort: Sort) -> _Spot:
        """Return the place with another sort."""
        return self if sort is self.sort else _Spot(self.path, sort, self.field, self.rows)


@dataclass
class UsedNames:
    """What one case may use so far; `wrong` takes the place and the text of each name that nothing gives."""

    protocol: Protocol
    profiles: Sequence[str]
    foreach: Mapping[str, Sequence[Scalar]]
    wrong: Callable[[Path, str], object]
    variables: set[str] = field(default_factory=set)
    saved: set[str] = field(default_factory=set)
    marks: set[str] = field(default_factory=set)
    _seen: set[tuple[Path, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.variables |= {*usual_parameters(self.protocol.name), *self.foreach, "N", "MAX"}
        for profile in self.protocol.profiles.values():
            for variant in profile.variants.values():
                sized = (name for name in variant.sizes if name != "value")
                self.variables.update(f"{name}_{what}" for name in sized for what in ("size", "max"))

    def look(self, spec: object, hint: Hint, path: Path) -> None:
        """Look at something that stands at a path, of the type that `hint` names."""
        self._look(spec, hint, _Spot(path))

    def _look(self, spec: object, hint: Hint, spot: _Spot) -> None:
        match spec:
            case str():
                self._text(spec, hint, spot)
            case msgspec.Struct():
                self._struct(spec, spot, hint)
            case tuple():
                inner = _inner(hint, tuple)
                for number, one in enumerate(spec):
                    self._look(one, inner[min(number, len(inner) - 1)], spot.at(number))
            case dict():
                inner = _inner(hint, dict)
                for name, one in spec.items():
                    self._look(one, inner[-1], spot.at(str(name)))

    def _struct(self, spec: msgspec.Struct, spot: _Spot, hint: Hint) -> None:
        match spec:
            case SymbolicMessage(name, fields) | ScriptedMessage(name, fields) | MessagePattern(name, fields):
                self._filled(name, spot)
                self._fields(fields, self._layouts(name), keys_of(type(spec))["fields"][1], spot.at(name))
            case Fields(fields) | RowPattern(fields):
                self._fields(fields, spot.rows, _fields_hint(spec), spot)
            case Choice():
                self._choice(spec, spot, hint)
            case Save(name):
                self._filled(name, spot)
                self.saved.add(_wild(name))
            case Unseen() | Unlike():
                pass
            case Call(name, arguments):
                self._call(name, arguments, spot)
            case Connection(_, _, fields):
                self._connect(fields, keys_of(Connection)["fields"][1], spot)
            case Mark(name):
                self.marks.add(name)
            case _:
                self._parts(spec, spot)

    def _given(self, spec: msgspec.Struct, spot: _Spot) -> None:
        """Note the names that a struct gives to what stands in it; look at those that are no values."""
        if isinstance(spec, Concurrent):
            self.variables.update(spec.concurrent.draw, DRAWN)
        if isinstance(spec, Measured):
            self.variables.add("round")
        if isinstance(spec, Instant) and spec.mark not in self.marks:
            self._unknown(spot.at("mark"), "mark", spec.mark, self.marks)
        if isinstance(spec, AskStep | ReceiveStep):
            self.saved.update(name for names in spec.save.values() for name in names)
        if isinstance(spec, Step) and spec.blame and (known := blamable(spec, self._layouts)) is not None:
            for name in spec.blame.keys() - known:
                self._unknown(spot.at("blame", name), "field of what is expected", name, sorted(known))
        if isinstance(spec, Step | Connect):
            self.saved.add(f"{_wild(_connection(spec))}_port")

    def _parts(self, spec: msgspec.Struct, spot: _Spot) -> None:
        """Look at the fields of a struct in their order; those that name a variable come before those that use it."""
        self._given(spec, spot)
        for key, name, hint in _ordered(type(spec)):
            value = getattr(spec, name)
            if not value or isinstance(value, int | float):
                continue
            place = spot.at(key)
            if (type(spec), name) in UNWRITTEN:
                for step, one in value.items() if isinstance(value, dict) else ((None, one) for one in value):
                    self._look(
                        one,
                        _inner(hint, dict if isinstance(value, dict) else tuple)[-1],
                        spot if step is None else spot.at(step),
                    )
                continue
            if hint == Range and isinstance(value, dict):
                self._look(value, hint, place)
                self.variables.update(value)
            else:
                self._look(value, hint, place.of(_sort_in(spec, name, spot.sort)))
        if isinstance(spec, Measured) and spec.save is not None:
            self.saved.update(f"{spec.save}_{one}" for one in RESOURCES)

    def _fields(self, fields: Mapping[str, object], layouts: Layouts, hint: Hint, spot: _Spot) -> None:
        inner = _inner(hint, dict)[-1]
        for name, one in fields.items():
            kinds = [layout[name] for layout in layouts if name in layout]
            rows = _rows_of(kinds) if kinds else [row for layout in layouts for row in _rows_of(_of_parts(layout))]
            self._look(one, inner, _Spot((*spot.path, name), _sort(kinds), name, rows))

    def _choice(self, spec: Choice, spot: _Spot, hint: Hint) -> None:
        """Look at the options, each under the profile that it is for."""
        profiles = self.profiles
        for name, one in options_of(spec).items():
            self.profiles = (name,) if spec.by == "profile" and name in self.protocol.profiles else profiles
            inner = hint if isinstance(one, str) else _inner(keys_of(type(spec))["options"][1], dict)[-1]
            self._look(one, inner, spot.at(f"by_{spec.by}", name))
        self.profiles = profiles

    def _call(self, name: str, arguments: Mapping[str, object], spot: _Spot) -> None:
        if name not in self.protocol.functions:
            self._unknown(spot.at("call"), "function", name, self.protocol.functions)
        inner = _inner(keys_of(Call)["arguments"][1], dict)[-1]
        for key, one in arguments.items():
            sort = Sort.NUMBER if key in self.protocol.names else Sort.DATA
            self._look(one, inner, _Spot((*spot.path, key), sort, key))

    def _connect(self, fields: Mapping[str, object], hint: Hint, spot: _Spot) -> None:
        sorts = {"seconds": Sort.NUMBER, "bytes": Sort.DATA}
        for name, one in fields.items():
            kind = self.protocol.sdk.connect_fields.get(name)
            if isinstance(kind, str) and kind in sorts:
                self._look(one, _inner(hint, dict)[-1], spot.at(name).of(sorts[kind]))

    def _text(self, text: str, hint: Hint, spot: _Spot) -> None:
        if hint == Cut:
            self._cut(text, spot)
        elif _is_number(hint) or (_is_value(hint) and spot.sort is Sort.NUMBER):
            if not (_is_value(hint) and text in WORDS_OF_TABLES):
                self._number(text, spot)
        elif _is_value(hint) or spot.sort is Sort.HEX:
            self._filled(text, spot)
            if text.startswith("@") and spot.sort is not Sort.HEX:
                self._saved(text[1:], spot)

    def _cut(self, text: str, spot: _Spot) -> None:
        for one in self.foreach.get(text, (text,)):
            if isinstance(one, str) and one not in WORDS_OF_CUTS:
                self._unknown(spot, "cut", one, (*WORDS_OF_CUTS, *self.foreach))

    def _number(self, text: str, spot: _Spot) -> None:
        """Look at a number; where it is a variable of `foreach`, at each of its values."""
        enum = self.protocol.names.get(spot.field)
        words = [name.lower() for name in enum.__members__] if enum else []
        for one in self.foreach.get(text, (text,)):
            if not isinstance(one, str) or one.lower() in words:
                continue
            try:
                found = ast.parse(one.replace("@", "").strip(), mode="eval")
            except (SyntaxError, ValueError, RecursionError):
                self._wrong(spot, f"expected {_expected(words)}, got {one!r}")
                continue
            for node in ast.walk(found):
                if (
                    isinstance(node, ast.Name)
                    and node.id not in {*self.variables, "min", "max"}
                    and not self._is_saved(node.id)
                ):
                    self._unknown(spot, "name", node.id, (*words, *sorted({*self.variables, *self.saved})))

    def _filled(self, text: str, spot: _Spot) -> None:
        """Look at the variables in the braces of a text."""
        try:
            names = [name for _, name, _, _ in Formatter().parse(text) if name is not None] if "{" in text else []
        except ValueError:
            self._wrong(spot, f"expected variables in braces, got {text!r}")
            return
        for name in names:
            if name not in self.variables:
                self._unknown(spot, "variable", name, sorted(self.variables))

    def _saved(self, name: str, spot: _Spot) -> None:
        if not self._is_saved(name):
            self._unknown(spot, "saved value", name, sorted(self.saved))

    def _is_saved(self, name: str) -> bool:
        return any(fnmatchcase(name, one) or fnmatchcase(one, _wild(name)) for one in self.saved)

    def _unknown(self, spot: _Spot, what: str, name: str, known: Iterable[str]) -> None:
        there = list(dict.fromkeys(known))
        self._wrong(spot, f"unknown {what} {name!r}{near(name, there)}; expected {shown_names(there)}")

    def _wrong(self, spot: _Spot, message: str) -> None:
        """Keep what is wrong, once at each place."""
        if (spot.path, message) not in self._seen:
            self._seen.add((spot.path, message))
            self.wrong(spot.path, message)

    def _layouts(self, name: str) -> Layouts:
        """Return the fields of a message in each profile of the case; none where it is not known which message."""
        if name == "push":
            return [declared_layout(one) for profile in self.protocol.profiles.values() for one in profile.pushes]
        found = (self.protocol.profiles[one].messages.get(name) for one in self.profiles)
        return [declared_layout(one) for one in found if one is not None]


def _connection(spec: Step | Connect) -> str:
    if isinstance(spec, Step):
        return spec.on
    return spec.connect if isinstance(spec.connect, str) else spec.connect.name


def _expected(words: Sequence[str]) -> str:
    return ", ".join([*words, "a number or an expression"])


def _wild(name: str) -> str:
    """Return a name with `*` for each variable in it."""
    return "".join(text + ("*" if inner is not None else "") for text, inner, _, _ in Formatter().parse(name))


@cache
def _ordered(kind: type[msgspec.Struct]) -> list[tuple[str, str, Hint]]:
    """Return the key, name and type of each field, that first which names a variable."""
    found = [(key, name, hint) for key, (name, hint) in keys_of(kind).items()]
    return sorted(found, key=lambda one: one[0] != "each")


def _fields_hint(spec: Fields | RowPattern) -> Hint:
    return next(iter(keys_of(type(spec)).values()))[1]


@cache
def _is_number(hint: Hint) -> bool:
    """Say whether a text of this type is a number."""
    if hint == Number:
        return True
    return hint is not Number and not _is_value(hint) and any(one == Number for one in get_args(hint))


@cache
def _is_value(hint: Hint) -> bool:
    """Say whether a text of this type is what a field is given."""
    return Hex in members(hint)


@cache
def _inner(hint: Hint, origin: type) -> tuple[Hint, ...]:
    """Return the types inside a tuple or dict that a type is, or may be."""
    if get_origin(hint) is origin:
        return tuple(one for one in get_args(hint) if one is not Ellipsis) or (object,)
    if get_origin(hint) is Annotated:
        return _inner(get_args(hint)[0], origin)
    found = (one for one in members(hint) if one != hint and get_origin(one) is origin)
    return next((_inner(one, origin) for one in found), (object,))


def _sort(kinds: Sequence[Kind]) -> Sort:
    if kinds and all(is_number(one) for one in kinds):
        return Sort.NUMBER
    return Sort.DATA if kinds and all(is_bytes(one) for one in kinds) else Sort.OPEN


def _sort_in(spec: msgspec.Struct, name: str, outer: Sort) -> Sort:
    """Return what a text is in a field of a form."""
    match spec:
        case Hex() | Raw() | ScriptedBytes():
            return Sort.HEX
        case Fill():
            return Sort.NUMBER if name == "fill" else Sort.DATA
        case Size() | Count():
            return Sort.NUMBER
    return Sort.DATA if isinstance(spec, DATA) else outer


def _of_parts(layout: Mapping[str, Kind]) -> Iterator[Kind]:
    """Yield the kinds of the tables of the parts that a message comes in."""
    for kind in layout.values():
        if isinstance(kind, Repeated):
            yield from declared_layout(kind.part).values()


def _rows_of(kinds: Iterable[Kind]) -> Layouts:
    """Return the fields of the rows of tables."""
    rows = [one.row if isinstance(one, Rows) else one.part for one in kinds if isinstance(one, Rows | Repeated)]
    return [declared_layout(one) for one in rows]
