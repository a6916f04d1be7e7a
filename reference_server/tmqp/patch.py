"""The interface of mutants: the parts of a TMQP server that a patch replaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from wireproof.protocols.messages import Message
from wireproof.protocols.profile import Profile
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
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.state import Handlers, State

__all__ = ["HandlerPatch", "Patch", "ProfilePatch"]

HandlerPatch = Callable[[Handlers, State], Handlers]
"""(correct handlers, state) -> the handlers to replace."""
ProfilePatch = Callable[[Profile], Profile]

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
class Patch:
    """Replacements of parts of a server; every other part stays correct."""

    used: ClassVar[Mapping[type[Message], frozenset[str]]] = USED
    """Message -> the fields that handlers read, or fill; what a session looks at before is not among them."""

    profile: ProfilePatch | None = None
    """Returns another wire layout."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Other values of `Rules`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other values of the server's options; they override the given ones."""
    state: type[State] = State
    handlers: HandlerPatch | None = None
    session: type[TmqpSession] = TmqpSession

    @property
    def is_of_handlers(self) -> bool:
        """Whether nothing but handlers is patched."""
        patched = (self.profile, self.rules, self.options, self.state, self.session)
        return self.handlers is not None and patched == (None, {}, {}, State, TmqpSession)

    def patched_profile(self, profile: Profile) -> Profile:
        """Return the profile that the server speaks instead of `profile`; the same object at each call."""
        return profile if self.profile is None else _patched(self, profile)


@cache
def _patched(patch: Patch, profile: Profile) -> Profile:
    assert patch.profile is not None
    return patch.profile(profile)
