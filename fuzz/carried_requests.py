"""Requests that stand for others: of the same class, and with the same classes of requests that they carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wireproof.protocols import Request
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import Blob, Nested

__all__ = ["carried", "picker"]

MOST = 256


def picker(codec: Any, known: Sequence[Request]) -> Callable[[Request], int | None]:
    """Return what finds the place of a request in the first 256 of `known`, or of one that is answered like it.

    None where there is none of its class.
    """
    places = {request: at for at, request in enumerate(known[:MOST])}
    like = {carried(codec, request): at for request, at in places.items()}
    kinds = {type(request): at for request, at in places.items()}

    def pick(request: Request) -> int | None:
        found = places.get(request)
        found = like.get(carried(codec, request)) if found is None else found
        return kinds.get(type(request)) if found is None else found

    return pick


def carried(codec: Any, request: Request) -> tuple[type[Request], ...]:
    """Return the class of a request and those of what it carries: what it is answered depends on them."""
    found = [type(request)]
    while hasattr(codec, "whole_request") and _carries(codec, type(request)):
        blobs = [name for name, kind in codec.layout(type(request)).fields if isinstance(kind, Blob)]
        try:
            request = codec.whole_request(getattr(request, blobs[-1]))
        except MalformedFrameError:
            break
        found.append(type(request))
    return tuple(found)


def _carries(codec: Any, request: type[Request]) -> bool:
    """Return whether a reply to a request holds the reply to another one."""
    kinds = (kind for answer in codec.profile.replies[request] for _, kind in codec.layout(answer).fields)
    return any(isinstance(kind, Nested) for kind in kinds)
