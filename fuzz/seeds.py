"""What fuzzing starts from: the derived vectors, as requests, as streams of either side, as words for dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from wireproof.conformance.report.vector_store import vectors_of
from wireproof.fuzz.connection_reader import Following
from wireproof.fuzz.state_paths import examples, ways
from wireproof.protocols import Request, protocol

__all__ = ["Exchange", "by_state", "conversations", "exchanges", "requests"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one connection of a conversation saw, without the time: whole streams of both sides."""

    asked: tuple[Request, ...]
    sent: bytes
    received: bytes
    link: str = ""
    """What is spoken there; empty: what is meant where nothing is said."""


@cache
def _documents(name: str, profile: str, variant: str) -> tuple[Mapping[str, Any], ...]:
    return vectors_of(name, profile, variant)


@cache
def by_state(name: str, profile: str, variant: str) -> bool:
    """Say whether a protocol's requests are read by what was said before them, on any of its lines."""
    return any(len(ways(name, profile, variant, link)) > 1 for link in protocol(name).links)


@cache
def requests(name: str, profile: str, variant: str) -> tuple[Request, ...]:
    """Return the requests of all valid frames, without repetition, in the order of the files.

    Where requests do not stand for themselves, those of the conversations and examples of all instead.
    """
    found: dict[Request, None] = {}
    if by_state(name, profile, variant):
        known = examples(name, profile, variant)
        found.update(dict.fromkeys(one for some in known.values() for one in some if isinstance(one, Request)))
        asked = (one for exchange in exchanges(name, profile, variant) for one in exchange.asked)
        return tuple(found | dict.fromkeys(asked))
    for document in _documents(name, profile, variant):
        for frame in document["frames"]:
            if frame["direction"] == "request" and frame["result"] == "valid":
                follow = _following(name, profile, variant, "")
                found.update(dict.fromkeys(follow.sent(bytes.fromhex(frame["hex"]))))
    return tuple(found)


@cache
def exchanges(name: str, profile: str, variant: str) -> tuple[Exchange, ...]:
    """Return the exchanges of all conversations, one for each connection that said something in clear."""
    found: dict[Exchange, None] = {}
    for document in _documents(name, profile, variant):
        for conversation in document["conversations"]:
            for link, said in _streams(conversation["steps"]):
                follow = _following(name, profile, variant, link)
                for is_ours, data in said:
                    (follow.sent if is_ours else follow.came)(data)
                sent, received = (b"".join(data for mine, data in said if mine is way) for way in (True, False))
                if sent:
                    found[Exchange(tuple(follow.requests), sent, received, link)] = None
    return tuple(found)


@cache
def conversations(name: str, profile: str, variant: str) -> tuple[Mapping[str, Any], ...]:
    """Return all conversations as the files have them, those that want a server of their own left out."""
    found = (one for document in _documents(name, profile, variant) for one in document["conversations"])
    return tuple(one for one in found if not one["exclusive"])


def _streams(steps: list[Mapping[str, Any]]) -> list[tuple[str, list[tuple[bool, bytes]]]]:
    """Return for each connection what is spoken there and what is said, whether by us or not, until TLS begins."""
    links: dict[str, str] = {}
    said: dict[str, list[tuple[bool, bytes]]] = {}
    secured: set[str] = set()
    for step in steps:
        name, do = step["connection"], step["do"]
        if do == "connect":
            links[name] = step.get("link", "")
        elif do == "secure":
            secured.add(name)
        elif do in ("send", "receive") and name not in secured:
            said.setdefault(name, []).append((do == "send", bytes.fromhex(step.get("hex", ""))))
    return [(links.get(name, ""), both) for name, both in said.items()]


def _following(name: str, profile: str, variant: str, link: str) -> Following:
    spoken = protocol(name)
    codec = spoken.codec(spoken.profiles[profile], variant)
    return Following(spoken.link_of(link), codec, by_state=by_state(name, profile, variant))
