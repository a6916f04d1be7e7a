"""What a server sends: frames that may answer a request, and frames of its own accord."""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import Raw
from wireproof.protocols.messages import Push, Reply
from wireproof.protocols.tmqp.enums import VERSION
from wireproof.protocols.tmqp.frames import Kind, PushFrame, ReplyFrame


class ProtocolReply(Reply, frozen=True, gc=False):
    """The first eight bytes of a server."""

    NAME: ClassVar[str] = "PROTOCOL_REPLY"
    version: Annotated[bytes, Raw(8)] = VERSION


class Welcome(ReplyFrame, frozen=True, gc=False):
    """Answers the first frame: 202 with the client's id in target, or why it is refused (E8)."""

    NAME: ClassVar[str] = "WELCOME"


class Pong(Reply, frozen=True, gc=False):
    """Answers a ping."""

    NAME: ClassVar[str] = "PONG"


class Response(ReplyFrame, frozen=True, gc=False):
    """The result of a request, or what another client answers; its content type is the result (E20)."""

    NAME: ClassVar[str] = "RESPONSE"


class Confirmation(ReplyFrame, frozen=True, gc=False):
    """An acknowledgement of the server or of a consumer; with header Nack-Reason, that it failed (E22)."""

    NAME: ClassVar[str] = "CONFIRMATION"


class QueueMessage(PushFrame, frozen=True, gc=False):
    """A message of a queue; with header No-Content, what became of a pull."""

    NAME: ClassVar[str] = "MESSAGE"


class DirectMessage(PushFrame, frozen=True, gc=False):
    """A message of another client."""

    NAME: ClassVar[str] = "DIRECT"


class Notification(PushFrame, frozen=True, gc=False):
    """An event; its name is the source (E23)."""

    NAME: ClassVar[str] = "NOTIFICATION"


class ServerPing(Push, frozen=True, gc=False):
    """Asks whether the client is there."""

    NAME: ClassVar[str] = "SERVER_PING"


class Closing(PushFrame, frozen=True, gc=False):
    """The server closes."""

    NAME: ClassVar[str] = "CLOSING"


class OtherFrame(PushFrame, frozen=True, gc=False):
    """A frame of a type that clients do not process."""

    NAME: ClassVar[str] = "OTHER"
    type: Kind = 0
