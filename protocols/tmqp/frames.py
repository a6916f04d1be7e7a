"""The frame of TMQP, its layout written once for each direction ("Protocol Frame", E2, E3); facts 1.5 to 1.7."""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import U8, U16, Bits, Blob, Lines, Shortest, Terminated
from wireproof.protocols.messages import Message, Push, Reply, Request
from wireproof.protocols.tmqp.enums import DEFAULT_TTL

__all__ = ["Header", "PushFrame", "ReplyFrame", "RequestFrame"]


class Header(Message, frozen=True, gc=False):
    """A line of the header block; names are compared without regard to case, the first of a name counts."""

    NAME: ClassVar[str] = "HEADER"
    name: Annotated[bytes, Terminated(b":")]
    value: Annotated[bytes, Terminated(b"\r\n")]


OneDelivery = Annotated[int, Bits(0, 1)]
HighPriority = Annotated[int, Bits(1, 1)]
Kind = Annotated[int, Bits(2, 6)]
PendingResponse = Annotated[int, Bits(8, 1)]
PendingAck = Annotated[int, Bits(9, 1)]
Ttl = Annotated[int, Bits(11, 5)]
Name = Annotated[bytes, Blob(U8)]
ContentType = Annotated[int, U16]
Headers = Annotated[tuple[Header, ...], Lines(Header, U16, 10)]
Payload = Annotated[bytes, Blob(Shortest())]


class RequestFrame(Request, frozen=True, gc=False):
    """A frame that a client sends."""

    one_delivery: OneDelivery = 0
    high_priority: HighPriority = 0
    pending_response: PendingResponse = 0
    pending_ack: PendingAck = 0
    ttl: Ttl = DEFAULT_TTL
    id: Name = b""
    source: Name = b""
    target: Name = b""
    content_type: ContentType = 0
    headers: Headers = ()
    payload: Payload = b""


class ReplyFrame(Reply, frozen=True, gc=False):
    """A frame of a server that may answer a request: then it has its id."""

    one_delivery: OneDelivery = 0
    high_priority: HighPriority = 0
    pending_response: PendingResponse = 0
    pending_ack: PendingAck = 0
    ttl: Ttl = DEFAULT_TTL
    id: Name = b""
    source: Name = b""
    target: Name = b""
    content_type: ContentType = 0
    headers: Headers = ()
    payload: Payload = b""


class PushFrame(Push, frozen=True, gc=False):
    """A frame that a server sends of its own accord."""

    one_delivery: OneDelivery = 0
    high_priority: HighPriority = 0
    pending_response: PendingResponse = 0
    pending_ack: PendingAck = 0
    ttl: Ttl = DEFAULT_TTL
    id: Name = b""
    source: Name = b""
    target: Name = b""
    content_type: ContentType = 0
    headers: Headers = ()
    payload: Payload = b""
