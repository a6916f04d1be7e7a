"""The vectors of one topic as one file, shared by every profile and variant of a protocol.

Most bytes and nearly all decoded messages are the same everywhere, so they are written once. A file lists its
configurations (a profile and a variant each, named by one letter); a row that holds for some of them only says which
in `in`, and `hex` is an object by letters where only the bytes differ. `merged` writes that form, `selected` reads one
configuration of it back, exactly as `Deriver` made it. Equal steps that follow each other are one row with `times`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_lowercase
from types import MappingProxyType
from typing import Any

from wireproof.protocols import Protocol
from wireproof.protocols.json_values import JsonDict, JsonObject

SCHEMA = "wireproof.vectors/2"
DEFAULTS: Mapping[str, JsonObject] = {
    "frames": {"flags": []},
    "conversations": {"exclusive": False},
    "steps": {"connection": "a"},
}
"""What a row of each list means where it leaves a key out."""

Row = JsonDict
Document = JsonDict
Places = dict[str, tuple[str, str]]
"""Letter -> profile and variant."""
Order = Mapping[str, int]
"""Id -> its place among all of its suite."""


def configurations(protocol: Protocol) -> Places:
    """Return the letter of each profile and variant; the same in every file of the protocol."""
    pairs = [(profile.name, variant) for profile in protocol.profiles.values() for variant in profile.variants]
    return dict(zip(ascii_lowercase, pairs, strict=False))


def merged(documents: Mapping[str, Document], order: Order = MappingProxyType({})) -> Document:
    """Return the file of one topic from the documents of its configurations, by letter.

    `order` is needed with more than one document: what one of them lacks has no place among its ids.
    """
    first = next(iter(documents.values()))
    letters = "".join(documents)
    left_out = {key: [{"id": one} for one in document["left_out"]] for key, document in documents.items()}
    return {
        "schema": SCHEMA,
        "protocol": first["protocol"],
        "topic": first["topic"],
        "configurations": {
            key: {name: document[name] for name in ("profile", "variant", "sizes")}
            for key, document in documents.items()
        },
        "notes": first["notes"],
        "left_out": _by_id(left_out, letters, order),
        "frames": _by_id(_lists(documents, "frames"), letters, order, "frames"),
        "conversations": list(_conversations(_lists(documents, "conversations"), letters, order)),
    }


def _lists(documents: Mapping[str, Document], kind: str) -> dict[str, list[Row]]:
    return {key: document[kind] for key, document in documents.items()}


def _by_id(lists: Mapping[str, list[Row]], letters: str, order: Order, kind: str = "") -> list[Row]:
    """Return the rows of all lists, those of one id together."""
    return [
        row
        for alternatives in _grouped(lists, order)
        for row in _rows({key: _without_defaults(one, kind) for key, one in alternatives.items()}, letters)
    ]


def _grouped(lists: Mapping[str, list[Row]], order: Order) -> Iterator[dict[str, Row]]:
    """Yield letter -> row for each id, in order."""
    found: dict[str, dict[str, Row]] = {}
    for key, rows in lists.items():
        for row in rows:
            found.setdefault(row["id"], {})[key] = row
    return (found[one] for one in sorted(found, key=lambda one: order.get(one, 0)))


def _rows(alternatives: Mapping[str, Row], letters: str) -> list[Row]:
    """Return rows that say together what each letter's row says: one, or several with `in`."""
    same: dict[str, tuple[Row, dict[str, str]]] = {}
    for key, row in alternatives.items():
        _, places = same.setdefault(_text({**row, "hex": "hex" in row}), (row, {}))
        places[row.get("hex", "")] = places.get(row.get("hex", ""), "") + key
    found = []
    for row, places in same.values():
        where = "".join(sorted("".join(places.values())))
        hexes = {keys: data for data, keys in places.items()}
        shared = row if len(places) == 1 else {**row, "hex": hexes}
        found.append(shared if where == letters else {"in": where, **shared})
    return found


