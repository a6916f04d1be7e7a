"""The profiles of TMQP as data: `doc` is the document under the errata, `twino-3.0.0` the released server.

The frame is the same; the numbers of the server operations differ (E9), and what the server does is in its rules.
"""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.protocols.errors import ErrorCode
from wireproof.protocols.fields import Constant, Kind
from wireproof.protocols.messages import Message, Reply, Request
from wireproof.protocols.profile import Profile, Variant
from wireproof.protocols.tmqp.bodies import BODIES
from wireproof.protocols.tmqp.enums import HELLO, FrameType
from wireproof.protocols.tmqp.replies import (
    Closing,
    Confirmation,
    DirectMessage,
    Notification,
    OtherFrame,
    Pong,
    ProtocolReply,
    QueueMessage,
    Response,
    ServerPing,
    Welcome,
)
from wireproof.protocols.tmqp.requests import (
    Acknowledge,
    AnswerPing,
    ChannelInfo,
    ClearQueue,
    CreateChannel,
    CreateQueue,
    Custom,
    DeleteChannel,
    DeleteQueue,
    Hello,
    Join,
    Leave,
    ListChannels,
    ListClients,
    ListConsumers,
    ListNodes,
    ListQueues,
    Operation,
    Ping,
    Produce,
    Protocol,
    Pull,
    QueueInfo,
    Respond,
    Route,
    SendDirect,
    Subscribe,
    Terminate,
    UpdateQueue,
)

NUMBERS: Mapping[type[Request], int] = {
    CreateChannel: 101,
    DeleteChannel: 103,
    ListChannels: 104,
    ChannelInfo: 105,
    Join: 110,
    Leave: 111,
    CreateQueue: 201,
    UpdateQueue: 202,
    DeleteQueue: 203,
    ListQueues: 204,
    QueueInfo: 205,
    ListNodes: 301,
    ListClients: 302,
}
"""Server operation -> its content type in the document."""
RELEASED_NUMBERS: Mapping[type[Request], int] = {
    Join: 601,
    Leave: 602,
    CreateChannel: 603,
    DeleteChannel: 604,
    ChannelInfo: 605,
    ListChannels: 606,
    ListConsumers: 607,
    CreateQueue: 610,
    DeleteQueue: 611,
    UpdateQueue: 612,
    ClearQueue: 613,
    QueueInfo: 615,
    ListQueues: 616,
    ListNodes: 621,
    ListClients: 631,
}
"""The same in every release."""
OPERATIONS: tuple[type[Request], ...] = tuple(RELEASED_NUMBERS)
MESSAGES: Mapping[FrameType, type[Request]] = {
    FrameType.TERMINATE: Terminate,
    FrameType.SERVER: Operation,
    FrameType.QUEUE_MESSAGE: Produce,
    FrameType.DIRECT: SendDirect,
    FrameType.ACKNOWLEDGE: Acknowledge,
    FrameType.RESPONSE: Respond,
    FrameType.PULL: Pull,
    FrameType.EVENT: Subscribe,
    FrameType.ROUTER: Route,
    FrameType.CUSTOM: Custom,
}
"""Type -> what a client sends; any other type is a `Custom`, too."""
SENT: Mapping[FrameType, type[Message]] = {
    FrameType.TERMINATE: Closing,
    FrameType.SERVER: Welcome,
    FrameType.QUEUE_MESSAGE: QueueMessage,
    FrameType.DIRECT: DirectMessage,
    FrameType.ACKNOWLEDGE: Confirmation,
    FrameType.RESPONSE: Response,
    FrameType.EVENT: Notification,
    FrameType.CUSTOM: OtherFrame,
}
"""Type -> what a server sends; any other type is an `OtherFrame`, too."""
PING_FRAME, PONG_FRAME = bytes.fromhex("89ff000000000000"), bytes.fromhex("8aff000000000000")

_REPLIES: dict[type[Request], tuple[type[Reply], ...]] = {
    Protocol: (ProtocolReply,),
    Hello: (Welcome,),
    Ping: (Pong,),
    AnswerPing: (),
    Terminate: (),
    Custom: (),
    **dict.fromkeys((*OPERATIONS, Operation, Subscribe, Produce, SendDirect, Route), (Response, Confirmation)),
    Pull: (Response,),
    Acknowledge: (),
    Respond: (),
}
_OF_RELEASES = (ListConsumers, ClearQueue)


def _numbered(numbers: Mapping[type[Request], int]) -> dict[tuple[type[Message], str], Kind]:
    """Return the overrides that give operations their content types; the first frame has its own (E7)."""
    pairs: list[tuple[type[Message], int]] = [(Hello, HELLO), *numbers.items()]
    return {(message, "content_type"): Constant(2, number) for message, number in pairs}


def _leads() -> dict[type[Message], bytes]:
    """Return what each message begins with: its type, to which flags are added."""
    types: list[tuple[type[Message], FrameType]] = [(message, kind) for kind, message in MESSAGES.items()]
    types += [(message, FrameType.SERVER) for message in OPERATIONS]
    types += [(Hello, FrameType.SERVER)]
    types += [(message, kind) for kind, message in SENT.items()]
    leads = {message: bytes([kind, 0]) for message, kind in types}
    return leads | {Ping: PING_FRAME, ServerPing: PING_FRAME, Pong: PONG_FRAME, AnswerPing: PONG_FRAME}


CLAUSES = {
    ErrorCode.UNKNOWN_TYPE: "TMQP-HANDSHAKE-2",
    ErrorCode.FRAME_TOO_LARGE: "TMQP-FRAME-9",
    ErrorCode.TRUNCATED: "TMQP-FRAME-1",
    ErrorCode.UNEXPECTED_MESSAGE: "TMQP-PING-2",
}
"""What a wire error of each code breaks, in the clause list."""

DOC = Profile(
    name="doc",
    byte_order="<",
    variants={"standard": Variant("standard", {})},
    leads=_leads(),
    replies={request: answers for request, answers in _REPLIES.items() if request not in _OF_RELEASES},
    pushes=(QueueMessage, DirectMessage, Notification, ServerPing, Closing, OtherFrame),
    inner=BODIES,
    overrides=_numbered(NUMBERS),
    clauses=CLAUSES,
)
TWINO = DOC.derive(
    "twino-3.0.0", replies=_REPLIES, overrides=_numbered(RELEASED_NUMBERS), unsegmented=frozenset({Protocol})
)
PROFILES = {profile.name: profile for profile in (DOC, TWINO)}

__all__ = [
    "DOC",
    "MESSAGES",
    "NUMBERS",
    "OPERATIONS",
    "PING_FRAME",
    "PONG_FRAME",
    "PROFILES",
    "RELEASED_NUMBERS",
    "SENT",
    "TWINO",
]
