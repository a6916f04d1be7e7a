"""The session on a control socket: the login, and the data socket that belongs to it."""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from wireproof.protocols.messages import Push, Reply, Request
from wireproof.protocols.psrt import Codec, DataClient, Mode
from wireproof.protocols.psrt.enums import PROTOCOL_VERSION
from wireproof.protocols.psrt.replies import DataGreetingReply, GreetingReply, PushedMessage, Token
from wireproof.protocols.psrt.requests import Attach, DataGreeting, Greeting, Login
from wireproof.reference_client.errors import AccessError, BadReplyError, ClosedError
from wireproof.reference_client.link import Link, OnEnd, open_link
from wireproof.reference_client.psrt.answers import accepted
from wireproof.reference_client.silence import WatchedLink

__all__ = ["Message", "Session", "Way"]

GRACE = 0.1
"""Seconds that a beacon may be late."""
LONGEST_SILENCE = 255
"""The most seconds that one byte can express."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a topic that the client is subscribed to."""

    priority: int
    topic: bytes
    message: bytes


@dataclass(frozen=True)
class Way:
    """Where a server is and how to log in there."""

    host: str
    port: int
    timeout: float
    """Seconds."""
    login: bytes
    password: bytes
    tls: ssl.SSLContext | None
    """None: no TLS."""

    @property
    def mode(self) -> Mode:
        """The mode of a greeting."""
        return Mode.PLAIN if self.tls is None else Mode.STARTTLS

    @property
    def silence(self) -> int:
        """The timeout of the data socket in whole seconds, as sent to the server."""
        return min(max(1, math.ceil(self.timeout)), LONGEST_SILENCE)


class Session:
    """The sockets of one login at a time; `begin` starts a session on an open control socket."""

    data_class: ClassVar[type[DataClient]] = DataClient
    data_link_class: ClassVar[type[WatchedLink]] = WatchedLink

    def __init__(self, way: Way, codec: Codec, on_message: Callable[[Message], object] | None) -> None:
        self._way = way
        self._codec = codec
        self._on_message = on_message
        self._data: Link | None = None

    async def begin(self, control: Link) -> None:
        """Log in on `control` and attach a data socket; the loss of either ends both.

        Raises AccessError if the login is refused, RefusedError if the data socket is, and other ClientErrors.
        """
        self.end()
        token = await self._log_in(control)
        self._data = await self._listen(token, lambda why: control.fail(type(why)(f"the data socket: {why}")))

    def end(self) -> None:
        """Close the data socket."""
        if self._data is not None:
            self._data.abort()

    async def _log_in(self, control: Link) -> bytes:
        await self._greet(control, Greeting(self._way.mode))
        try:
            token = await _ask(control, Login(self._way.login, self._way.password))
        except ClosedError as error:
            raise AccessError(f"the login {self._way.login!r} was refused: {error}") from None
        assert isinstance(token, Token)
        return token.token

    async def _listen(self, token: bytes, on_end: OnEnd) -> Link:
        way = self._way
        link = await open_link(
            self.data_class(self._codec),
            way.host,
            way.port,
            timeout=way.timeout,
            on_push=self._pushed,
            on_end=on_end,
            link_class=self.data_link_class,
        )
        assert isinstance(link, WatchedLink)
        try:
            await self._greet(link, DataGreeting(way.mode))
            accepted("the token of the data socket", await _ask(link, Attach(token, way.silence)))
        except BaseException:
            link.abort()
            raise
        link.watch(way.silence + GRACE)
        return link

    async def _greet(self, link: Link, greeting: Greeting | DataGreeting) -> None:
        (answer,) = link.ask([greeting])
        if self._way.tls is not None:
            await link.secure(self._way.tls, self._way.host, timeout=self._way.timeout)
        reply = await answer
        assert isinstance(reply, GreetingReply | DataGreetingReply)
        if reply.version != PROTOCOL_VERSION:
            raise BadReplyError(f"{greeting.NAME}: expected version {PROTOCOL_VERSION}, got {reply.version}")

    def _pushed(self, push: Push) -> None:
        if isinstance(push, PushedMessage) and self._on_message is not None:
            message = Message(push.priority, push.topic, push.message)
            asyncio.get_running_loop().call_soon(self._on_message, message)


async def _ask(link: Link, request: Request) -> Reply:
    (answer,) = link.ask([request])
    return await answer
