"""What a client sends. Server operations are messages of their own: their content types are the profile's (E9)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import Raw
from wireproof.protocols.messages import Request
from wireproof.protocols.tmqp.enums import VERSION
from wireproof.protocols.tmqp.frames import Kind, RequestFrame


class Protocol(Request, frozen=True, gc=False):
    """The first eight bytes (E5)."""

    NAME: ClassVar[str] = "PROTOCOL"
    version: Annotated[bytes, Raw(8)] = VERSION


class Hello(RequestFrame, frozen=True, gc=False):
    """The first frame: who the client is, as lines of text (E7)."""

    NAME: ClassVar[str] = "HELLO"


class Ping(Request, frozen=True, gc=False):
    """Asks whether the server is there; eight fixed bytes, read with any flags (E4)."""

    NAME: ClassVar[str] = "PING"


class AnswerPing(Request, frozen=True, gc=False):
    """Answers a ping of the server; eight fixed bytes."""

    NAME: ClassVar[str] = "ANSWER_PING"


class Terminate(RequestFrame, frozen=True, gc=False):
    """The client closes (E37)."""

    NAME: ClassVar[str] = "TERMINATE"


class Custom(RequestFrame, frozen=True, gc=False):
    """A frame of a type that the server does not process."""

    NAME: ClassVar[str] = "CUSTOM"
    type: Kind = 0


class Operation(RequestFrame, frozen=True, gc=False):
    """A server operation that the profile does not have."""

    NAME: ClassVar[str] = "OPERATION"


class CreateChannel(RequestFrame, frozen=True, gc=False):
    """Creates the channel in target; the payload may be CHANNEL_OPTIONS."""

    NAME: ClassVar[str] = "CREATE_CHANNEL"


class DeleteChannel(RequestFrame, frozen=True, gc=False):
    """Deletes the channel in target with its queues."""

    NAME: ClassVar[str] = "DELETE_CHANNEL"


class ListChannels(RequestFrame, frozen=True, gc=False):
    """Asks for the channels that match the filter in target (E30)."""

    NAME: ClassVar[str] = "LIST_CHANNELS"


class ChannelInfo(RequestFrame, frozen=True, gc=False):
    """Asks for the channel in target."""

    NAME: ClassVar[str] = "CHANNEL_INFO"


class ListConsumers(RequestFrame, frozen=True, gc=False):
    """Asks for the clients of the channel in target; released servers only."""

    NAME: ClassVar[str] = "LIST_CONSUMERS"


class Join(RequestFrame, frozen=True, gc=False):
    """Joins the channel in target."""

    NAME: ClassVar[str] = "JOIN"


class Leave(RequestFrame, frozen=True, gc=False):
    """Leaves the channel in target."""

    NAME: ClassVar[str] = "LEAVE"


class CreateQueue(RequestFrame, frozen=True, gc=False):
    """Creates the queue of header Queue-Id; the payload may be QUEUE_OPTIONS."""

    NAME: ClassVar[str] = "CREATE_QUEUE"


class UpdateQueue(RequestFrame, frozen=True, gc=False):
    """Gives the queue of header Queue-Id the options in the payload."""

    NAME: ClassVar[str] = "UPDATE_QUEUE"


class DeleteQueue(RequestFrame, frozen=True, gc=False):
    """Deletes the queue of header Queue-Id (E12)."""

    NAME: ClassVar[str] = "DELETE_QUEUE"


class ClearQueue(RequestFrame, frozen=True, gc=False):
    """Drops the messages of the queue of header Queue-Id; released servers only."""

    NAME: ClassVar[str] = "CLEAR_QUEUE"


class ListQueues(RequestFrame, frozen=True, gc=False):
    """Asks for the queues of the channel in target."""

    NAME: ClassVar[str] = "LIST_QUEUES"


class QueueInfo(RequestFrame, frozen=True, gc=False):
    """Asks for the queue of header Queue-Id (E12)."""

    NAME: ClassVar[str] = "QUEUE_INFO"


class ListNodes(RequestFrame, frozen=True, gc=False):
    """Asks for the nodes that are linked."""

    NAME: ClassVar[str] = "LIST_NODES"


class ListClients(RequestFrame, frozen=True, gc=False):
    """Asks for the clients whose type matches the filter in target."""

    NAME: ClassVar[str] = "LIST_CLIENTS"


class Produce(RequestFrame, frozen=True, gc=False):
    """Pushes the payload into the queue `content_type` of the channel in target."""

    NAME: ClassVar[str] = "PRODUCE"


class SendDirect(RequestFrame, frozen=True, gc=False):
    """A message to the client, name or type in target (E14)."""

    NAME: ClassVar[str] = "SEND_DIRECT"


class Acknowledge(RequestFrame, frozen=True, gc=False):
    """Acknowledges the message of that id; with header Nack-Reason, says that it failed."""

    NAME: ClassVar[str] = "ACKNOWLEDGE"


class Respond(RequestFrame, frozen=True, gc=False):
    """Answers the direct message of that id."""

    NAME: ClassVar[str] = "RESPOND"


class Pull(RequestFrame, frozen=True, gc=False):
    """Asks for messages of the queue `content_type` of the channel in target."""

    NAME: ClassVar[str] = "PULL"


class Subscribe(RequestFrame, frozen=True, gc=False):
    """Subscribes to the event in target with content type 1, otherwise takes that back."""

    NAME: ClassVar[str] = "EVENT"


class Route(RequestFrame, frozen=True, gc=False):
    """Publishes the payload to the router in target."""

    NAME: ClassVar[str] = "ROUTE"
