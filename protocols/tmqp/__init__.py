"""TMQP/2.0: a message queue with channels, queues, direct messages, events and routers; errata E1 to E37."""

from wireproof.protocols.links import Link
from wireproof.protocols.registry import Protocol
from wireproof.protocols.tmqp.codec import Codec
from wireproof.protocols.tmqp.connection import TmqpClient, TmqpServer
from wireproof.protocols.tmqp.enums import QueueStatus, ResultCode
from wireproof.protocols.tmqp.frames import Header
from wireproof.protocols.tmqp.profiles import DOC, PROFILES, TWINO
from wireproof.protocols.tmqp.replies import Pong
from wireproof.protocols.tmqp.requests import Hello, Ping
from wireproof.protocols.tmqp.requests import Protocol as Greeting
from wireproof.protocols.tmqp.sdks import SDK
from wireproof.protocols.tmqp.states import State

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
    chosen_ids={"MESSAGE_EVENT.Id": "message"},
    granted_ids={"WELCOME.target": "client"},
    named_by=frozenset({"target"}),
    push_name="MESSAGE",
    sdk=SDK,
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
