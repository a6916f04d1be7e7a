"""What is relayed from one client to another: the same frame, with a source and a hop less."""

from __future__ import annotations

from typing import TypeVar

from wireproof.protocols.tmqp.frames import PushFrame, ReplyFrame, RequestFrame
from wireproof.reference_server.tmqp.state import State

__all__ = ["relayed"]

Sent = TypeVar("Sent", ReplyFrame, PushFrame)


def relayed(kind: type[Sent], request: RequestFrame, source: bytes, state: State) -> Sent:
    """Return what a client sent as a frame of `kind`."""
    return kind(
        request.one_delivery,
        request.high_priority,
        request.pending_response,
        request.pending_ack,
        state.hops(request.ttl),
        request.id,
        source,
        request.target,
        request.content_type,
        request.headers,
        request.payload,
    )
