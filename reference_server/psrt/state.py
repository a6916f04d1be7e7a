"""The state that all connections of one server share, and the types of handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from wireproof.protocols.messages import Reply, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.psrt import Codec, ResponseCode
from wireproof.protocols.psrt.replies import PushedMessage, Response
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.psrt.accounts import read_accounts
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.rules import Rules
from wireproof.reference_server.psrt.subscriptions import Subscriptions
from wireproof.reference_server.service import Ids, Limits

if TYPE_CHECKING:
    from wireproof.reference_server.psrt.feed import Feed
    from wireproof.reference_server.psrt.session import PsrtSession

__all__ = ["DENIED", "ERROR", "OK", "OK_WAITING", "UNWANTED", "Answer", "Handler", "Handlers", "RefusedError", "State"]

Answer = Reply | bytes
"""A reply, or bytes that are written instead (mutants send what has no message)."""
Handler = Callable[[Any, Any, int], Answer]
"""(request, session or sender of a datagram, now in monotonic ns) -> the answer; may raise RefusedError."""
Handlers = dict[type[Request], Handler]

OK: Final = Response(ResponseCode.OK)
OK_WAITING: Final = Response(ResponseCode.OK_WAITING)
UNWANTED: Final = Response(ResponseCode.NOT_REQUIRED)
DENIED: Final = Response(ResponseCode.ERR_ACCESS)
ERROR: Final = Response(ResponseCode.ERROR)


class RefusedError(Exception):
    """Raised by a handler that sends no answer: a stream is closed, a datagram dropped. The message says why."""


class State:
    """One server's accounts, clients and subscriptions, under the rules of its profile."""

    def __init__(
        self,
        profile: Profile,
        variant: str,
        clock: Clock,
        ids: Ids,
        limits: Limits,
        options: Mapping[str, Any],
        rules: Rules,
    ) -> None:
        self.codec = Codec.of(profile, variant)
        self.rules = rules
        self.clock = clock
        self.limits = limits
        self.options = options
        self.timeout_ns = round(options["timeout"] * 1e9)
        self.max_depth: int = options["max_topic_depth"]
        self.accounts = read_accounts(options)
        self.subscriptions: Subscriptions[Client] = Subscriptions(keeps_equal_masks=self.rules.keeps_equal_masks)
        self.clients: dict[bytes, Client] = {}
        """The clients that are logged in, by token."""
        self.sessions: dict[PsrtSession, None] = {}
        """Open connections, oldest first."""
        self.touched: list[Feed] = []
        """Data sockets that have messages to write once the current requests are answered."""
        self._ids = ids

    def new_token(self) -> bytes:
        """Return a token that no client has."""
        while (fresh := self._ids() + self._ids()) in self.clients:
            pass
        return fresh

    def publish(self, topic: str, priority: int, message: bytes) -> None:
        """Deliver a message to every subscriber of a topic; it is encoded once."""
        clients = self.subscriptions.match(topic)
        if clients:
            frame = self.codec.encode(PushedMessage(priority, topic.encode(), message))
            for client in clients:
                client.deliver(frame)

    def flush(self) -> None:
        """Write the messages that are queued for data sockets."""
        touched, self.touched = self.touched, []
        for feed in touched:
            feed.flush()

    def forget(self, client: Client) -> None:
        """Remove a client whose control socket is gone: token and subscriptions; close its data socket (P26)."""
        if self.clients.pop(client.token, None) is not None:
            self.subscriptions.leave(client)
            if client.data is not None:
                client.data.end()
