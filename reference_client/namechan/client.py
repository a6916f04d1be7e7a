"""The namechan SDK: `async with Client.connect("127.0.0.1") as client: await client.subscribe(b"prices")`.

Calls may overlap: they are sent in the order in which they begin, and each gets its own answer. Every call ends within
`timeout` seconds. Pings are answered as they come.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from wireproof.protocols.messages import Push, Reply, Request
from wireproof.protocols.namechan import PROTOCOL, Codec, NamechanClient, Replay
from wireproof.protocols.namechan.enums import UNSUPPORTED, VERSION
from wireproof.protocols.namechan.replies import Error, Message, Subscribed, Unsubscribed, VersionReply
from wireproof.protocols.namechan.requests import Connect, Publish, Subscribe, Unsubscribe
from wireproof.reference_client.base import BaseClient
from wireproof.reference_client.checks import check
from wireproof.reference_client.errors import (
    BadReplyError,
    BadRequestError,
    ClientError,
    ClosedError,
    DeadlineError,
    RefusedError,
    UnsupportedError,
)
from wireproof.reference_client.link import Link
from wireproof.reference_client.namechan.subscriptions import Subscription, TopicFeeds
from wireproof.reference_client.namechan.topic_link import TopicLink, error_text
from wireproof.reference_client.server_connection import OnLoss, Reconnect, ServerConnection

__all__ = ["Client"]

HELD = 65_536
"""The default number of messages that an iterator holds."""
SILENCE = 105.0
"""Default seconds after which a server that sends nothing counts as lost: two intervals of 50 seconds, and some."""
LAST_ID = (1 << 64) - 1


@dataclass(frozen=True)
class Callbacks:
    """What a client calls; none of them may block."""

    message: Callable[[Message], object]
    error: Callable[[str], object]
    loss: OnLoss
    mended: Callable[[], object]


@dataclass(frozen=True)
class Way:
    """Where a server is, and who connects."""

    host: str
    port: int
    client_id: bytes
    timeout: float
    """Seconds."""
    silence: float
    """Seconds."""


class Client(BaseClient):
    """One connection to a server; made by `Client.connect`.

    Calls that are pending when the connection is lost fail with ClosedError: nobody knows whether the server executed
    them.
    """

    features: ClassVar[tuple[str, ...]] = ()
    link_class: ClassVar[type[TopicLink]] = TopicLink
    connection_class: ClassVar[type[NamechanClient]] = NamechanClient

    def __init__(self, way: Way, codec: Codec, reconnect: Reconnect | None, callbacks: Callbacks) -> None:
        self.timeout = way.timeout
        self._way = way
        self._codec = codec
        self._callbacks = callbacks
        self._names: dict[int, bytes] = {}
        """Topic id -> topic, under the connection that there is."""
        self._kept: dict[bytes, Subscribe] = {}
        """Topic -> how it was subscribed."""
        self._last: dict[bytes, int] = {}
        """Topic -> id of the last message that came."""
        self._feeds = TopicFeeds(self)
        self._publishing = asyncio.Lock()
        self._refusal: asyncio.Future[Error] | None = None
        """What a publish that waits for an Error gets."""
        self._connection = ServerConnection(
            lambda: self.connection_class(codec),
            way.host,
            way.port,
            timeout=way.timeout,
            reconnect=reconnect,
            on_push=self._pushed,
            on_loss=self._lost,
            on_mended=callbacks.mended,
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
        timeout: float = 5.0,
        silence: float = SILENCE,
        profile: str = PROTOCOL.default_profile,
        variant: str = PROTOCOL.default_variant,
        reconnect: Reconnect | None = None,
        on_message: Callable[[Message], object] | None = None,
        on_error: Callable[[str], object] | None = None,
        on_loss: OnLoss | None = None,
        on_mended: Callable[[], object] | None = None,
    ) -> Client:
        """Return a client to use with `async with`, or to await and close later.

        `timeout` (seconds) limits each call; a server that sends nothing for `silence` seconds, not even a ping, counts
        as lost. With `reconnect`, a lost connection is restored: calls wait for it, and topics are subscribed again,
        from the first message not seen where they were replayed. `on_message` is called with every message,
        `on_error` with the text of an Error that answers no request, `on_loss` with the reason of a loss and whether
        the client reconnects, `on_mended` after it has; none of them may block. Raises ValueError for an unknown
        profile or variant, and BadRequestError for an id that is not bytes.
        """
        spoken = PROTOCOL.spoken(profile, variant)
        codec = Codec.of(spoken, variant)
        check(Connect(id=client_id), codec.layout(Connect))
        callbacks = Callbacks(
            message=_nothing if on_message is None else on_message,
            error=_nothing if on_error is None else on_error,
            loss=_nothing if on_loss is None else on_loss,
            mended=_nothing if on_mended is None else on_mended,
        )
        return cls(Way(host, port, client_id, timeout, silence), codec, reconnect, callbacks)

    async def subscribe(self, topic: bytes, *, replay: int = Replay.FROM_CURRENT, message: int = 0) -> Subscribed:
        """Subscribe a topic, and return its id; its messages go to `on_message`.

        `message` is the first id wanted, with `Replay.FROM_MESSAGE`. Raises BadRequestError for one without, and the
        errors of `ask`: RefusedError for a topic that is unknown or, with a replay, not kept.
        """
        if message and replay != Replay.FROM_MESSAGE:
            raise BadRequestError("SUBSCRIBE.message: expected it with FROM_MESSAGE only")
        request = Subscribe(topic, replay, message)
        answer = await self.ask(request)
        assert isinstance(answer, Subscribed)
        self._kept.setdefault(topic, request)
        return answer

    async def unsubscribe(self, topic: bytes) -> Unsubscribed:
        """Unsubscribe a topic; its iterators end. Raises the errors of `ask`; RefusedError if it is not subscribed."""
        answer = await self.ask(Unsubscribe(topic))
        assert isinstance(answer, Unsubscribed)
        self._kept.pop(topic, None)
        self._last.pop(topic, None)
        self._feeds.leave(topic)
        return answer

    async def publish(self, topic: bytes, body: bytes, *, wait: float = 0.0) -> None:
        """Publish a message, under profile 1+publish.

        The extension answers a failure alone, by an Error (N1). With `wait`, one that comes within so many seconds
        raises RefusedError, and another publish that waits is sent after it; without, it goes to `on_error`. While a
        Subscribe or Unsubscribe of this client waits, an Error answers that: who must know publishes on a client of
        its own. Raises BadRequestError, UnsupportedError, DeadlineError and ClosedError as `ask`.
        """
        request = Publish(topic, body)
        self._check(request)
        if not wait:
            await self._send(request)
            return
        async with self._publishing:
            self._refusal = refused = asyncio.get_running_loop().create_future()
            try:
                await self._send(request)
                error = await asyncio.wait_for(refused, wait)
            except DeadlineError:
                raise
            except TimeoutError:
                return
            finally:
                self._refusal = None
        raise _refused(request, error)

    def subscription(
        self, topic: bytes, *, replay: int = Replay.FROM_CURRENT, message: int = 0, limit: int = HELD
    ) -> Subscription:
        """Return an async iterator of the messages of a topic, which holds at most `limit` of them."""
        return Subscription(self._feeds, topic, replay=replay, message=message, limit=limit)

    async def ask(self, request: Request) -> Reply:
        """Send a request and return its answer, within `timeout` seconds.

        Raises BadRequestError, before anything is sent, if a value does not fit; UnsupportedError if the profile lacks
        the request; RefusedError, with the answer, for an Error; DeadlineError; ClosedError; and BadReplyError if the
        server sends bytes that cannot be decoded, or an answer for another topic.
        """
        self._check(request)
        async with self._deadline(request):
            link = await self._connection.link()
            await link.drained()
            (answer,) = link.ask([replace(request)])
            reply = await answer
        if isinstance(reply, Error):
            raise _refused(request, reply)
        return reply

    async def close(self) -> None:
        """Close; pending calls fail with ClosedError, and iterations end. May be called again."""
        await self._connection.close()
        self._refuse(ClosedError("the client was closed"))
        self._feeds.finish(None)

    async def _open(self) -> None:
        await self._connection.open()

    def _check(self, request: Request) -> None:
        if type(request) not in self._codec.profile.replies:
            raise UnsupportedError(f"profile {self._codec.profile.name} has no request {request.NAME}")
        check(request, self._codec.layout(type(request)))

    @asynccontextmanager
    async def _deadline(self, request: Request) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.timeout):
                yield
        except TimeoutError as error:
            if isinstance(error, ClientError):
                raise
            raise DeadlineError(f"no answer to {request.NAME} in {self.timeout:g} s") from None

    async def _send(self, request: Request) -> None:
        async with self._deadline(request):
            link = await self._connection.link()
            assert isinstance(link, TopicLink)
            await link.drained()
            link.send_unanswered([request])

    async def _prepare(self, link: Link) -> None:
        """Say the version and who connects, and subscribe again what was subscribed."""
        assert isinstance(link, TopicLink)
        self._names = link.names
        link.on_error = self._failed
        reply = await link.greet(self._way.client_id)
        assert isinstance(reply, VersionReply)
        if reply.version == UNSUPPORTED:
            raise RefusedError(f"the server does not speak version {VERSION}", reply)
        if reply.version != VERSION:
            raise BadReplyError(f"expected version {VERSION} or {UNSUPPORTED}, got {reply.version}")
        again = [self._continued(one) for one in self._kept.values()]
        for request, answer in zip(again, link.ask(again), strict=True):
            found = await answer
            if isinstance(found, Error):
                raise _refused(request, found)
        link.watch(self._way.silence)

    def _continued(self, request: Subscribe) -> Subscribe:
        """Return a Subscribe that continues where the connection was lost."""
        last = self._last.get(request.topic, 0)
        if request.replay == Replay.FROM_CURRENT or not last:
            return request
        return Subscribe(request.topic, Replay.FROM_MESSAGE, min(last + 1, LAST_ID))

    def _pushed(self, push: Push) -> None:
        assert isinstance(push, Message)
        topic = self._names.get(push.topic)
        if topic is not None:
            self._last[topic] = push.id
            self._feeds.give(topic, push)
        asyncio.get_running_loop().call_soon(self._callbacks.message, push)

    def _failed(self, error: Error) -> None:
        """Take an Error that answers no request."""
        if not self._refuse(error):
            asyncio.get_running_loop().call_soon(self._callbacks.error, error_text(error))

    def _refuse(self, what: Error | ClientError) -> bool:
        """Tell a publish that waits; return whether there is one."""
        waiting = self._refusal
        if waiting is None or waiting.done():
            return False
        if isinstance(what, Error):
            waiting.set_result(what)
        else:
            waiting.set_exception(what)
        return True

    def _lost(self, why: ClientError, mending: bool) -> None:
        self._refuse(ClosedError(str(why)))
        if not mending:
            self._feeds.finish(why)
        self._callbacks.loss(why, mending)


def _refused(request: Request, error: Error) -> RefusedError:
    return RefusedError(f"{request.NAME}: the server answered: {error_text(error)}", error)


def _nothing(*_: object) -> None:
    pass
