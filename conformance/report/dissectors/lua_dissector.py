"""A Lua dissector for Wireshark: one file with the plan of a protocol and an interpreter of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from wireproof.conformance.report.dissectors.dissector_plan import Plan

__all__ = ["lua_dissector"]

TEMPLATE = Path(__file__).resolve().parents[3] / "reports" / "templates" / "dissector.lua"
NUMBERS = frozenset({"uint", "const", "flag", "bits"})
SIZED = {"blob": "{}_size", "long": "{}_size", "lines": "{}_size", "split": "size", "rows": "{}_count"}
SIZED["repeated"] = SIZED["rows"]
"""Kind -> the name of the number that says how much of it there is."""


def lua_dissector(plan: Plan) -> str:
    """Return the text of the file."""
    first = next(iter(plan["links"].values()))
    parts = {
        "title": f"{plan['protocol']} {plan['profile']} {plan['variant']}",
        "protocol": plan["protocol"],
        "example": [*first["requests"], *(one[0] for one in first["opening"])][0],
        "left_out": "".join(f"-- Not read: {one}.\n" for one in plan["left_out"]).rstrip("\n"),
        "plan": _lua(_for_lua(plan)),
    }
    return re.sub(r"\{(\w+)\}", lambda found: parts.get(found[1], found[0]), TEMPLATE.read_text(encoding="utf-8"))


def _for_lua(plan: Plan) -> dict[str, Any]:
    """Return the plan as the interpreter takes it: bytes as numbers, and what it would have to work out."""
    messages = {}
    for name, one in plan["messages"].items():
        fields = [[*field[:2], bytes.fromhex(field[2])] if field[1] == "until" else field for field in one["fields"]]
        lead, mask = (list(bytes.fromhex(one[key])) for key in ("lead", "mask"))
        messages[name] = {**one, "fields": fields, "lead": lead, "mask": mask}
    for link in plan["links"].values():
        for request, replies in link["answers"].items():
            if any(field[1] == "nested" for reply in replies for field in plan["messages"][reply]["fields"]):
                messages[request]["holds"] = True
    links = {
        name: {**one, "replies": [pair[1] for pair in one["opening"] if pair[1:]]}
        for name, one in plan["links"].items()
    }
    return {
        **{name: plan[name] for name in ("protocol", "port", "order")},
        "messages": messages,
        "links": links,
        "link_names": list(links),
        "enums": {name: {int(key): one for key, one in enum.items()} for name, enum in plan["enums"].items()},
        "shown": {name: {kind: True for kind in sorted(kinds)} for name, kinds in sorted(_shown(plan).items())},
        "datagrams": any(one["transport"] == "datagram" for one in links.values()),
    }


def _shown(plan: Plan) -> dict[str, set[str]]:
    """Return each name that a filter may use -> number, bytes or both."""
    found: dict[str, set[str]] = {}
    for name, kind in _fields(plan):
        found.setdefault(name, set()).add(kind)
    return found


def _fields(plan: Plan) -> Iterator[tuple[str, str]]:
    yield from (("text", "bytes"), ("length", "number"))
    for message in plan["messages"].values():
        for name, kind, *_ in message["fields"]:
            if kind in SIZED:
                yield SIZED[kind].format(name), "number"
            if kind not in ("rows", "repeated", "lines", "nested"):
                yield name, "number" if kind in NUMBERS else "signed" if kind == "int" else "bytes"


def _lua(value: Any, indent: str = "") -> str:
    """Return a value as Lua writes it."""
    more = indent + "  "
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "nil"
        case int():
            return str(value)
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case bytes():
            return '"' + "".join(f"\\{one:03d}" for one in value) + '"'
        case list():
            inside = ", ".join(_lua(one, more) for one in value)
            short = len(inside) < 110 and "\n" not in inside
            return f"{{ {inside} }}" if short else _block((_lua(one, more) for one in value), indent)
        case dict():
            return (
                _block((f"[{_lua(key)}] = {_lua(one, more)}" for key, one in value.items()), indent) if value else "{}"
            )
    raise TypeError(f"no Lua for {value!r}")


def _block(lines: Iterable[str], indent: str) -> str:
    return "{\n" + "".join(f"{indent}  {line},\n" for line in lines) + indent + "}"
