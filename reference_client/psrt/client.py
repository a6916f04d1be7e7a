"""The PSRT SDK: `async with Client.connect("127.0.0.1", 2873) as client: await client.publish(b"a/b", b"hello")`.

Calls may overlap: they are sent in the order in which they begin, and each gets its own answer. Every call ends within
`timeout` seconds.
"""

from __future__ import annotations

import secrets
import ssl
import time
from collections.abc import Callable, Iterable
from typing import ClassVar

from wireproof.protocols.messages import Request
from wireproof.protocols.psrt import PROTOCOL, Codec, ControlClient, Encryption, ResponseCode
from wireproof.protocols.psrt.enums import DatagramOperation
from wireproof.protocols.psrt.requests import Bye, Content, Publish, PublishRepl, ReplData, Subscribe, Unsubscribe
from wireproof.reference_client.base import BaseClient
from wireproof.reference_client.checks import check
from wireproof.reference_client.errors import BadRequestError
from wireproof.reference_client.link import Link
from wireproof.reference_client.psrt.answers import accepted
from wireproof.reference_client.psrt.conversation import Conversation
from wireproof.reference_client.psrt.datagrams import exchange, packed
from wireproof.reference_client.psrt.session import Message, Session, Way
from wireproof.reference_client.server_connection import OnLoss, Reconnect

__all__ = ["PRIORITY", "Client"]

PRIORITY = 0x7F
"""The default priority of messages (P14)."""


