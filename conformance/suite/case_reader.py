"""Reads what people write into the types of cases, and collects everything that is wrong with it.

What is hard here, and how it is solved:

- People write short forms: `send: INFO` for a list of one message without fields, several verbs in one step, several
  matchers in one mapping. The types say what there is, once; this module walks parsed YAML led by them, and the forms
  that are more than a mapping of known keys have a function each in `case_forms.py`. The published JSON schemas come
  from the same types (`case_schema.py`), so that an editor and the loader cannot disagree about a key.
- A mapping does not say which type it is. In a union it is known by its first field: `{at_least: 3}` is an `AtLeast`,
  `{fill: 0x61, size: 9}` a `Fill`. What has no such key is the name of a message, and in capitals.
- All errors of a file are reported, not only the first. A reader that fails keeps a `Problem` with its path and raises
  `MisreadError`; whoever reads several things at once (`each`, `fields`, lists) continues with the others and raises at
  the end. Lines are looked up afterwards, from the path (`yaml_documents.line_of`), so that right files pay nothing.
- Names are compared with the layouts of the case's own profiles (`vocabulary.py`); inside `by_profile` with those of
  the profile named there. Each error names what comes near.
- Nothing of this runs for a file that was read before: `case_documents.py` keeps the typed cases.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Literal, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from wireproof.conformance.suite.names import near, shown, shown_names
from wireproof.conformance.suite.sequences import Sequence
from wireproof.conformance.suite.values import Node, Typed
from wireproof.conformance.suite.vocabulary import Vocabulary

Path = tuple[str | int, ...]
Kind = object
"""A type as annotations name it: a class, a union, `tuple[...]`, `Annotated[...]`."""
Name = TypeVar("Name", str, int)
Struct = TypeVar("Struct", bound=msgspec.Struct)
PATTERN_NAMES = ("any", "ok", "refused", "push")
"""What a pattern may be called beside the messages of the protocol."""
WORDS: Mapping[object, str] = {
    dict: "a mapping", list: "a list",
    str: "a text", int: "a number", float: "a number", bool: "true or false", NoneType: "nothing"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a document: where, and what."""

    path: Path
    message: str


@dataclass(frozen=True, slots=True)
class Form:
    """How a type is read that is more than its fields."""

    read: Callable[[CaseReader, Node, Path], object]
    takes: tuple[type, ...] = (dict,)
    """What it may be in YAML."""
    keys: Collection[str] = ()
    """Where a union has several mappings: the keys by which this one is known; none: it is what no other is."""
    is_open: bool = False
    """A mapping of it may have keys of any kind, not only the name of a message."""


class MisreadError(Exception):
    """Raised within this module and `case_forms.py` where a node cannot be read; its problem is kept already."""


