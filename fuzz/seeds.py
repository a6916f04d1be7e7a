"""Seeds of fuzzing from the derived vectors: requests, whole streams of both sides, conversations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from wireproof.conformance.report.vector_store import vectors_of
from wireproof.fuzz.state_paths import examples, state_paths
from wireproof.protocols import Request, Role, protocol
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.json_values import JsonObject

__all__ = ["Exchange", "by_state", "conversations", "exchanges", "requests"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """Both streams of one connection of a conversation, without times."""

    asked: tuple[Request, ...]
    sent: bytes
    received: bytes
    link: str = ""
    """The name of its link; "" is the default link."""


@cache
def _documents(name: str, profile: str, variant: str) -> tuple[JsonObject, ...]:
    return vectors_of(name, profile, variant)


@cache
def by_state(name: str, profile: str, variant: str) -> bool:
    """Return whether any link of a protocol decodes requests depending on earlier messages."""
    return any(len(state_paths(name, profile, variant, link)) > 1 for link in protocol(name).links)


@cache
def requests(name: str, profile: str, variant: str) -> tuple[Request, ...]:
    """Return the distinct requests of all valid frames, in the order of the files.

    Where decoding depends on earlier messages: examples of all requests, and the requests of the conversations.
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
                dissection = _dissection(name, profile, variant, "")
                dissection.feed(Role.CLIENT, bytes.fromhex(frame["hex"]))
                found.update(dict.fromkeys(dissection.requests))
    return tuple(found)


@cache
def exchanges(name: str, profile: str, variant: str) -> tuple[Exchange, ...]:
    """Return the distinct exchanges of all conversations, one for each connection that sent something in clear."""
    found: dict[Exchange, None] = {}
    for document in _documents(name, profile, variant):
        for conversation in document["conversations"]:
            for link, parts in _streams(conversation["steps"]):
                dissection = _dissection(name, profile, variant, link)
                for is_ours, data in parts:
                    dissection.feed(Role.CLIENT if is_ours else Role.SERVER, data)
                sent, received = (
                    b"".join(data for sent_by_client, data in parts if sent_by_client is from_client)
                    for from_client in (True, False)
                )
                if sent:
                    found[Exchange(tuple(dissection.requests), sent, received, link)] = None
    return tuple(found)


@cache
def conversations(name: str, profile: str, variant: str) -> tuple[JsonObject, ...]:
    """Return all conversations as the files hold them, without those that need a server of their own."""
    found = (one for document in _documents(name, profile, variant) for one in document["conversations"])
    return tuple(one for one in found if not one["exclusive"])


def _streams(steps: list[JsonObject]) -> list[tuple[str, list[tuple[bool, bytes]]]]:
    """Return (link, [(sent by the client, bytes)]) for each connection, up to the beginning of TLS."""
    links: dict[str, str] = {}
    parts: dict[str, list[tuple[bool, bytes]]] = {}
    secured: set[str] = set()
    for step in steps:
        name, do = step["connection"], step["do"]
        if do == "connect":
            links[name] = step.get("link", "")
        elif do == "secure":
            secured.add(name)
        elif do in ("send", "receive") and name not in secured:
            parts.setdefault(name, []).append((do == "send", bytes.fromhex(step.get("hex", ""))))
    return [(links.get(name, ""), parts) for name, parts in parts.items()]


def _dissection(name: str, profile: str, variant: str, link: str) -> Dissection:
    spoken = protocol(name)
    return Dissection(spoken.link_of(link), spoken.codec(spoken.profiles[profile], variant))
