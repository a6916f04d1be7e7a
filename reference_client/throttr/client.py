"""The Throttr SDK: `async with Client.connect("127.0.0.1", 9000) as client: await client.whoami()`.

Calls may overlap: they are sent in the order in which they begin, and each gets its own reply. Every call ends within
`timeout` seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from wireproof.protocols.messages import Push, Reply, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import PROTOCOL, ClientConnection, Codec
from wireproof.protocols.throttr.replies import Status
from wireproof.protocols.throttr.requests import Subscribe, Unsubscribe
from wireproof.reference_client.base import BaseClient
from wireproof.reference_client.checks import check
from wireproof.reference_client.errors import ClientError, DeadlineError, UnsupportedError
from wireproof.reference_client.link import Link
from wireproof.reference_client.server_connection import OnLoss, Reconnect, ServerConnection
from wireproof.reference_client.throttr.batch import Batch
from wireproof.reference_client.throttr.commands import Commands
from wireproof.reference_client.throttr.subscriptions import ChannelFeeds, Message, Subscription

__all__ = ["Client"]

T = TypeVar("T")
HELD = 65_536
"""The default number of messages that an iterator holds."""


class Client(Commands, BaseClient):
    """One connection to a server; made by `Client.connect`.

    Calls that are pending when the connection is lost fail with ClosedError: nobody knows whether the server executed
    them.
    """

    features: ClassVar[tuple[str, ...]] = ()
    link_class: ClassVar[type[Link]] = Link
    connection_class: ClassVar[type[ClientConnection]] = ClientConnection

    def __init__(
        self,
        connect: Callable[[Client], ServerConnection],
        codec: Codec,
        timeout: float,
        on_message: Callable[[Message], object] | None,
        on_loss: OnLoss | None,
        on_mended: Callable[[], object] | None,
    ) -> None:
        self.timeout = timeout
        self._codec = codec
        self._on_message = on_message
        self._on_loss = on_loss
        self._on_mended = on_mended
        self._channels: dict[bytes, None] = {}
        """The subscriptions that the server has accepted."""
        self._feeds = ChannelFeeds(self)
        self._connection = connect(self)

    @classmethod
    def connect(
        cls,
        host: str,
        port: int,
        *,
        profile: str = PROTOCOL.default_profile,
        variant: str = PROTOCOL.default_variant,
        timeout: float = 5.0,
        reconnect: Reconnect | None = None,
        on_message: Callable[[Message], object] | None = None,
        on_loss: OnLoss | None = None,
        on_mended: Callable[[], object] | None = None,
    ) -> Client:
        """Return a client to use with `async with`, or to await and close later.

        `timeout` (seconds) limits each call. With `reconnect`, a lost connection is restored: calls wait for it, and
        subscriptions are renewed, but messages that were published meanwhile are lost. `on_message` is called with
        every pushed message, `on_loss` with the reason of a loss and whether the client reconnects, `on_mended` after
        it has; none of them may block. Raises ValueError for an unknown profile or variant.
        """
        spoken = PROTOCOL.spoken(profile, variant)
        codec = cls.codec_of(spoken, variant)

        def connection(client: Client) -> ServerConnection:
            return ServerConnection(
                lambda: cls.connection_class(codec),
                host,
                port,
                timeout=timeout,
                reconnect=reconnect,
                on_push=client._pushed,
                on_loss=client._lost,
                on_mended=client._mended,
                prepare=client._restore,
                link_class=cls.link_class,
            )

        return cls(connection, codec, timeout, on_message, on_loss, on_mended)

    @classmethod
    def codec_of(cls, profile: Profile, variant: str) -> Codec:
        """Return the codec of a profile and variant."""
        return Codec.of(profile, variant)

    async def ask(self, request: Request) -> Reply:
        """Send a request and return its reply. Raises the errors of `ask_all`."""
        (reply,) = await self.ask_all([request])
        return reply

    async def ask_all(self, requests: Sequence[Request]) -> list[Reply]:
        """Send requests in one write and return their replies in order, within `timeout` seconds.

        Raises BadRequestError, before anything is sent, if a value does not fit; UnsupportedError if the profile lacks
        the request; DeadlineError; ClosedError; and BadReplyError if the server sends bytes that cannot be decoded.
        """
        for request in requests:
            self._check(request)
        try:
            async with asyncio.timeout(self.timeout):
                link = await self._connection.link()
                await link.drained()
                replies = await _all(link.ask(requests))
        except TimeoutError:
            names = ", ".join(dict.fromkeys(one.NAME for one in requests))
            raise DeadlineError(f"no reply to {names} in {self.timeout:g} s") from None
        for request, reply in zip(requests, replies, strict=True):
            self._remember(request, reply)
        return replies

    def batch(self) -> Batch:
        """Return a batch, whose calls are sent in one write."""
        return Batch(self._check, self.ask_all)

    def subscription(self, channel: bytes, *, limit: int = HELD, subscribe: bool = True) -> Subscription:
        """Return an async iterator of the messages of a channel, which holds at most `limit` of them.

        Pushes of profile 7.1.0 do not name the channel, so there every iterator gets every message. Without `subscribe`
        nothing is sent: the server subscribes this connection itself, as 7.3.2 does to `*`.
        """
        return Subscription(self._feeds, channel, limit=limit, subscribes=subscribe)

    async def close(self) -> None:
        """Close; pending calls fail with ClosedError, and iterations end. May be called again."""
        await self._connection.close()
        self._feeds.finish(None)

    async def _open(self) -> None:
        await self._connection.open()

    async def _do(self, request: Request, shape: Callable[[Reply], T]) -> T:
        return shape(await self.ask(request))

    def _check(self, request: Request) -> None:
        if type(request) not in self._codec.answers:
            raise UnsupportedError(f"profile {self._codec.profile.name} has no request {type(request).__name__}")
        check(request, self._codec.layout(type(request)))

    def _remember(self, request: Request, reply: Reply) -> None:
        if isinstance(request, Subscribe) and reply == Status(True):
            self._channels[request.channel] = None
        elif isinstance(request, Unsubscribe):
            self._channels.pop(request.channel, None)

    async def _restore(self, link: Link) -> None:
        await _all(link.ask([Subscribe(channel) for channel in self._channels]))

    def _pushed(self, push: Push) -> None:
        message = Message(getattr(push, "channel", None), push.payload)  # type: ignore[attr-defined]
        self._feeds.give(message)
        if self._on_message is not None:
            asyncio.get_running_loop().call_soon(self._on_message, message)

    def _lost(self, why: ClientError, mending: bool) -> None:
        if not mending:
            self._feeds.finish(why)
        if self._on_loss is not None:
            self._on_loss(why, mending)

    def _mended(self) -> None:
        if self._on_mended is not None:
            self._on_mended()


async def _all(replies: list[asyncio.Future[Reply]]) -> list[Reply]:
    return [await one for one in replies]
