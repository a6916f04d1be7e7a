"""namechan, version 1: name channels, requests as s-expressions, answers as binary frames; errata N1 to N27."""

from wireproof.protocols.links import Link
from wireproof.protocols.messages import Message as AnyMessage
from wireproof.protocols.namechan.codec import Codec
from wireproof.protocols.namechan.connection import HookClient, HookServer, NamechanClient, NamechanServer
from wireproof.protocols.namechan.enums import Delivery, Persistence, Replay, Sync
from wireproof.protocols.namechan.profiles import HOOK, LINES, PROFILES, V1, V1_PUBLISH
from wireproof.protocols.namechan.replies import Error, Ping
from wireproof.protocols.namechan.requests import Ack, Blank, Connect, Unsubscribe, Version
from wireproof.protocols.namechan.states import State
from wireproof.protocols.registry import Protocol
from wireproof.protocols.sdk_traits import SdkTraits

ABSENT = b"wireproof/absent"
"""A topic that nobody subscribes: to unsubscribe it changes nothing and is answered by an Error (N8)."""


def canonical(message: AnyMessage) -> AnyMessage:
    """Return the message itself: there is one way to say it, however it is spelled."""
    return message


PROTOCOL = Protocol(
    name="namechan",
    profiles=PROFILES,
    default_profile="1",
    default_variant="standard",
    default_port=2874,
    codec=Codec.of,
    links={
        "lines": Link(
            client=NamechanClient,
            server=NamechanServer,
            sync_request=lambda: Unsubscribe(ABSENT),
            noop=lambda name: (Unsubscribe(ABSENT), Error()),
            handshake=lambda: (Version(), Connect(id=b"wireproof")),
            half_closes=False,
            requests=LINES,
            anytime=(Ping,),
            has_spellings=True,
            blank=(Blank,),
        ),
        "hook": Link(
            client=HookClient,
            server=HookServer,
            half_closes=False,
            requests=HOOK,
            listener="hook",
            has_spellings=True,
        ),
    },
    names={"replay": Replay, "delivery": Delivery, "persistence": Persistence, "sync": Sync},
    masked=frozenset({"text"}),
    chosen_ids=dict.fromkeys(("SUBSCRIBED.id", "UNSUBSCRIBED.id", "MESSAGE.topic"), "topic"),
    named_by=frozenset({"topic"}),
    push_name="MESSAGE",
    sdk=SdkTraits(
        own=frozenset({Version, Connect, Ack, Blank, Ping}),
        connect_fields={"client_id": "bytes", "timeout": "seconds"},
        samples={"replay": Replay.FROM_CURRENT, "MESSAGE.id": 1, "MESSAGE.topic": 1},
        canonical=canonical,
        once={Connect: "NCH-CLIENT-2"},
    ),
)

__all__ = [
    "PROFILES",
    "PROTOCOL",
    "V1",
    "V1_PUBLISH",
    "Codec",
    "Delivery",
    "HookClient",
    "HookServer",
    "NamechanClient",
    "NamechanServer",
    "Persistence",
    "Replay",
    "State",
    "Sync",
]