@dataclass
class CaseReader:
    """Reads nodes of one document; what is wrong with them is in `problems`."""

    forms: Mapping[object, Form]
    """Type -> what reads it, for types that are not read by their fields."""
    vocabulary: Vocabulary | None = None
    """The messages and fields there are; None: any."""
    sequences: Mapping[str, Sequence] = field(default_factory=dict)
    """What `perform` may name."""
    problems: list[Problem] = field(default_factory=list)

    def struct(self, kind: type[Struct], node: Node, path: Path) -> Struct | None:
        """Return the node as `kind`, or None where it is wrong: `problems` says why."""
        try:
            found = self.read(kind, node, path)
        except MisreadError:
            return None
        assert isinstance(found, kind)
        return found

    def wrong(self, path: Path, message: str) -> MisreadError:
        """Keep a problem and return what to raise."""
        self.problems.append(Problem(path, message))
        return MisreadError(message)

    def unknown(self, path: Path, what: str, name: str, known: Collection[str]) -> MisreadError:
        """Keep the problem that a name is not known, with those that come near."""
        return self.wrong(path, f"unknown {what} {name!r}{near(name, known)}; expected {shown_names(known)}")

    def read(self, kind: Kind, node: Node, path: Path) -> object:
        """Return the node as a value of a type; raises `MisreadError` where it is none."""
        if form := self.forms.get(kind):
            if not isinstance(node, form.takes):
                raise self.wrong(path, f"expected {' or '.join(WORDS[one] for one in form.takes)}, got {shown(node)}")
            return form.read(self, node, path)
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._annotated(kind, self.read(arguments[0], node, path), path)
        if origin is Union or origin is UnionType:
            return self._member(members(kind), node, path)
        if origin is tuple:
            return self._list(arguments, node, path)
        if origin is dict and isinstance(node, dict):
            names = self.each({name: (arguments[0], name) for name in node}, path)
            return self.each({name: (arguments[1], node[name]) for name in names}, path)
        if origin is Literal and any(type(node) is type(one) and node == one for one in arguments):
            return node
        if is_struct(kind) and isinstance(node, dict):
            return self.fields(kind, node, path)
        if type(node) is kind:
            return node
        raise self.wrong(path, f"expected {words(kind)}, got {shown(node)}")

    def each(self, pairs: Mapping[Name, tuple[Kind, Node]], path: Path) -> dict[Name, object]:
        """Return name -> value; raises the last `MisreadError` when every one is read."""
        found, failed = dict[Name, object](), None
        for name, (kind, node) in pairs.items():
            try:
                found[name] = self.read(kind, node, (*path, name))
            except MisreadError as error:
                failed = error
        if failed:
            raise failed
        return found

    def listed(self, kind: Kind, nodes: Iterable[Node], path: Path) -> tuple[object, ...]:
        """Return the nodes of a list, every one read before an error is raised."""
        found = self.each({number: (kind, one) for number, one in enumerate(nodes)}, path)
        return tuple(found.values())

    def fields(self, kind: type[msgspec.Struct], node: Mapping[str, Node], path: Path) -> msgspec.Struct:
        """Return a struct of the fields that a mapping names; raises `MisreadError`."""
        hints = keys_of(kind)
        failed: MisreadError | None = None
        for name in node:
            if name not in hints:
                failed = self.unknown((*path, name), "key", name, hints)
        for name in required(kind):
            if name not in node:
                failed = self.wrong(path, f"{name!r} is missing")
        known = {name: (hints[name][1], one) for name, one in node.items() if name in hints}
        found = self.each(known, path)
        if failed:
            raise failed
        return kind(**{hints[name][0]: value for name, value in found.items()})

    def _list(self, arguments: tuple[Kind, ...], node: Node, path: Path) -> tuple[object, ...]:
        if not isinstance(node, list):
            raise self.wrong(path, f"expected a list, got {shown(node)}")
        if arguments[-1] is Ellipsis:
            return self.listed(arguments[0], node, path)
        if len(node) != len(arguments):
            raise self.wrong(path, f"expected a list of {len(arguments)}, got {shown(node)}")
        return tuple(
            self.read(kind, one, (*path, at)) for at, (kind, one) in enumerate(zip(arguments, node, strict=True))
        )

    def _annotated(self, kind: Kind, value: object, path: Path) -> object:
        """Return the value, where what is annotated allows it."""
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise self.wrong(path, f"{str(error).split(' - at')[0].lower()}, got {shown(value)}") from None
        return value

    def _member(self, kinds: tuple[Kind, ...], node: Node, path: Path) -> object:
        """Return the node as the one member of a union that it can be."""
        if isinstance(node, dict):
            for kind in kinds:
                if not node.keys().isdisjoint(self._keys(kind)):
                    return self.read(kind, node, path)
            name = next(iter(node), "")
            keys = [key for one in kinds for key in self._keys(one)]
            if (
                keys
                and name.islower()
                and "{" not in name
                and name not in PATTERN_NAMES
                and not any(self._is_open(one) for one in kinds)
            ):
                raise self.unknown((*path, name), "key", name, keys)
        for kind in kinds:
            if self._fits(kind, node):
                return self.read(kind, node, path)
        raise self.wrong(path, f"expected {' or '.join(dict.fromkeys(map(words, kinds)))}, got {shown(node)}")

    def _keys(self, kind: Kind) -> Collection[str]:
        """Return the keys by which a mapping is known to be a type, none for one that any mapping may be."""
        form = self.forms.get(kind)
        return form.keys if form else key_of(kind)

    def _is_open(self, kind: Kind) -> bool:
        return kind in self.forms and self.forms[kind].is_open

    def _fits(self, kind: Kind, node: Node) -> bool:
        """Say whether a node has the shape of a type that is not known by a key."""
        if get_origin(kind) is Annotated:
            return self._fits(get_args(kind)[0], node)
        if kind in self.forms:
            return isinstance(node, self.forms[kind].takes) and not self.forms[kind].keys
        origin = get_origin(kind)
        if isinstance(node, dict):
            return (is_struct(kind) and not key_of(kind)) or origin is dict
        return (
            (isinstance(node, list) and origin is tuple)
            or (origin is Literal and not isinstance(node, list))
            or type(node) is kind
        )


@cache
def members(kind: Kind) -> tuple[Kind, ...]:
    """Return the types of a union, those of unions inside it too; a type that is none alone."""
    if get_origin(kind) is Annotated and len(members(get_args(kind)[0])) > 1:
        return members(get_args(kind)[0])
    if get_origin(kind) is Union or get_origin(kind) is UnionType:
        return tuple(dict.fromkeys(one for inner in get_args(kind) for one in members(inner)))
    return (kind,)


@cache
def keys_of(kind: type[msgspec.Struct]) -> dict[str, tuple[str, Kind]]:
    """Return the key that people write -> (name of the field, its type), in order."""
    hints = get_type_hints(kind, include_extras=True)
    return {one.encode_name: (one.name, hints[one.name]) for one in msgspec.structs.fields(kind)}


@cache
def required(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the keys that must be there."""
    return tuple(one.encode_name for one in msgspec.structs.fields(kind) if one.required)


def is_struct(kind: Kind) -> TypeGuard[type[msgspec.Struct]]:
    """Say whether a type is a class with fields."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def key_of(kind: Kind) -> tuple[str, ...]:
    """Return the key by which a mapping is known to be a type: that of its first field; none for a plain struct."""
    if not (isinstance(kind, type) and issubclass(kind, Typed)):
        return ()
    return (next(iter(keys_of(kind))),)


def words(kind: Kind) -> str:
    """Return what a type is to the people who write cases."""
    if get_origin(kind) is Annotated:
        return words(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return " or ".join(str(one).lower() if isinstance(one, bool) else repr(one) for one in get_args(kind))
    if len(members(kind)) > 1:
        return " or ".join(dict.fromkeys(map(words, members(kind))))
    return WORDS.get(kind, "a list" if get_origin(kind) is tuple else "a mapping")
