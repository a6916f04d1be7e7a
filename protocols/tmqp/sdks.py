"""What SDKs of TMQP do by themselves: ids, sources and TTLs, the greeting, pings; and what two spellings say alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress

from msgspec.structs import replace

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.sdk_traits import SdkTraits
from wireproof.protocols.tmqp.connection import answers
from wireproof.protocols.tmqp.enums import DEFAULT_TTL
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.profiles import MESSAGES, OPERATIONS, SENT
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
    CreateChannel,
    CreateQueue,
    Custom,
    Hello,
    Operation,
    Ping,
    Produce,
    Protocol,
    Pull,
    Respond,
    Route,
    SendDirect,
    Subscribe,
    Terminate,
    UpdateQueue,
)

__all__ = ["SDK", "canonical"]

_MADE = frozenset({"id", "source"})
_FLAGS = frozenset({"one_delivery", "high_priority"})
_PENDING = frozenset({"pending_response", "pending_ack"})
_WITH_OPTIONS = CreateChannel | CreateQueue | UpdateQueue
CHOSEN: Mapping[type[Message], frozenset[str]] = {
    **dict.fromkeys((*OPERATIONS, Subscribe), _MADE | _FLAGS),
    Hello: _MADE | _FLAGS | _PENDING | {"target", "headers"},
    Produce: _MADE | {"one_delivery"},
    SendDirect: _MADE,
    Route: _MADE,
    Pull: _MADE | _FLAGS | _PENDING,
    Acknowledge: _PENDING | {"source", "one_delivery"},
    Respond: _PENDING | _FLAGS | {"source"},
    Response: _MADE | _FLAGS | _PENDING | {"target"},
    Confirmation: _MADE | _FLAGS | _PENDING | {"target", "content_type", "payload"},
    QueueMessage: frozenset({"one_delivery"}),
    DirectMessage: frozenset({"one_delivery"}),
    Notification: _FLAGS | _PENDING | {"id", "headers"},
}


def _properties(payload: bytes) -> dict[bytes, bytes]:
    """Return the properties in the text of a `Hello`, the first of each name, by their names in lower case."""
    found: dict[bytes, bytes] = {}
    for line in payload.splitlines():
        name, colon, value = line.partition(b":")
        if colon:
            found.setdefault(name.strip().lower(), value.strip())
    return found


def canonical(message: Message) -> Message:
    """Return the one way to write what says the same.

    Headers may come in any order, as may members of JSON and the properties of a `Hello`; any TTL but 0 is as good.
    """
    if not isinstance(message, RequestFrame):
        return message
    headers = tuple(sorted(message.headers, key=lambda one: one.name.lower()))
    payload = message.payload
    if isinstance(message, Hello):
        payload = repr(sorted(_properties(payload).items())).encode()
    elif isinstance(message, _WITH_OPTIONS):
        with suppress(ValueError):
            payload = json.dumps(json.loads(payload), sort_keys=True).encode()
    return replace(message, headers=headers, payload=payload, ttl=message.ttl and DEFAULT_TTL)


def _matches(request: Request, message: Message) -> bool:
    return answers(message, request)


_OWN: frozenset[type[Message]] = frozenset(
    (
        *(Protocol, Hello, Ping, AnswerPing, Terminate, Custom, Operation),
        *(ProtocolReply, Welcome, Pong, ServerPing, Closing, OtherFrame),
    )
)
_NUMBERS: frozenset[type[Message]] = frozenset((*MESSAGES.values(), *OPERATIONS, *SENT.values()))
SDK = SdkTraits(
    own=_OWN,
    hidden_fields=frozenset({"ttl"}),
    chosen_fields=CHOSEN,
    connect_fields={
        "client_id": "bytes",
        "client_name": "bytes",
        "client_type": "bytes",
        "client_token": "bytes",
        "timeout": "seconds",
        "tls": ("none", "tls"),
        "ca": "path",
    },
    samples={
        "one_delivery": 0,
        "high_priority": 0,
        "pending_response": 1,
        "pending_ack": 0,
        "ttl": DEFAULT_TTL,
        "content_type": 1,
        "HEADER.name": b"Queue-Id",
        "HEADER.value": b"1",
        **{f"{one.NAME}.payload": b"" for one in (CreateChannel, CreateQueue)},
        "UPDATE_QUEUE.payload": b"{}",
    },
    unnamed_numbers=_NUMBERS - {Response},
    matches=_matches,
    matched_by="id",
    listening="join",
    parting={Terminate: None},
    fixed=frozenset({AnswerPing}),
    canonical=canonical,
)
