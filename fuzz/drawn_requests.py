"""Draws requests from bytes for connections that remember: only what may be sent where a connection stands.

A request is one of the vectors, of which some fields get other values: names from few letters, so that they collide,
numbers near their ends, ids that the server has sent before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.seeds import requests
from wireproof.fuzz.state_paths import connections_after, examples, state_paths
from wireproof.protocols import LocalProtocolError, Request, protocol
from wireproof.protocols.connection import Client
from wireproof.protocols.fields import Kind, Raw, UInt, is_bytes

__all__ = ["RequestDrawing", "in_other_case", "rows_of"]

SIGNS = b"ab/ab/a+#b/a\0ab/"
"""The bytes of drawn names: few letters, and what protocols treat specially."""
SIZES = (1, 1, 2, 3, 3, 5, 7, 0)
OLD, KIN, POOLED, JOINED = 0x70, 0xA0, 0xD0, 0xE0
"""Draws below them give a name drawn before, one like it, one of the vectors, two of them; others a new one."""
ENDING = 0xF0
"""Draws from it on choose a request that ends the connection, where there are others."""
MOST_KIN = 64
DEPTH = 24
"""The longest name that is made longer by repeating it."""

KEPT = 6
"""Names that are drawn again: the latest ones."""
LONGEST = 40
"""The longest name that is taken from the vectors, in bytes."""
Spoken = tuple[str, str, str]
"""Protocol, profile and variant."""
Kin = tuple[Request, ...]
"""Requests of one class."""


def _key(context: FuzzContext) -> Spoken:
    return context.name, context.profile, context.variant


@dataclass
class RequestDrawing:
    """Draws the requests of one input; names that it has drawn come again."""

    context: FuzzContext
    byte: Callable[[], int]
    """Gives the next byte of the input."""
    known_ids: Mapping[int, Sequence[bytes]]
    """Size -> ids of that size that the server has sent."""
    names: list[bytes] = field(default_factory=list)

    def draw(self, link: str, client: Client) -> Request | None:
        """Return a request that `client` may send now; None where it may send nothing."""
        usual, ending = _choices(_key(self.context), link, _state(client))
        drawn = self.byte()
        kinds = ending if ending and (not usual or drawn >= ENDING) else usual
        if not kinds:
            return None
        kin = kinds[drawn % len(kinds)]
        request = kin[self.byte() % len(kin)]
        fields = self.context.symbols.codec.layout(type(request)).fields
        changed = {name: value for name, kind in fields if (value := self._value(name, kind)) is not None}
        made: Request = msgspec.structs.replace(request, **changed)
        return made

    def note(self, asked: Sequence[Request]) -> None:
        """Take the names in requests that were not drawn as names that were: what is drawn goes on about them."""
        for request in asked:
            for name in sorted(self.context.symbols.protocol.named_by):
                if value := getattr(request, name, b""):
                    self._keep(value)

    def _keep(self, name: bytes) -> None:
        if len(name) < LONGEST and name not in self.names:
            self.names = [*self.names, name][-KEPT:]

    def changed(self, request: Request) -> Request:
        """Return a request with another value in one field; the same one where its kind has no other values here."""
        fields = self.context.symbols.codec.layout(type(request)).fields
        if not fields:
            return request
        name, kind = fields[self.byte() % len(fields)]
        value = self._other(name, kind, getattr(request, name, None))
        made: Request = request if value is None else msgspec.structs.replace(request, **{name: value})
        return made

    def _other(self, name: str, kind: Kind, value: Any) -> object | None:
        """Return another value of a field that has `value`."""
        which = self.byte()
        if isinstance(value, tuple):
            ways = (value[:-1], value + value[-1:], value[::-1], _in_other_case(value, which // 5), value[1:])
            return ways[which % 5]
        match kind:
            case Raw(size):
                ids = self.known_ids.get(size, ())
                return ids[which % len(ids)] if ids else None
            case UInt() if isinstance(value, int):
                edges = (value ^ 1, 0, 1, kind.maximum, kind.maximum >> 1, value + 1)
                return min(edges[which % len(edges)], kind.maximum)
        if not (is_bytes(kind) and isinstance(value, bytes)):
            return None
        if name in self.context.symbols.protocol.named_by:
            return self._name(name)
        return (b"", value[:-1], value + value, self._made(), value.swapcase())[which % 5]

    def _value(self, name: str, kind: Kind) -> object | None:
        """Return another value of a field; None to keep it."""
        is_name = name in self.context.symbols.protocol.named_by
        match kind:
            case Raw(size):
                ids, which = self.known_ids.get(size, ()), self.byte()
                return ids[which % len(ids)] if ids and which < 0xF0 else None
            case UInt():
                return self._number(name, kind)
        if not is_bytes(kind):
            return None
        if is_name:
            return self._name(name)
        return self._made() if self.byte() >= 0xD0 else None

    def _number(self, name: str, kind: UInt) -> int | None:
        which = self.byte()
        if which < (0xFC if name in self.context.symbols.protocol.names else 0xA0):
            return None
        edges = (0, 1, 2, kind.maximum >> 1, kind.maximum, self.byte())
        return edges[which % len(edges)]

    def _name(self, field_name: str) -> bytes | None:
        """Return a name: mostly one that was drawn before, or one that differs from it in one place."""
        which = self.byte()
        if which < OLD and self.names:
            name = self.names[which % len(self.names)]
        elif which < KIN and self.names:
            name = self._like(self.names[which % len(self.names)])
        elif which < POOLED:
            pool = _pooled(_key(self.context), field_name)
            name = pool[self.byte() % len(pool)]
        elif which < JOINED and self.names:
            name = self.names[-1] + b"\0" + self.names[which % len(self.names)]
        else:
            name = self._made()
        self._keep(name)
        return name

    def _like(self, name: bytes) -> bytes:
        how, at = self.byte(), self.byte() % (len(name) + 1)
        sign = SIGNS[how % len(SIGNS) : how % len(SIGNS) + 1]
        parts = ((name[:at], name[at:]), (name[:at], name[at + 1 :]))[how >> 7]
        return sign.join(parts)

    def _made(self) -> bytes:
        which = self.byte()
        made = bytes(SIGNS[self.byte() % len(SIGNS)] for _ in range(SIZES[which % len(SIZES)]))
        return made * (1 + self.byte() % DEPTH) if which % 16 == 5 else made


def rows_of(request: Request) -> dict[str, tuple[Any, ...]]:
    """Return the fields of a request that hold rows, such as headers, with these; none where it has none."""
    found = {name: getattr(request, name) for name in request.__struct_fields__}
    return {name: rows for name, rows in found.items() if isinstance(rows, tuple) and rows}


def in_other_case(request: Request) -> Request:
    """Return a request whose rows have all their texts in the other case."""
    changed = {}
    for name, rows in rows_of(request).items():
        for which in range(sum(map(len, map(_texts, rows)))):
            rows = _in_other_case(rows, which)
        changed[name] = rows
    made: Request = msgspec.structs.replace(request, **changed)
    return made


def _texts(row: Any) -> dict[str, bytes]:
    """Return the texts of a row by the names of their fields."""
    found = {name: getattr(row, name) for name in getattr(row, "__struct_fields__", ())}
    return {name: value for name, value in found.items() if isinstance(value, bytes)}


def _in_other_case(rows: tuple[Any, ...], which: int) -> tuple[Any, ...]:
    """Return rows of which one has a text with capitals where it had small letters, and the other way round."""
    texts = [(at, name) for at, row in enumerate(rows) for name in _texts(row)]
    if not texts:
        return rows
    at, name = texts[which % len(texts)]
    changed = msgspec.structs.replace(rows[at], **{name: getattr(rows[at], name).swapcase()})
    return (*rows[:at], changed, *rows[at + 1 :])


@cache
def _pooled(key: Spoken, name: str) -> tuple[bytes, ...]:
    """Return the values that the vectors give to a field that names something, the short ones."""
    found = dict.fromkeys(getattr(one, name) for one in requests(*key) if hasattr(one, name))
    return tuple(sorted((one for one in found if len(one) < LONGEST), key=lambda one: (len(one), one))) or (b"a",)


@cache
def _choices(key: Spoken, link: str, state: object) -> tuple[tuple[Kin, ...], tuple[Kin, ...]]:
    """Return the requests that may be sent in a state, by class: those after which more may follow, and the others."""
    spoken = protocol(key[0])
    kind, codec = spoken.link_of(link), spoken.codec(spoken.profiles[key[1]], key[2])
    paths = state_paths(*key, link or next(iter(spoken.links)))

    def client() -> Client:
        return connections_after(kind, codec, path)[0]

    path = next((one for one in paths if _state(connections_after(kind, codec, one)[0]) == state), paths[0])
    shown = (one for some in examples(*key).values() for one in some if isinstance(one, Request))
    by_class: dict[type[Request], list[Request]] = {}
    for one in dict.fromkeys((*requests(*key), *shown)):
        by_class.setdefault(type(one), []).append(one)
    by_class = {one: some for one, some in by_class.items() if _may_send(client(), some[0])}
    usual: list[Kin] = []
    ending: list[Kin] = []
    for some in by_class.values():
        after = client()
        after.send(some[0])
        goes_on = _state(after) == state or any(_may_send(client(), some[0], other[0]) for other in by_class.values())
        (usual if goes_on else ending).append(tuple(some[:MOST_KIN]))
    return tuple(usual), tuple(ending)


def _may_send(client: Client, *asked: Request) -> bool:
    try:
        for one in asked:
            client.send(one)
    except LocalProtocolError:
        return False
    return True


def _state(client: Client) -> object:
    return getattr(client, "state", None)
