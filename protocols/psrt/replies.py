"""What a server sends, each layout written once; facts 1.2 to 1.9."""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import U8, U16, U32, Raw, Rest, Split
from wireproof.protocols.messages import Push, Reply
from wireproof.protocols.psrt.enums import TOKEN_SIZE


class GreetingReply(Reply, frozen=True, gc=False):
    """The version that the server speaks on a control socket."""

    NAME: ClassVar[str] = "GREETING_REPLY"
    version: Annotated[int, U16]


class DataGreetingReply(Reply, frozen=True, gc=False):
    """The version that the server speaks on a data socket."""

    NAME: ClassVar[str] = "DATA_GREETING_REPLY"
    version: Annotated[int, U16]


class Token(Reply, frozen=True, gc=False):
    """Answers a login that was accepted; what the data socket is attached with."""

    NAME: ClassVar[str] = "TOKEN"
    token: Annotated[bytes, Raw(TOKEN_SIZE)]


class Response(Reply, frozen=True, gc=False):
    """Answers an operation or a token with one byte."""

    NAME: ClassVar[str] = "RESPONSE"
    code: Annotated[int, U8]


class DatagramReply(Reply, frozen=True, gc=False):
    """Answers a datagram that asks for it (P21)."""

    NAME: ClassVar[str] = "DATAGRAM_REPLY"
    version: Annotated[int, U16]
    code: Annotated[int, U8]


class PushedMessage(Push, frozen=True, gc=False):
    """A message of a topic the client is subscribed to."""

    NAME: ClassVar[str] = "MESSAGE"
    priority: Annotated[int, U8]
    topic: Annotated[bytes, Split(U32)]
    message: Annotated[bytes, Rest()]


class Beacon(Push, frozen=True, gc=False):
    """Tells that the server is there while it has nothing else to send (P17)."""

    NAME: ClassVar[str] = "BEACON"
