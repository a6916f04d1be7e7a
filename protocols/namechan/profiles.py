"""The profiles of namechan as data: `1` is the document under the errata, `1+publish` adds publishing (N1)."""

from __future__ import annotations

from wireproof.protocols.errors import ErrorCode
from wireproof.protocols.messages import Message as AnyMessage
from wireproof.protocols.messages import Reply, Request
from wireproof.protocols.namechan.enums import FrameType
from wireproof.protocols.namechan.replies import Error, Message, Outcome, Ping, Subscribed, Unsubscribed, VersionReply
from wireproof.protocols.namechan.requests import (
    Ack,
    Blank,
    Connect,
    HookCreate,
    HookPublish,
    Publish,
    Subscribe,
    Unsubscribe,
    Version,
)
from wireproof.protocols.profile import Profile, Variant

SIZE = 4
"""Bytes of the length of a frame."""
FRAMES: dict[type[AnyMessage], FrameType] = {
    Error: FrameType.ERROR,
    Ping: FrameType.PING,
    Message: FrameType.MESSAGE,
    Subscribed: FrameType.SUBSCRIBED,
    Unsubscribed: FrameType.UNSUBSCRIBED,
}
CONSTRUCTORS: dict[type[AnyMessage], bytes] = {
    Connect: b"Connect",
    Subscribe: b"Subscribe",
    Unsubscribe: b"Unsubscribe",
    Ack: b"Ack",
    Publish: b"Publish",
    HookCreate: b"Create",
    HookPublish: b"Publish",
}
HOOK: tuple[type[Request], ...] = (HookCreate, HookPublish)
_REPLIES: dict[type[Request], tuple[type[Reply], ...]] = {
    Version: (VersionReply,),
    Connect: (),
    Subscribe: (Subscribed, Error),
    Unsubscribe: (Unsubscribed, Error),
    Ack: (),
    Blank: (),
    HookCreate: (Outcome,),
    HookPublish: (Outcome,),
}
LINES: tuple[type[Request], ...] = (Version, Connect, Subscribe, Unsubscribe, Ack, Blank, Publish)
"""What a client sends to the server's own port."""
CLAUSES = {
    ErrorCode.UNKNOWN_TYPE: "NCH-FRAME-2",
    ErrorCode.LYING_LENGTH: "NCH-FRAME-1",
    ErrorCode.FRAME_TOO_LARGE: "NCH-LIMIT-1",
    ErrorCode.TRUNCATED: "NCH-FRAME-1",
    ErrorCode.BAD_VALUE: "NCH-FRAME-3",
}
"""What a wire error of each code breaks, in the clause list."""

V1 = Profile(
    name="1",
    byte_order=">",
    variants={"standard": Variant("standard", {})},
    leads=CONSTRUCTORS | {message: bytes([kind]) for message, kind in FRAMES.items()},
    replies=_REPLIES,
    sized=dict.fromkeys(FRAMES, SIZE),
    pushes=(Ping, Message),
    clauses=CLAUSES,
)
V1_PUBLISH = V1.derive("1+publish", replies={**_REPLIES, Publish: ()})
PROFILES = {profile.name: profile for profile in (V1, V1_PUBLISH)}
