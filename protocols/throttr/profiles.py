"""The profiles of Throttr as data: `7.1.0` is the document, `7.3.2` what the newest released server speaks.

Each later profile is the differences from an earlier one. A third one would be added the same way: 5.0.1 (June 2025:
no EVENT, no auto-subscription, PUBLISH never answered, rows of 235 bytes), as the protocol's tests build and use it::

    V732.derive("5.0.1", without=(Event,), replies={Publish: ()}, pushes=(PushedMessage,), overrides=NO_CONNECTION_TYPE)

What a server *does* under a profile is in `wireproof.reference_server.throttr.rules`.
"""

from __future__ import annotations

from wireproof.protocols.errors import ErrorCode
from wireproof.protocols.fields import ABSENT, U8, U64, Blob, Kind
from wireproof.protocols.messages import Message, Reply, Request
from wireproof.protocols.profile import Profile, Variant
from wireproof.protocols.throttr.enums import PushLead, RequestType
from wireproof.protocols.throttr.replies import (
    ChannelReply,
    ChannelsReply,
    ChannelsRow,
    ConnectionRow,
    ConnectionsReply,
    EventReply,
    GetReply,
    InfoReply,
    ListReply,
    PushedEvent,
    PushedMessage,
    QueryReply,
    StatReply,
    StatsReply,
    Status,
    WhoamiReply,
)
from wireproof.protocols.throttr.requests import (
    VALUE,
    Channel,
    Channels,
    ConnectionById,
    ConnectionByIndex,
    Connections,
    Event,
    Get,
    Info,
    Insert,
    List,
    Publish,
    Purge,
    Query,
    Set,
    Stat,
    Stats,
    Subscribe,
    Unsubscribe,
    Update,
    Whoami,
)

VARIANTS = {
    name: Variant(name, {"value": size}) for name, size in (("uint8", 1), ("uint16", 2), ("uint32", 4), ("uint64", 8))
}
SUCCESS = b"\x01"
NO_CONNECTION_TYPE: dict[tuple[type[Message], str], Kind] = {
    (ConnectionRow, "type"): ABSENT,
    (ConnectionRow, "kind"): ABSENT,
}

CLAUSES = {
    ErrorCode.UNKNOWN_TYPE: "THR-FRAMING-15",
    ErrorCode.BAD_STATUS: "THR-FRAMING-5",
    ErrorCode.FRAME_TOO_LARGE: "THR-ROBUSTNESS-3",
    ErrorCode.TRUNCATED: "THR-FRAMING-3",
    ErrorCode.UNEXPECTED_MESSAGE: "THR-ROBUSTNESS-5",
}
"""What a wire error of each code breaks, in the clause list."""

_BARE: dict[type[Request], type[Reply]] = {
    List: ListReply,
    Info: InfoReply,
    Stats: StatsReply,
    Connections: ConnectionsReply,
    Channels: ChannelsReply,
    Whoami: WhoamiReply,
}
"""Replies that have no status byte in the document (T1, T2, T3)."""

_LED: dict[type[Request], tuple[type[Reply], ...]] = {
    Insert: (Status,),
    Query: (Status, QueryReply),
    Update: (Status,),
    Purge: (Status,),
    Set: (Status,),
    Get: (Status, GetReply),
    Stat: (Status, StatReply),
    Subscribe: (Status,),
    Unsubscribe: (Status,),
    Publish: (Status,),
    Channel: (Status, ChannelReply),
}
"""Requests answered by a status byte, and what follows a 01."""


def _type_byte(request: type[Request]) -> bytes:
    return bytes([RequestType[request.NAME]])


def _led(replies: dict[type[Request], tuple[type[Reply], ...]]) -> dict[type[Message], bytes]:
    leads: dict[type[Message], bytes] = {request: _type_byte(request) for request in replies}
    leads.update({reply: SUCCESS for answers in replies.values() for reply in answers if reply is not Status})
    return leads


V710 = Profile(
    name="7.1.0",
    byte_order="<",
    variants=VARIANTS,
    leads={
        **_led({**_LED, ConnectionByIndex: (Status, ConnectionRow)}),
        **{request: _type_byte(request) for request in _BARE},
        PushedMessage: bytes([PushLead.MESSAGE]),
    },
    replies={
        **_LED,
        ConnectionByIndex: (Status, ConnectionRow),
        **{request: (reply,) for request, reply in _BARE.items()},
    },
    pushes=(PushedMessage,),
    overrides=NO_CONNECTION_TYPE,
    clauses=CLAUSES,
)

_LED_732: dict[type[Request], tuple[type[Reply], ...]] = {
    ConnectionById: (Status, ConnectionRow),
    Event: (Status, EventReply),
    **{request: (Status, reply) for request, reply in _BARE.items()},
}

V732 = V710.derive(
    "7.3.2",
    without=(ConnectionByIndex,),
    leads={**_led(_LED_732), PushedEvent: bytes([PushLead.EVENT])},
    replies=_LED_732,
    pushes=(PushedEvent,),
    overrides={
        (Set, "value"): Blob(VALUE),
        (ChannelsRow, "subscribed_connections"): U64,
        (ConnectionRow, "type"): U8,
        (ConnectionRow, "kind"): U8,
    },
)

PROFILES = {profile.name: profile for profile in (V710, V732)}
