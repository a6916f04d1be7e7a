"""What may come first to an endpoint in its state: messages, and seeds of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from wireproof.fuzz.state_paths import examples, state_paths
from wireproof.protocols import Message, Request

if TYPE_CHECKING:
    from wireproof.fuzz.parser_input import Endpoint

__all__ = ["coming", "first_messages"]

NO_FRAME = b"\x16\x03\x01\x00"
"""The beginning of a TLS record: a seed for states in which nothing else may follow."""


def coming(endpoint: Endpoint) -> Sequence[tuple[Sequence[Request], Message]]:
    """Return what may come, each after the requests that it answers: requests, or pushes and replies."""
    if not endpoint.is_client:
        return [((), one) for one in endpoint.known]
    made, spoken = examples(endpoint.protocol, endpoint.profile, endpoint.variant), endpoint.codec.profile
    found: list[tuple[Sequence[Request], Message]] = []
    found += [((), one) for kind in spoken.pushes for one in made.get(kind, ())]
    for asked in {type(one): one for one in reversed(endpoint.known)}.values():
        found += [((asked,), one) for kind in spoken.replies[type(asked)] for one in made.get(kind, ())]
    return found


def first_messages(number: int, endpoint: Endpoint) -> Iterator[bytes]:
    """Yield inputs of the endpoint with that number: what may come first, and from the beginning each path."""
    name, profile, variant = endpoint.protocol, endpoint.profile, endpoint.variant
    messages = examples(name, profile, variant)
    come: list[tuple[bytes, bytes]] = [(b"", NO_FRAME)]
    if endpoint.is_client:
        pushes = [one for kind in endpoint.codec.profile.pushes for one in messages.get(kind, ())]
        come += [(b"", endpoint.codec.encode(one)) for one in pushes]
        for at, request in enumerate(endpoint.known):
            replies = [one for kind in endpoint.codec.profile.replies[type(request)] for one in messages.get(kind, ())]
            come += [(bytes([at]), endpoint.codec.encode(one)) for one in replies]
    else:
        asked = [[one] for one in endpoint.known]
        led = state_paths(name, profile, variant, endpoint.link_name) if not endpoint.path else ()
        asked += [[one for one in path if isinstance(one, Request)] for path in led]
        come += [(b"", b"".join(map(endpoint.codec.encode, some))) for some in asked]
        forms = endpoint.codec.spellings if endpoint.link.has_spellings else endpoint.codec.other_forms
        first = {type(one): one for one in reversed(endpoint.known) if forms(one)}
        come += [(b"", text) for one in first.values() for text in forms(one).values()]
    for picked, data in come:
        yield bytes([number, len(data) & 0xFF, len(picked)]) + picked + data
