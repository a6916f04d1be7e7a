"""The JSON values in payloads ("Models", "Event Types"); names and order as released servers write them (E25, E26)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import Json, JsonRows
from wireproof.protocols.messages import Message

Text = Annotated[bytes | None, Json("text")]
Whole = Annotated[int | None, Json("number")]
Truth = Annotated[bool | None, Json("flag")]
Wholes = Annotated[tuple[int, ...] | None, Json("numbers")]
GivenText = Annotated[bytes | None, Json("text", is_left_out=True)]
GivenWhole = Annotated[int | None, Json("number", is_left_out=True)]
GivenTruth = Annotated[bool | None, Json("flag", is_left_out=True)]
GivenWholes = Annotated[tuple[int, ...] | None, Json("numbers", is_left_out=True)]


class QueueOptions(Message, frozen=True, gc=False):
    """Options of a queue; those left out keep their defaults."""

    NAME: ClassVar[str] = "QUEUE_OPTIONS"
    SendOnlyFirstAcquirer: GivenTruth = None
    RequestAcknowledge: GivenTruth = None
    AcknowledgeTimeout: GivenWhole = None
    MessageTimeout: GivenWhole = None
    UseMessageId: GivenTruth = None
    WaitForAcknowledge: GivenTruth = None
    HideClientNames: GivenTruth = None
    Status: GivenWhole = None
    MessageDeliveryHandler: GivenText = None
    MessageLimit: GivenWhole = None


class ChannelOptions(QueueOptions, frozen=True, gc=False):
    """Options of a channel, and of its queues."""

    NAME: ClassVar[str] = "CHANNEL_OPTIONS"
    AllowMultipleQueues: GivenTruth = None
    AllowedQueues: GivenWholes = None
    EventHandler: GivenText = None
    ChannelEventHandler: GivenText = None
    Authenticator: GivenText = None
    ClientLimit: GivenWhole = None
    QueueLimit: GivenWhole = None
    DestroyWhenEmpty: GivenTruth = None


class ChannelInformation(Message, frozen=True, gc=False):
    """What a channel is."""

    NAME: ClassVar[str] = "CHANNEL_INFORMATION"
    Name: Text = None
    Queues: Wholes = None
    AllowMultipleQueues: Truth = None
    AllowedQueues: Wholes = None
    OnlyFirstAcquirer: Truth = None
    RequestAcknowledge: Truth = None
    AcknowledgeTimeout: Whole = None
    MessageTimeout: Whole = None
    UseMessageId: Truth = None
    WaitForAcknowledge: Truth = None
    HideClientNames: Truth = None
    ActiveClients: Whole = None
    ClientLimit: Whole = None
    QueueLimit: Whole = None
    DestroyWhenEmpty: Truth = None


class QueueInformation(Message, frozen=True, gc=False):
    """What a queue is, and has done."""

    NAME: ClassVar[str] = "QUEUE_INFORMATION"
    Channel: Text = None
    TagName: Text = None
    Id: Whole = None
    PriorityMessages: Whole = None
    Messages: Whole = None
    Status: Text = None
    OnlyFirstAcquirer: Truth = None
    RequestAcknowledge: Truth = None
    AcknowledgeTimeout: Whole = None
    MessageTimeout: Whole = None
    UseMessageId: Truth = None
    WaitForAcknowledge: Truth = None
    HideClientNames: Truth = None
    ReceivedMessages: Whole = None
    SentMessages: Whole = None
    Deliveries: Whole = None
    NegativeAcks: Whole = None
    Acks: Whole = None
    TimeoutMessages: Whole = None
    SavedMessages: Whole = None
    RemovedMessages: Whole = None
    Errors: Whole = None
    LastMessageReceived: Whole = None
    LastMessageSent: Whole = None
    MessageLimit: Whole = None
    MessageSizeLimit: Whole = None


class NodeInformation(Message, frozen=True, gc=False):
    """A node that is linked."""

    NAME: ClassVar[str] = "NODE_INFORMATION"
    Id: Text = None
    Name: Text = None
    Host: Text = None
    Slave: Truth = None
    Connected: Truth = None
    Lifetime: Whole = None


class ClientInformation(Message, frozen=True, gc=False):
    """A client that is connected."""

    NAME: ClassVar[str] = "CLIENT_INFORMATION"
    Id: Text = None
    Name: Text = None
    Type: Text = None
    Online: Whole = None
    IsAuthenticated: Truth = None


class ChannelList(Message, frozen=True, gc=False):
    """Several channels."""

    NAME: ClassVar[str] = "CHANNEL_LIST"
    rows: Annotated[tuple[ChannelInformation, ...], JsonRows(ChannelInformation)]


class QueueList(Message, frozen=True, gc=False):
    """Several queues."""

    NAME: ClassVar[str] = "QUEUE_LIST"
    rows: Annotated[tuple[QueueInformation, ...], JsonRows(QueueInformation)]


class NodeList(Message, frozen=True, gc=False):
    """Several nodes."""

    NAME: ClassVar[str] = "NODE_LIST"
    rows: Annotated[tuple[NodeInformation, ...], JsonRows(NodeInformation)]


class ClientList(Message, frozen=True, gc=False):
    """Several clients."""

    NAME: ClassVar[str] = "CLIENT_LIST"
    rows: Annotated[tuple[ClientInformation, ...], JsonRows(ClientInformation)]


class ClientEvent(Message, frozen=True, gc=False):
    """A client came or went."""

    NAME: ClassVar[str] = "CLIENT_EVENT"
    Id: Text = None
    Name: Text = None
    Type: Text = None
    Node: Text = None


class ChannelEvent(Message, frozen=True, gc=False):
    """A channel was created or removed."""

    NAME: ClassVar[str] = "CHANNEL_EVENT"
    Name: Text = None
    ActiveClients: Whole = None
    ClientLimit: Whole = None
    Node: Text = None


class SubscriptionEvent(Message, frozen=True, gc=False):
    """A client joined or left a channel."""

    NAME: ClassVar[str] = "SUBSCRIPTION_EVENT"
    Channel: Text = None
    ClientId: Text = None
    ClientName: Text = None
    ClientType: Text = None
    Node: Text = None


class QueueEvent(Message, frozen=True, gc=False):
    """A queue was created, changed or removed."""

    NAME: ClassVar[str] = "QUEUE_EVENT"
    Channel: Text = None
    Id: Whole = None
    Tag: Text = None
    Status: Text = None
    PriorityMessages: Whole = None
    Messages: Whole = None
    Node: Text = None


class MessageEvent(Message, frozen=True, gc=False):
    """A message was pushed into a queue."""

    NAME: ClassVar[str] = "MESSAGE_EVENT"
    Channel: Text = None
    Queue: Whole = None
    Id: Text = None
    Saved: Truth = None
    ProducerId: Text = None
    ProducerName: Text = None
    ProducerType: Text = None


BODIES: tuple[type[Message], ...] = (
    QueueOptions,
    ChannelOptions,
    ChannelInformation,
    QueueInformation,
    NodeInformation,
    ClientInformation,
    ChannelList,
    QueueList,
    NodeList,
    ClientList,
    ClientEvent,
    ChannelEvent,
    SubscriptionEvent,
    QueueEvent,
    MessageEvent,
)
