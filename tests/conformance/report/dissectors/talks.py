"""Conversations of the vectors, as our own codec reads them: what a generated dissector must read, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from wireproof.conformance.report.dissectors.dissector_plan import Plan, plan_of
from wireproof.conformance.report.vector_files import selected
from wireproof.conformance.suite.documents import vectors_root
from wireproof.protocols import Message, protocol, protocol_names
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.states import Role

PLACES = [
    (name, profile, protocol(name).default_variant) for name in protocol_names() for profile in protocol(name).profiles
]
STATES = {
    "psrt": ("bye/nothing-behind-it", "starttls/"),
    "tmqp": (
        "operation/released-number",
        "ping/any-flags",
        "ping/what-it-holds",
        "ping/any-second-byte",
        "ping/with-parts",
        "ping/bytes.09",
    ),
}
"""What the state of a connection decides, or another reading of the same bytes: docs/dissectors.md names it."""
Chunks = list[tuple[str, bytes]]


@dataclass
class Talk:
    """One connection of a conversation."""

    name: str
    chunks: Chunks
    """(client or server, bytes) in order."""
    messages: list[tuple[str, Message]]
    """(sender, message) in order, as our codec reads them."""


@cache
def plan(place: tuple[str, str, str]) -> Plan:
    name, profile, variant = place
    return plan_of(protocol(name), profile, variant)


def talks(place: tuple[str, str, str], stride: int = 1) -> Iterator[Talk]:
    """Yield the streams of every so-many-th conversation of the vectors that are right to their end."""
    name, profile, variant = place
    for path in sorted((vectors_root() / name / "derived").glob("*.json")):
        document = selected(json.loads(path.read_text(encoding="utf-8")), profile, variant)
        for conversation in document["conversations"][::stride] if document else ():
            if not conversation["id"].startswith(STATES.get(name, ("-",))):
                yield from _streams(place, conversation)


def _streams(place: tuple[str, str, str], conversation: dict[str, Any]) -> Iterator[Talk]:
    name, profile, variant = place
    spoken = protocol(name)
    found: dict[str, tuple[str, Chunks]] = {}
    for step in conversation["steps"]:
        chunks = found.setdefault(step["connection"], (step.get("link", ""), []))[1]
        if step.get("hex") and step["do"] in ("send", "receive"):
            chunks.append(("client" if step["do"] == "send" else "server", bytes.fromhex(step["hex"])))
    for connection, (link, chunks) in found.items():
        one = spoken.link_of(link)
        if one.listener or one.transport == "datagram":
            continue
        read = Dissection(one, spoken.codec(spoken.profiles[profile], variant))
        frames = [frame for sender, data in chunks for frame in read.feed(Role(sender), data)]
        if read.of_client.error is None and read.of_server.error is None:
            messages = [(frame.sender.value, frame.message) for frame in frames]
            yield Talk(f"{conversation['id']} {connection}", chunks, messages)


def datagrams(place: tuple[str, str, str]) -> Iterator[tuple[str, bytes, Message]]:
    """Yield every datagram of the vectors that is right: sender, bytes, message."""
    name, profile, variant = place
    spoken = protocol(name)
    codec = spoken.codec(spoken.profiles[profile], variant)
    for path in sorted((vectors_root() / name / "derived").glob("*.json")):
        document = selected(json.loads(path.read_text(encoding="utf-8")), profile, variant)
        for frame in document["frames"] if document else ():
            if frame.get("link") == "datagram" and frame["result"] == "valid":
                message = codec.decode(spoken.message(profile, frame["message"]["name"]), bytes.fromhex(frame["hex"]))
                yield ("client" if frame["direction"] == "request" else "server", bytes.fromhex(frame["hex"]), message)


def expected_fields(message: Message, layout: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message as plain values, those that the profile has and that say something."""
    fields = [field for field in layout["messages"][message.NAME]["fields"] if field[1] != "const"]
    return {name: plain(getattr(message, name), layout) for name, *_ in fields}


def plain(found: Any, layout: dict[str, Any]) -> Any:
    if isinstance(found, tuple):
        return [plain(one, layout) for one in found]
    if isinstance(found, Message):
        return (found.NAME, expected_fields(found, layout))
    return found if isinstance(found, bytes) else int(found)


def is_text(layout: dict[str, Any], sender: str, name: str) -> bool:
    """Say whether a message is shown as text: what it says, or all requests of its link after the first."""
    links = [link for link in layout["links"].values() if link["texts"]]
    asked = sender == "client" and any(name not in dict(link["opening"]) for link in links)
    return asked or layout["messages"][name].get("text", False)