def _conversations(lists: Mapping[str, list[Row]], letters: str, order: Order) -> Iterator[Row]:
    """Yield the conversations of all lists, those of one id together; one row where they have the same steps."""
    for alternatives in _grouped(lists, order):
        shapes: dict[str, dict[str, Row]] = {}
        for key, one in alternatives.items():
            kinds = [(step["do"], step["connection"]) for step in one["steps"]]
            shapes.setdefault(_text([_head(one), kinds]), {})[key] = one
        for same in shapes.values():
            head, where = _without_defaults(_head(next(iter(same.values()))), "conversations"), "".join(same)
            steps = list(_steps({key: one["steps"] for key, one in same.items()}, where))
            yield {**({} if where == letters else {"in": where}), **head, "steps": steps}


def _head(conversation: Row) -> Row:
    return {key: value for key, value in conversation.items() if key != "steps"}


def _steps(lists: Mapping[str, list[Row]], letters: str) -> Iterator[Row]:
    """Yield the rows of conversations whose steps do the same on the same connections, one after another."""
    last: list[Row] = []
    times = 0
    for column in zip(*lists.values(), strict=True):
        rows = _rows(dict(zip(lists, (_without_defaults(one, "steps") for one in column), strict=True)), letters)
        if rows != last:
            yield from _repeated(last, times)
            last, times = rows, 0
        times += 1
    yield from _repeated(last, times)


def _repeated(rows: list[Row], times: int) -> Iterator[Row]:
    yield from rows if times == 1 else ({"times": times, **row} for row in rows)


def _without_defaults(row: Row, kind: str) -> Row:
    defaults = DEFAULTS.get(kind, {})
    return {key: value for key, value in row.items() if key not in defaults or defaults[key] != value}


def selected(document: Document, profile: str, variant: str) -> Document | None:
    """Return what a file says of one profile and variant, in the form of `Deriver.documents`; None if nothing."""
    places = document["configurations"].items()
    place = next(((key, one) for key, one in places if (one["profile"], one["variant"]) == (profile, variant)), None)
    if place is None:
        return None
    letter, configuration = place
    return {
        "protocol": document["protocol"],
        **configuration,
        "topic": document["topic"],
        "notes": document["notes"],
        "left_out": [row["id"] for row in _in(document["left_out"], letter)],
        "frames": list(_in(document["frames"], letter, "frames")),
        "conversations": [
            {**one, "steps": list(_in(one["steps"], letter, "steps"))}
            for one in _in(document["conversations"], letter, "conversations")
        ],
    }


def _in(rows: Iterable[Row], letter: str, kind: str = "") -> Iterator[Row]:
    """Yield what rows mean in one configuration: defaults filled in, bytes chosen, repetitions written out."""
    for row in rows:
        if letter not in row.get("in", letter):
            continue
        plain = {key: value for key, value in row.items() if key not in ("in", "times")}
        plain.update((key, value) for key, value in DEFAULTS.get(kind, {}).items() if key not in row)
        if isinstance(plain.get("hex"), dict):
            plain["hex"] = next(data for letters, data in plain["hex"].items() if letter in letters)
        for _ in range(row.get("times", 1)):
            yield dict(plain)


def canonical(document: Document) -> str:
    """Return the text of a vectors file: one key a line, one frame or step a line, nothing else free."""
    lines = []
    for key, value in document.items():
        if key == "conversations":
            lines.append(f'"conversations":{_block(map(_conversation, value))}')
        else:
            lines.append(f'"{key}":{_block(map(_text, value)) if isinstance(value, list) else _text(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _block(rows: Iterable[str]) -> str:
    return "[" + ",".join(f"\n{row}" for row in rows) + "\n]"


def _conversation(value: Row) -> str:
    return f'{_text(_head(value))[:-1]},"steps":{_block(map(_text, value["steps"]))}}}'