class Client(BaseClient):
    """One login at a server, with a control and a data socket; made by `Client.connect`.

    If the server refuses a request, its method raises RefusedError, or AccessError for a missing right. Calls that are
    pending when a socket is lost fail: nobody knows whether the server executed them.
    """

    features: ClassVar[tuple[str, ...]] = ("tls", "udp", "encryption", "replication", "accounts")
    link_class: ClassVar[type[Link]] = Link
    connection_class: ClassVar[type[ControlClient]] = ControlClient
    conversation_class: ClassVar[type[Conversation]] = Conversation
    session_class: ClassVar[type[Session]] = Session
    nonce: ClassVar[Callable[[int], bytes]] = staticmethod(secrets.token_bytes)
    """Returns new bytes of a size, never the same twice."""

    def __init__(
        self,
        way: Way,
        codec: Codec,
        *,
        reconnect: Reconnect | None,
        on_message: Callable[[Message], object] | None,
        on_loss: OnLoss | None,
        on_mended: Callable[[], object] | None,
    ) -> None:
        self.timeout = way.timeout
        self._way = way
        self._codec = codec
        self._topics: dict[bytes, None] = {}
        """The subscriptions that the server has accepted."""
        self._conversation = self.conversation_class(
            way,
            codec,
            self.session_class(way, codec, on_message),
            reconnect=reconnect,
            on_loss=on_loss,
            on_mended=on_mended,
            restore=self._restore,
            connection_class=self.connection_class,
            link_class=self.link_class,
        )

    @classmethod
    def connect(
        cls,
        host: str,
        port: int = PROTOCOL.default_port,
        *,
        login: bytes = b"",
        password: bytes = b"",
        timeout: float = 5.0,
        tls: str = "none",
        ca: str | None = None,
        profile: str = PROTOCOL.default_profile,
        variant: str = PROTOCOL.default_variant,
        reconnect: Reconnect | None = None,
        on_message: Callable[[Message], object] | None = None,
        on_loss: OnLoss | None = None,
        on_mended: Callable[[], object] | None = None,
    ) -> Client:
        """Return a client to use with `async with`, or to await and close later.

        `timeout` (seconds) limits each answer; the client sends something every half of it, and a server that sends
        nothing for as long counts as lost. `tls="starttls"` switches both sockets to TLS and trusts the PEM file `ca`,
        by default what the system trusts. With `reconnect`, a lost session is restored: calls wait for it, and
        subscriptions are renewed, but messages that were published meanwhile are lost. `on_message` is called with
        every message, `on_loss` with the reason of a loss and whether the client reconnects, `on_mended` after it has;
        none of them may block. Raises ValueError for an unknown profile, variant or `tls`, and for a bad `ca`.
        """
        spoken = PROTOCOL.spoken(profile, variant)
        if tls not in ("none", "starttls"):
            raise ValueError(f"tls: expected none or starttls, got {tls!r}")
        context = _context(ca) if tls == "starttls" else None
        return cls(
            Way(host, port, timeout, login, password, context),
            Codec.of(spoken, variant),
            reconnect=reconnect,
            on_message=on_message,
            on_loss=on_loss,
            on_mended=on_mended,
        )

    async def publish(self, topic: bytes, message: bytes, *, priority: int = PRIORITY) -> ResponseCode:
        """Publish a message; return OK."""
        return await self._do(Publish(priority, topic, message))

    async def subscribe(self, topics: bytes | Iterable[bytes]) -> ResponseCode:
        """Subscribe to one or several topics or masks, whose messages go to `on_message`; return OK.

        If the server refuses one, those before it are subscribed. Bytes may hold several, with 00 between them.
        """
        request = Subscribe(_joined(topics))
        code = await self._do(request)
        self._topics |= dict.fromkeys(filter(None, request.topics.split(b"\0")))
        return code

    async def unsubscribe(self, topics: bytes | Iterable[bytes]) -> ResponseCode:
        """Remove subscriptions; return OK."""
        request = Unsubscribe(_joined(topics))
        code = await self._do(request)
        for topic in request.topics.split(b"\0"):
            self._topics.pop(topic, None)
        return code

    async def publish_repl(
        self, topic: bytes, message: bytes, *, priority: int = PRIORITY, timestamp: int | None = None
    ) -> ResponseCode:
        """Replicate a message published elsewhere at `timestamp` (ns; None: now); return OK or NOT_REQUIRED."""
        asked = PublishRepl(topic)
        data = ReplData(priority, time.time_ns() if timestamp is None else timestamp, message)
        self._check(asked)
        self._check(data)
        answer = await self._conversation.replicate(asked, data)
        return accepted(asked.NAME, answer, ResponseCode.NOT_REQUIRED)

    async def datagram(
        self,
        topic: bytes,
        message: bytes,
        *,
        priority: int = PRIORITY,
        op: int = DatagramOperation.PUBLISH,
        encryption: int = Encryption.PLAIN,
        login: bytes = b"",
        password: bytes = b"",
    ) -> ResponseCode | None:
        """Publish by a datagram to the same server; return OK, or None if no answer is requested.

        With `encryption`, `password` is the key of the login: 32 bytes. Raises the errors of `exchange`.
        """
        content = Content(op, priority, topic, message)
        request = packed(self._codec, content, encryption, login, password, type(self).nonce)
        asks = op != DatagramOperation.PUBLISH_NO_ACK
        way = self._way
        return await exchange(self._codec, way.host, way.port, request, acknowledged=asks, timeout=self.timeout)

    async def bye(self) -> ResponseCode:
        """End the session and close both sockets; return OK, also if the server just closes (P7)."""
        return accepted(Bye.NAME, await self._conversation.leave())

    async def close(self) -> None:
        """Close both sockets; pending calls fail with ClosedError. May be called again."""
        await self._conversation.close()

    async def _open(self) -> None:
        await self._conversation.open()

    async def _do(self, request: Request) -> ResponseCode:
        self._check(request)
        return accepted(request.NAME, await self._conversation.ask(request))

    def _check(self, request: Request) -> None:
        check(request, self._codec.layout(type(request)))

    async def _restore(self, link: Link) -> None:
        if self._topics:
            (answer,) = link.ask([Subscribe(b"\0".join(self._topics))])
            accepted(Subscribe.NAME, await answer)


def _joined(topics: bytes | Iterable[bytes]) -> bytes:
    if isinstance(topics, bytes):
        return topics
    several = list(topics)
    for one in several:
        if not isinstance(one, bytes) or b"\0" in one:
            raise BadRequestError(f"topics: expected bytes without 00, got {one!r}")
    return b"\0".join(several)


def _context(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise BadRequestError(f"ca: expected a PEM file of certificates, got {ca}: {error}") from None
