"""What a server sends: the version, then frames of a length, a type and a payload; and the answers of the hook."""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import U32, U64, Atom, Rest, Signed, Terminated
from wireproof.protocols.messages import Push, Reply
from wireproof.protocols.namechan.enums import VERSION

TopicId = Annotated[int, Atom("number", maximum=(1 << 32) - 1, is_member=True)]
TopicName = Annotated[bytes, Atom("text", is_member=True)]


class VersionReply(Reply, frozen=True, gc=False):
    """The version of the client, or -1 (N5)."""

    NAME: ClassVar[str] = "VERSION_REPLY"
    version: Annotated[int, Signed(8)] = VERSION


class Error(Reply, frozen=True, gc=False):
    """What went wrong, as text; it answers the oldest request that waits, or nothing."""

    NAME: ClassVar[str] = "ERROR"
    text: Annotated[bytes, Rest()] = b""


class Subscribed(Reply, frozen=True, gc=False):
    """The topic that was subscribed, as a record (N2)."""

    NAME: ClassVar[str] = "SUBSCRIBED"
    id: TopicId = 0
    topic: TopicName = b""


class Unsubscribed(Reply, frozen=True, gc=False):
    """The topic that was unsubscribed, as a record (N16)."""

    NAME: ClassVar[str] = "UNSUBSCRIBED"
    id: TopicId = 0
    topic: TopicName = b""


class Ping(Push, frozen=True, gc=False):
    """The server's time in seconds since 1970 (N3)."""

    NAME: ClassVar[str] = "PING"
    time: Annotated[int, U32] = 0


class Message(Push, frozen=True, gc=False):
    """A message of a topic."""

    NAME: ClassVar[str] = "MESSAGE"
    id: Annotated[int, U64]
    topic: Annotated[int, U32]
    body: Annotated[bytes, Rest()] = b""


class Outcome(Reply, frozen=True, gc=False):
    """A line of the hook: `ok`, or `error` and why."""

    NAME: ClassVar[str] = "OUTCOME"
    text: Annotated[bytes, Terminated(b"\n")] = b"ok"
