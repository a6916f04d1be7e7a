"""TMQP/2.0: a message queue with channels, queues, direct messages, events and routers; errata E1 to E37."""

from msgspec.structs import replace

from wireproof.protocols.links import Link
from wireproof.protocols.messages import Message
from wireproof.protocols.registry import Protocol
from wireproof.protocols.sdk_traits import SdkTraits
from wireproof.protocols.tmqp.codec import Codec
from wireproof.protocols.tmqp.connection import TmqpClient, TmqpServer
from wireproof.protocols.tmqp.enums import QueueStatus, ResultCode
from wireproof.protocols.tmqp.frames import Header, RequestFrame
from wireproof.protocols.tmqp.profiles import DOC, PROFILES, TWINO
from wireproof.protocols.tmqp.replies import Pong, Welcome
from wireproof.protocols.tmqp.requests import AnswerPing, Hello, Ping, Terminate
from wireproof.protocols.tmqp.requests import Protocol as Greeting
from wireproof.protocols.tmqp.states import State


def canonical(message: Message) -> Message:
    """Return the message with its headers in the order of their names, which says the same."""
    if isinstance(message, RequestFrame):
        return replace(message, headers=tuple(sorted(message.headers, key=lambda one: one.name.lower())))
    return message


PROTOCOL = Protocol(
    name="tmqp",
    profiles=PROFILES,
    default_profile="doc",
    default_variant="standard",
    default_port=2622,
    codec=Codec.of,
    links={
        "messages": Link(
            client=TmqpClient,
            server=TmqpServer,
            sync_request=Ping,
            noop=lambda name: (Ping(), Pong()),
            handshake=lambda: (Greeting(), Hello(payload=b"NONE /\r\n")),
            answers_in_order=False,
            pipelined_handshake=True,
            tls=True,
            half_closes=False,
            keeps_alive=True,
        ),
    },
    names={"content_type": ResultCode, "Status": QueueStatus},
    masked=frozenset({"id", "Online", "Lifetime", "LastMessageReceived", "LastMessageSent"}),
    named_by=frozenset({"target"}),
    push_name="MESSAGE",
    sdk=SdkTraits(
        own=frozenset({Greeting, Hello, Ping, AnswerPing, Terminate, Welcome, Pong}),
        canonical=canonical,
    ),
)

__all__ = [
    "DOC",
    "PROFILES",
    "PROTOCOL",
    "TWINO",
    "Codec",
    "Header",
    "QueueStatus",
    "ResultCode",
    "State",
    "TmqpClient",
    "TmqpServer",
]
