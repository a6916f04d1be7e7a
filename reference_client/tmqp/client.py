"""The TMQP SDK: `async with Client.connect("127.0.0.1", 2622) as client: await client.join(b"news")`.

Calls may overlap: they are sent in the order in which they begin, and each gets the answer with its own id. Every call
ends within `timeout` seconds.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import Callable
from itertools import count
from typing import ClassVar

from msgspec.structs import replace

from wireproof.protocols.errors import LocalProtocolError
from wireproof.protocols.messages import Message, Push, Reply, Request
from wireproof.protocols.tmqp import PROTOCOL, Codec, TmqpClient
from wireproof.protocols.tmqp.connection import due_replies
from wireproof.protocols.tmqp.enums import SUBSCRIBE
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import DirectMessage, Notification, QueueMessage, ServerPing
from wireproof.protocols.tmqp.requests import AnswerPing, Join, Leave, Ping, Pull, Subscribe
from wireproof.reference_client.base import BaseClient
from wireproof.reference_client.checks import check
from wireproof.reference_client.errors import (
    BadRequestError,
    ClientError,
    ClosedError,
    DeadlineError,
    UnsupportedError,
)
from wireproof.reference_client.link import Link
from wireproof.reference_client.matched_link import MatchedLink
from wireproof.reference_client.pings import Pings
from wireproof.reference_client.server_connection import OnLoss, Reconnect, ServerConnection
from wireproof.reference_client.tmqp.answers import Answer, accepted, header
from wireproof.reference_client.tmqp.greeting import Identity, Way, greet
from wireproof.reference_client.tmqp.operations import Operations

__all__ = ["Client"]

OnMessage = Callable[[Push], object]
DELIVERED = QueueMessage | DirectMessage | Notification


class AnsweringLink(MatchedLink):
    """A link that answers the pings of a server."""

    def _pushed(self, push: Push) -> None:
        if isinstance(push, ServerPing):
            self.send_unanswered([AnswerPing()])
        else:
            super()._pushed(push)


class Client(Operations, BaseClient):
    """One connection to a server; made by `Client.connect`.

    Calls that are pending when the connection is lost fail with ClosedError: nobody knows whether the server executed
    them.
    """

    features: ClassVar[tuple[str, ...]] = ()
    link_class: ClassVar[type[MatchedLink]] = AnsweringLink
    connection_class: ClassVar[type[TmqpClient]] = TmqpClient

    def __init__(
        self,
        way: Way,
        codec: Codec,
        *,
        reconnect: Reconnect | None,
        on_message: OnMessage | None,
        on_loss: OnLoss | None,
        on_mended: Callable[[], object] | None,
    ) -> None:
        self.timeout = way.timeout
        self.id = way.identity.id
        """The client's id: as given, or as the server assigns it."""
        self._way = way
        self._codec = codec
        self._on_message = on_message
        self._on_loss = on_loss
        self._kept: dict[tuple[bool, bytes, bytes], RequestFrame] = {}
        """Channels and events that a lost connection is joined and subscribed to again."""
        self._pulls: dict[bytes, asyncio.Timeout] = {}
        """Id of a pull that waits -> its deadline, which begins again with each message."""
        prefix = secrets.token_hex(10)
        self._ids = (f"{prefix}{number:012x}".encode() for number in count(1))
        self._pings = Pings(way.timeout, self._ping)
        self._connection = ServerConnection(
            lambda: self.connection_class(codec),
            way.host,
            way.port,
            timeout=way.timeout,
            reconnect=reconnect,
            on_push=self._pushed,
            on_loss=self._lost,
            on_mended=on_mended or _nothing,
            prepare=self._prepare,
            link_class=self.link_class,
        )

    @classmethod
    def connect(
        cls,
        host: str,
        port: int = PROTOCOL.default_port,
        *,
        client_id: bytes = b"",
        client_name: bytes = b"",
        client_type: bytes = b"",
        client_token: bytes = b"",
        timeout: float = 5.0,
        tls: str = "none",
        ca: str | None = None,
        profile: str = PROTOCOL.default_profile,
        variant: str = PROTOCOL.default_variant,
        reconnect: Reconnect | None = None,
        on_message: OnMessage | None = None,
        on_loss: OnLoss | None = None,
        on_mended: Callable[[], object] | None = None,
    ) -> Client:
        """Return a client to use with `async with`, or to await and close later.

        `timeout` (seconds) limits each answer; a client that has sent nothing for so long pings, and a server that does
        not answer that counts as lost. `tls="tls"` begins with TLS and trusts the PEM file `ca`, by default what the
        system trusts. With `reconnect`, a lost connection is restored: calls wait for it, and channels and events are
        joined again. `on_message` is called with every `QueueMessage`, `DirectMessage` and `Notification`, `on_loss`
        with the reason of a loss and whether the client reconnects, `on_mended` after it has; none of them may block.
        Raises ValueError for an unknown profile, variant or `tls`, for a bad `ca`, and for a line break in what the
        client says of itself.
        """
        spoken = PROTOCOL.spoken(profile, variant)
        if tls not in ("none", "tls"):
            raise ValueError(f"tls: expected none or tls, got {tls!r}")
        identity = Identity(client_id, client_name, client_type, client_token)
        _ = identity.text
        return cls(
            Way(host, port, timeout, identity, _context(ca) if tls == "tls" else None),
            Codec.of(spoken, variant),
            reconnect=reconnect,
            on_message=on_message,
            on_loss=on_loss,
            on_mended=on_mended,
        )

    async def ask(self, request: Request) -> Answer | None:
        """Send a request, with an id if it has none, and return its answer, or None if its flags ask for none.

        Raises BadRequestError, before anything is sent, if a value does not fit; UnsupportedError if the profile lacks
        the request; RefusedError if the answer says that it failed; DeadlineError; ClosedError; and BadReplyError if
        the server sends bytes that cannot be decoded.
        """
        assert isinstance(request, RequestFrame)
        request = request if request.id else replace(request, id=next(self._ids))
        self._check(request)
        try:
            async with asyncio.timeout(self.timeout) as deadline:
                answer = await self._sent(request, deadline)
        except TimeoutError as error:
            if isinstance(error, ClientError):
                raise
            raise DeadlineError(f"no answer to {request.NAME} in {self.timeout:g} s") from None
        finally:
            self._pulls.pop(request.id, None)
        done = None if answer is None else accepted(request, answer)
        self._remember(request)
        return done

    def encoded(self, body: bytes | Message) -> bytes:
        """Return a JSON body (`wireproof.protocols.tmqp.bodies`) as a payload, and bytes as they are.

        Raises BadRequestError for a body whose values are of other types.
        """
        if not isinstance(body, Message):
            return body
        try:
            return self._codec.encode(body)
        except LocalProtocolError as error:
            raise BadRequestError(str(error)) from None

    def decoded(self, kind: type[Message], payload: bytes) -> Message:
        """Return the JSON body of class `kind` that a payload is; raises `MalformedFrameError`."""
        return self._codec.decode(kind, payload)

    async def close(self) -> None:
        """Close; pending calls fail with ClosedError. May be called again."""
        self._pings.end()
        await self._connection.close()

    async def _open(self) -> None:
        await self._connection.open()

    def _check(self, request: Request) -> None:
        if type(request) not in self._codec.profile.replies:
            raise UnsupportedError(f"profile {self._codec.profile.name} has no request {request.NAME}")
        check(request, self._codec.layout(type(request)))

    async def _sent(self, request: RequestFrame, deadline: asyncio.Timeout) -> Reply | None:
        link = await self._connection.link()
        assert isinstance(link, MatchedLink)
        await link.drained()
        self._pings.sent()
        if not due_replies(request):
            link.send_unanswered([request])
            return None
        if isinstance(request, Pull):
            self._pulls[request.id] = deadline
        (answer,) = link.ask([request])
        return await answer

    def _remember(self, request: RequestFrame) -> None:
        """Note what a new connection must be joined and subscribed to."""
        if not isinstance(request, Join | Leave | Subscribe):
            return
        is_event = isinstance(request, Subscribe)
        leaves = request.content_type != SUBSCRIBE if is_event else isinstance(request, Leave)
        scope = b"\n".join(one.name + b":" + one.value for one in request.headers)
        key = (is_event, request.target, scope if is_event else b"")
        if leaves:
            self._kept.pop(key, None)
        else:
            self._kept[key] = request

    async def _prepare(self, link: Link) -> None:
        await greet(link, self._way, self._known)
        again = [replace(one, id=next(self._ids), pending_response=1, pending_ack=0) for one in self._kept.values()]
        for request, answer in zip(again, link.ask(again), strict=True):
            accepted(request, await answer)
        self._pings.begin()

    def _known(self, id: bytes) -> None:
        self.id = id

    def _pushed(self, push: Push) -> None:
        if not isinstance(push, DELIVERED):
            return
        if isinstance(push, QueueMessage):
            self._pulled(push)
        if self._on_message is not None:
            asyncio.get_running_loop().call_soon(self._on_message, push)

    def _pulled(self, message: QueueMessage) -> None:
        """Give a pull more time: one of its messages has come."""
        deadline = self._pulls.get(header(message.headers, b"Request-Id") or b"")
        if deadline is not None:
            deadline.reschedule(asyncio.get_running_loop().time() + self.timeout)

    async def _ping(self) -> bool:
        try:
            link = await self._connection.link()
            (pong,) = link.ask([Ping()])
            self._pings.sent()
            try:
                await asyncio.wait_for(pong, self.timeout)
            except TimeoutError:
                link.fail(ClosedError(f"the server did not answer a ping in {self.timeout:g} s"))
        except ClosedError:
            return False
        return link.ended is None

    def _lost(self, why: ClientError, mending: bool) -> None:
        self._pings.end()
        if self._on_loss is not None:
            self._on_loss(why, mending)


def _nothing(*_: object) -> None:
    pass


def _context(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise BadRequestError(f"ca: expected a PEM file of certificates, got {ca}: {error}") from None
