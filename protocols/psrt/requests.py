"""What a client sends, each layout written once; facts 1.1 to 1.10, scopes of LEN by P4."""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import U8, U16, U32, U64, Blob, Raw, Rest, Split, Terminated
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.psrt.enums import NONCE_SIZE, TOKEN_SIZE


class Greeting(Request, frozen=True, gc=False):
    """The first three bytes on a control socket; mode 01 asks for TLS (P2)."""

    NAME: ClassVar[str] = "GREETING"
    mode: Annotated[int, U8]


class Login(Request, frozen=True, gc=False):
    """Who the client is; nothing on both sides of the 00 is the anonymous one (P5)."""

    NAME: ClassVar[str] = "LOGIN"
    login: Annotated[bytes, Split(U32)]
    password: Annotated[bytes, Rest()]


class Nop(Request, frozen=True, gc=False):
    """A ping of the client (P6)."""

    NAME: ClassVar[str] = "NOP"


class Publish(Request, frozen=True, gc=False):
    """Publishes a message to a topic."""

    NAME: ClassVar[str] = "PUBLISH"
    priority: Annotated[int, U8]
    topic: Annotated[bytes, Split(U32)]
    message: Annotated[bytes, Rest()]


class Subscribe(Request, frozen=True, gc=False):
    """Subscribes to topics, 00 between them (P9)."""

    NAME: ClassVar[str] = "SUBSCRIBE"
    topics: Annotated[bytes, Blob(U32)]


class Unsubscribe(Request, frozen=True, gc=False):
    """Takes subscriptions back, 00 between the topics (P9)."""

    NAME: ClassVar[str] = "UNSUBSCRIBE"
    topics: Annotated[bytes, Blob(U32)]


class PublishRepl(Request, frozen=True, gc=False):
    """Asks whether anybody is subscribed to a topic; answered OK_WAITING, a `ReplData` follows (P13)."""

    NAME: ClassVar[str] = "PUBLISH_REPL"
    topic: Annotated[bytes, Blob(U32)]


class ReplData(Request, frozen=True, gc=False):
    """The message of a replication; it has no byte that names it."""

    NAME: ClassVar[str] = "REPL_DATA"
    priority: Annotated[int, U8]
    timestamp: Annotated[int, U64]
    message: Annotated[bytes, Blob(U32)]


class Bye(Request, frozen=True, gc=False):
    """Ends the session (P7)."""

    NAME: ClassVar[str] = "BYE"


class DataGreeting(Request, frozen=True, gc=False):
    """The first three bytes on a data socket."""

    NAME: ClassVar[str] = "DATA_GREETING"
    mode: Annotated[int, U8]


class Attach(Request, frozen=True, gc=False):
    """The token of a control session and the seconds the client can go without hearing anything (P18)."""

    NAME: ClassVar[str] = "ATTACH"
    token: Annotated[bytes, Raw(TOKEN_SIZE)]
    timeout: Annotated[int, U8]


class Datagram(Request, frozen=True, gc=False):
    """A message published over UDP, in clear."""

    NAME: ClassVar[str] = "DATAGRAM"
    version: Annotated[int, U16]
    encryption: Annotated[int, U8]
    login: Annotated[bytes, Terminated()]
    password: Annotated[bytes, Terminated()]
    op: Annotated[int, U8]
    priority: Annotated[int, U8]
    topic: Annotated[bytes, Terminated()]
    message: Annotated[bytes, Rest()]


class Sealed(Request, frozen=True, gc=False):
    """A datagram whose `Content` only the holder of the login's key can read; its tag is the last 16 bytes (P22)."""

    NAME: ClassVar[str] = "SEALED"
    version: Annotated[int, U16]
    encryption: Annotated[int, U8]
    login: Annotated[bytes, Terminated()]
    nonce: Annotated[bytes, Raw(NONCE_SIZE)]
    sealed: Annotated[bytes, Rest()]


class Content(Message, frozen=True, gc=False):
    """What is sealed."""

    NAME: ClassVar[str] = "CONTENT"
    op: Annotated[int, U8]
    priority: Annotated[int, U8]
    topic: Annotated[bytes, Terminated()]
    message: Annotated[bytes, Rest()]
