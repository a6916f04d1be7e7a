"""What fuzzing starts from: the derived vectors, as requests, as streams of either side, as words for dictionaries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from conformance.cases import vectors_root
from protocols import NEED_DATA, Message, ProtocolError, Request, protocol

__all__ = ["Exchange", "conversations", "exchanges", "requests"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one connection of a conversation saw, without the time: whole streams of both sides."""

    asked: tuple[Request, ...]
    sent: bytes
    received: bytes


def _documents(name: str, profile: str, variant: str) -> Iterator[Mapping[str, Any]]:
    folder: Path = vectors_root() / name / profile / variant
    for path in sorted(folder.glob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


@cache
def requests(name: str, profile: str, variant: str) -> tuple[Request, ...]:
    """Return the requests of all valid frames, without repetition, in the order of the files."""
    found: dict[Request, None] = {}
    for document in _documents(name, profile, variant):
        for frame in document["frames"]:
            if frame["direction"] == "request" and frame["result"] == "valid":
                found.update(dict.fromkeys(_read(name, profile, variant, bytes.fromhex(frame["hex"]))))
    return tuple(found)


@cache
def exchanges(name: str, profile: str, variant: str) -> tuple[Exchange, ...]:
    """Return the exchanges of all conversations, one for each connection that said something."""
    found: dict[Exchange, None] = {}
    for document in _documents(name, profile, variant):
        for conversation in document["conversations"]:
            for sent, received in _streams(conversation["steps"]):
                if sent:
                    found[Exchange(tuple(_read(name, profile, variant, sent)), sent, received)] = None
    return tuple(found)


@cache
def conversations(name: str, profile: str, variant: str) -> tuple[Mapping[str, Any], ...]:
    """Return all conversations as the files have them, those that want a server of their own left out."""
    found = (one for document in _documents(name, profile, variant) for one in document["conversations"])
    return tuple(one for one in found if not one["exclusive"])


def _streams(steps: list[Mapping[str, Any]]) -> list[tuple[bytes, bytes]]:
    both: dict[str, list[bytes]] = {}
    for step in steps:
        if step["do"] in ("send", "receive"):
            side = both.setdefault(step["connection"], [b"", b""])
            side[step["do"] == "receive"] += bytes.fromhex(step.get("hex", ""))
    return [(sent, received) for sent, received in both.values()]


def _read(name: str, profile: str, variant: str, data: bytes) -> Iterator[Request]:
    """Yield the requests at the beginning of a stream; what is no request ends it."""
    spoken = protocol(name)
    server = spoken.link.server(spoken.codec(spoken.profiles[profile], variant))
    try:
        server.receive_data(data)
        while (event := server.next_event()) is not NEED_DATA:
            if isinstance(event, Message):
                yield event  # type: ignore[misc]
    except ProtocolError:
        return
