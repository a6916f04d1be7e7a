"""The profiles of PSRT as data: `1` is the document under the errata, `psrtd-0.3` the released server.

Both have the same bytes; what the released server does otherwise is in the rules of the reference server.
"""

from __future__ import annotations

from wireproof.protocols.errors import ErrorCode
from wireproof.protocols.messages import Message, Reply, Request
from wireproof.protocols.profile import Profile, Variant
from wireproof.protocols.psrt.enums import CONTROL_HEADER, DATA_HEADER, Operation, PushLead
from wireproof.protocols.psrt.replies import (
    Beacon,
    DatagramReply,
    DataGreetingReply,
    GreetingReply,
    PushedMessage,
    Response,
    Token,
)
from wireproof.protocols.psrt.requests import (
    Attach,
    Bye,
    Content,
    Datagram,
    DataGreeting,
    Greeting,
    Login,
    Nop,
    Publish,
    PublishRepl,
    ReplData,
    Sealed,
    Subscribe,
    Unsubscribe,
)

OPERATIONS: tuple[type[Request], ...] = (Nop, Publish, Subscribe, Unsubscribe, PublishRepl, Bye)
"""What may be asked once logged in; each begins with a byte of its own."""
CONTROL: tuple[type[Request], ...] = (Greeting, Login, *OPERATIONS, ReplData)
DATA: tuple[type[Request], ...] = (DataGreeting, Attach)
DATAGRAMS: tuple[type[Request], ...] = (Datagram, Sealed)

_HEADERS: dict[type[Message], bytes] = {
    **dict.fromkeys((Greeting, GreetingReply, *DATAGRAMS, DatagramReply), CONTROL_HEADER),
    **dict.fromkeys((DataGreeting, DataGreetingReply), DATA_HEADER),
}
_REPLIES: dict[type[Request], tuple[type[Reply], ...]] = {
    Greeting: (GreetingReply,),
    Login: (Token,),
    **dict.fromkeys((*OPERATIONS, ReplData), (Response,)),
    DataGreeting: (DataGreetingReply,),
    Attach: (Response,),
    **dict.fromkeys(DATAGRAMS, (DatagramReply,)),
}

CLAUSES = {
    ErrorCode.UNKNOWN_TYPE: "PSRT-FRAMING-5",
    ErrorCode.BAD_STATUS: "PSRT-FRAMING-3",
    ErrorCode.FRAME_TOO_LARGE: "PSRT-LIMIT-5",
    ErrorCode.TRUNCATED: "PSRT-FRAMING-2",
    ErrorCode.UNEXPECTED_MESSAGE: "PSRT-ROBUSTNESS-10",
}
"""What a wire error of each code breaks, in the clause list."""

V1 = Profile(
    name="1",
    byte_order="<",
    variants={"standard": Variant("standard", {})},
    leads={
        **_HEADERS,
        **{request: bytes([Operation[request.NAME]]) for request in OPERATIONS},
        PushedMessage: bytes([PushLead.MESSAGE]),
        Beacon: bytes([PushLead.BEACON]),
    },
    replies=_REPLIES,
    pushes=(PushedMessage, Beacon),
    inner=(Content,),
    clauses=CLAUSES,
)
PSRTD = V1.derive("psrtd-0.3")

PROFILES = {profile.name: profile for profile in (V1, PSRTD)}
