"""What a dissector must know of a protocol, as plain data: layouts, what begins with what, what answers what.

The generated dissectors hold this plan and an interpreter of it (`dissector.lua`, `scapy_layer.py.txt`).
They read what layouts say. Texts (JSON, s-expressions) are shown as they are, what is encrypted stays bytes, and what a
connection decides otherwise than by its messages' first bytes and order is no part of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from wireproof.protocols import Message, Protocol
from wireproof.protocols.fields import (
    Absent,
    Bits,
    Blob,
    Constant,
    Flag,
    Kind,
    Lines,
    Nested,
    Raw,
    Repeated,
    Rest,
    Rows,
    Shortest,
    Signed,
    Split,
    Terminated,
    UInt,
)
from wireproof.protocols.json_values import JsonDict
from wireproof.protocols.links import Link
from wireproof.protocols.messages import Push, Reply, Request, declared_layout
from wireproof.protocols.profile import Layout, Profile, Variant

__all__ = ["Plan", "plan_of"]

Plan = JsonDict
"""JSON: protocol, profile, variant, port, order, enums, messages by name, links by name, left_out."""
ROLES = (("request", Request), ("reply", Reply), ("push", Push))

FORMS: Mapping[type[Any], Callable[[Any], list[Any]]] = {
    Bits: lambda kind: ["bits", kind.at, kind.count],
    Constant: lambda kind: ["const", kind.width, kind.value],
    Signed: lambda kind: ["int", kind.width],
    UInt: lambda kind: ["uint", kind.width],
    Flag: lambda kind: ["flag"],
    Raw: lambda kind: ["raw", kind.size],
    Blob: lambda kind: ["long"] if isinstance(kind.size, Shortest) else ["blob", kind.size.width],
    Split: lambda kind: ["split", kind.size.width],
    Rest: lambda kind: ["rest"],
    Terminated: lambda kind: ["until", kind.by.hex()],
    Lines: lambda kind: ["lines", kind.row.NAME, kind.count.width, kind.flag],
    Rows: lambda kind: ["rows", kind.row.NAME, kind.count.width],
    Repeated: lambda kind: ["repeated", kind.part.NAME, kind.count.width],
    Nested: lambda kind: ["nested"],
}
"""Kind -> its name, and what an interpreter must know of it."""


def plan_of(spoken: Protocol, profile_name: str, variant_name: str) -> Plan:
    """Return the plan of one profile and variant; `KeyError` for names that there are not."""
    profile = spoken.profiles[profile_name]
    variant = profile.variants[variant_name]
    found: dict[str, type[Message]] = {}
    for message in profile.messages.values():
        _collect(message, found)
    messages = {name: _message(profile.layout(one, variant), spoken, one) for name, one in found.items()}
    links = {name: link for name, link in spoken.links.items() if not link.listener}
    return {
        "protocol": spoken.name,
        "profile": profile_name,
        "variant": variant_name,
        "port": spoken.default_port,
        "order": {"<": "little", ">": "big"}[profile.byte_order],
        "enums": {name: {str(int(one)): one.name for one in enum} for name, enum in spoken.names.items()},
        "messages": messages,
        "links": {name: _link(spoken, profile, variant, link, messages) for name, link in links.items()},
        "left_out": list(_left_out(spoken, messages)),
    }


def _collect(message: type[Message], found: dict[str, type[Message]]) -> None:
    """Add a message, and the rows and parts inside it, by name."""
    found.setdefault(message.NAME, message)
    for kind in declared_layout(message).values():
        if isinstance(kind, Rows):
            _collect(kind.row, found)
        elif isinstance(kind, Repeated):
            _collect(kind.part, found)


def _message(layout: Layout, spoken: Protocol, message: type[Message]) -> JsonDict:
    mask = bytearray(b"\xff" * len(layout.lead))
    for _, kind in layout.fields:
        for at in range(kind.at, kind.at + kind.count) if isinstance(kind, Bits) else ():
            mask[at // 8] &= ~(0x80 >> at % 8) & 0xFF
        if isinstance(kind, Lines):
            mask[kind.flag // 8] &= ~(0x80 >> kind.flag % 8) & 0xFF
    lead = bytes(one & over for one, over in zip(layout.lead, mask, strict=True))
    plan: JsonDict = {
        "role": next((name for name, base in ROLES if issubclass(message, base)), "part"),
        "lead": lead.hex(),
        "mask": mask.hex(),
        "size": layout.size,
        "one_pass": layout.in_one_pass,
    }
    if layout.is_json or (layout.is_sexp and not layout.size):
        return {**plan, "lead": "", "mask": "", "text": True, "one_pass": True, "fields": [["text", "rest"]]}
    if layout.is_sexp:
        return {**plan, "text": True, "fields": [["text", "rest"]]}
    selected_by = [pair for link in spoken.links.values() for pair in link.selected_by.items()]
    constants = {name: int(value) for (one, name), value in selected_by if one is message}
    fields = [[name, *_field(kind)] for name, kind in layout.fields if not isinstance(kind, Absent)]
    for field in fields:
        if field[0] in constants:
            field[1:] = ["const", field[2], constants[field[0]]]
    return {**plan, "fields": fields}


def _field(kind: Kind) -> list[Any]:
    """Return the name of a kind and what it needs."""
    return FORMS[type(kind)](kind)


def _link(spoken: Protocol, profile: Profile, variant: Variant, link: Link, messages: dict[str, JsonDict]) -> JsonDict:
    mine = [one for one in link.requests or profile.replies if one in profile.replies]
    later = [request for request, *_ in link.continued.values()]
    opening: list[type[Message]] = [type(one) for one in link.handshake()]
    by_place = [one for one in mine if _is_bare(messages[one.NAME]) and one not in later]
    if not opening and by_place:
        opening = list(mine)
    texts = any(messages[one.NAME].get("text") for one in mine)
    pushes = profile.pushes if spoken.push_link in ("", _name(spoken, link)) and link.transport == "stream" else ()
    begun = [one for one in mine if one in opening and not messages[one.NAME].get("text")]
    answers = {one.NAME: _sorted(messages, [each.NAME for each in profile.replies[one]]) for one in mine}
    of_server = [each.NAME for one in mine if one not in begun for each in profile.replies[one]]
    return {
        "transport": link.transport,
        "opening": [[one.NAME, *(each.NAME for each in profile.replies[one][:1])] for one in begun],
        "requests": _sorted(messages, [one.NAME for one in mine if one not in (*begun, *later)]),
        "answers": answers,
        "pushes": _sorted(messages, [one.NAME for one in pushes]),
        "server": _sorted(messages, [*of_server, *(one.NAME for one in pushes)]),
        "by_lead": not link.answers_in_order or texts or link.transport == "datagram",
        "texts": texts,
        "continued": {one.NAME: [after.NAME, field, value] for one, (after, field, value) in link.continued.items()},
    }


def _name(spoken: Protocol, link: Link) -> str:
    return next(name for name, one in spoken.links.items() if one is link)


def _is_bare(message: JsonDict) -> bool:
    """Say whether nothing but its place distinguishes a message from others."""
    return not (message["lead"] or message.get("text") or any(field[1] == "const" for field in message["fields"]))


def _sorted(messages: dict[str, JsonDict], names: Iterable[str]) -> list[str]:
    """Return names, those of messages that more bits distinguish first."""
    return sorted(dict.fromkeys(names), key=lambda name: -_decisive(messages[name]))


def _decisive(message: JsonDict) -> int:
    constants = [8 * int(field[2]) for field in message["fields"] if field[1] == "const"]
    return int(message["mask"] or "0", 16).bit_count() + sum(constants)


def _left_out(spoken: Protocol, messages: dict[str, JsonDict]) -> Iterator[str]:
    """Yield what a dissector does not read, a sentence each."""
    for name, link in spoken.links.items():
        if link.listener:
            yield f"connections of {name!r}, which servers take at an address of their own, are not read"
        if link.tls and not link.listener:
            yield f"what connections of {name!r} carry inside TLS is not read"
    if texts := [name for name, one in messages.items() if one.get("text")]:
        yield f"texts are shown as they are: {', '.join(texts)}"
