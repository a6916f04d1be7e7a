"""What of a TMQP server's messages its handlers read: mutants of other fields would show nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp.replies import Confirmation, Notification, Response, Welcome
from wireproof.protocols.tmqp.requests import (
    Acknowledge,
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
    Produce,
    Pull,
    QueueInfo,
    Respond,
    Route,
    SendDirect,
    Subscribe,
    Terminate,
    UpdateQueue,
)
from wireproof.reference_server import patch

__all__ = ["Patch"]

_ANSWERED = frozenset({"one_delivery", "high_priority", "pending_response", "pending_ack", "id"})
_OF_CHANNELS = (DeleteChannel, ChannelInfo, ListConsumers, Join, Leave, ListChannels, ListQueues, ListClients)
_OF_QUEUES = (DeleteQueue, QueueInfo, ClearQueue)
_RELAYED = _ANSWERED | {"ttl", "target", "content_type", "headers", "payload"}
USED: Mapping[type[Message], frozenset[str]] = {
    **dict.fromkeys(_OF_CHANNELS, _ANSWERED | {"target"}),
    **dict.fromkeys(_OF_QUEUES, _ANSWERED | {"target", "headers"}),
    **dict.fromkeys((CreateQueue, UpdateQueue), _ANSWERED | {"target", "headers", "payload"}),
    **dict.fromkeys((SendDirect, Acknowledge, Respond), _RELAYED),
    **dict.fromkeys((Terminate, Custom), frozenset()),
    **dict.fromkeys((ListNodes, Operation), _ANSWERED),
    CreateChannel: _ANSWERED | {"target", "payload"},
    Subscribe: _ANSWERED | {"target", "content_type", "headers"},
    Hello: frozenset({"payload"}),
    Produce: _RELAYED - {"one_delivery"},
    Route: _RELAYED - {"ttl"},
    Pull: frozenset({"id", "target", "content_type", "headers"}),
    Welcome: frozenset({"one_delivery", "ttl", "target", "content_type"}),
    Response: frozenset({"one_delivery", "high_priority", "ttl", "id", "target", "content_type", "payload"}),
    Notification: frozenset({"ttl", "source", "target", "content_type", "payload"}),
    Confirmation: frozenset({"one_delivery", "high_priority", "ttl", "id", "target", "content_type", "headers"}),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Patch(patch.Patch):
    """Replacements of parts of a TMQP server."""

    used: ClassVar[Mapping[type[Message], frozenset[str]]] = USED
    """What a session looks at before the handlers is not among them."""
    slave: Callable[..., Any] | None = None
    """The connection of a slave, `SlaveSession`."""

    @property
    def is_of_handlers(self) -> bool:
        """Whether nothing but handlers is patched."""
        return self.slave is None and super().is_of_handlers
