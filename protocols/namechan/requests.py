"""What a client sends: the version, then s-expressions, one a line; and what a harness says at the hook (N1, N21)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import Atom, Signed, Word
from wireproof.protocols.messages import Request
from wireproof.protocols.namechan.enums import VERSION, Delivery, Persistence, Replay, Sync

Text = Annotated[bytes, Atom("text")]
EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first and last microsecond of the years 1 to 9999."""


def _words(kind: type[Delivery | Persistence | Replay | Sync]) -> tuple[str, ...]:
    return tuple(one.name.capitalize() for one in kind)


class Version(Request, frozen=True, gc=False):
    """The first eight bytes."""

    NAME: ClassVar[str] = "VERSION"
    version: Annotated[int, Signed(8)] = VERSION


class Connect(Request, frozen=True, gc=False):
    """The first line: the version again, and who the client is (N6, N20)."""

    NAME: ClassVar[str] = "CONNECT"
    version: Annotated[int, Atom("number", minimum=-(1 << 63), maximum=(1 << 63) - 1)] = VERSION
    id: Text = b""


class Subscribe(Request, frozen=True, gc=False):
    """Asks for the messages of a topic, from a place on; `message` goes with FROM_MESSAGE."""

    NAME: ClassVar[str] = "SUBSCRIBE"
    topic: Text
    replay: Annotated[int, Word(_words(Replay), takes=Replay.FROM_MESSAGE)] = Replay.FROM_CURRENT
    message: Annotated[int, Atom("number")] = 0


class Unsubscribe(Request, frozen=True, gc=False):
    """Asks for no more messages of a topic."""

    NAME: ClassVar[str] = "UNSUBSCRIBE"
    topic: Text


class Ack(Request, frozen=True, gc=False):
    """Answers a ping with its time, in microseconds since 1970 (N4)."""

    NAME: ClassVar[str] = "ACK"
    time: Annotated[int, Atom("time", minimum=EARLIEST, maximum=LATEST)]


class Publish(Request, frozen=True, gc=False):
    """Publishes a message: the extension of profile 1+publish, answered only where it fails (N1)."""

    NAME: ClassVar[str] = "PUBLISH"
    topic: Text
    body: Text


class Blank(Request, frozen=True, gc=False):
    """An empty line, or one with nothing but comments, which says nothing (N14)."""

    NAME: ClassVar[str] = "BLANK"


class HookCreate(Request, frozen=True, gc=False):
    """Asks for a queue; one that is there with the same settings is kept. `sync` goes with PERSISTENT."""

    NAME: ClassVar[str] = "HOOK_CREATE"
    topic: Text
    delivery: Annotated[int, Word(_words(Delivery))] = Delivery.BROADCAST
    persistence: Annotated[int, Word(_words(Persistence), takes=Persistence.PERSISTENT)] = Persistence.TRANSIENT
    sync: Annotated[int, Word(_words(Sync))] = Sync.STRONG


class HookPublish(Request, frozen=True, gc=False):
    """Publishes a message for a harness."""

    NAME: ClassVar[str] = "HOOK_PUBLISH"
    topic: Text
    body: Text
