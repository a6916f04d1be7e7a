"""The requests on the control socket: in order, with keep-alives, and with reconnection if that is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

from wireproof.protocols.messages import Request
from wireproof.protocols.psrt import Codec, ControlClient, ResponseCode
from wireproof.protocols.psrt.replies import Response
from wireproof.protocols.psrt.requests import Bye, Nop, PublishRepl, ReplData
from wireproof.reference_client.errors import BadReplyError, ClientError, ClosedError, DeadlineError, RefusedError
from wireproof.reference_client.link import Link
from wireproof.reference_client.pings import Pings
from wireproof.reference_client.psrt.answers import accepted
from wireproof.reference_client.psrt.session import Session, Way
from wireproof.reference_client.server_connection import OnLoss, Reconnect, ServerConnection

__all__ = ["Conversation"]


class Conversation:
    """Requests to one server; each is answered within the timeout of `way`."""

    def __init__(
        self,
        way: Way,
        codec: Codec,
        session: Session,
        *,
        reconnect: Reconnect | None,
        on_loss: OnLoss | None,
        on_mended: Callable[[], object] | None,
        restore: Callable[[Link], Awaitable[None]],
        connection_class: type[ControlClient],
        link_class: type[Link],
    ) -> None:
        """`restore` renews the subscriptions on a new link."""
        self._timeout = way.timeout
        self._session = session
        self._restore = restore
        self._on_loss = on_loss
        self._turn = asyncio.Lock()
        """Locked while something is sent: nothing may come between the two halves of a replication."""
        self._pings = Pings(way.timeout / 2, self._ping)
        self._connection = ServerConnection(
            lambda: connection_class(codec),
            way.host,
            way.port,
            timeout=way.timeout,
            reconnect=reconnect,
            on_push=_nothing,
            on_loss=self._lost,
            on_mended=on_mended or _nothing,
            prepare=self._prepare,
            link_class=link_class,
        )

    async def open(self) -> None:
        """Connect and log in. Raises AccessError if the login is refused, and other ClientErrors."""
        await self._connection.open()

    async def close(self) -> None:
        """Close both sockets; may be called again."""
        self._pings.end()
        self._session.end()
        await self._connection.close()

    async def ask(self, request: Request) -> Response:
        """Send a request and return its answer.

        Raises DeadlineError if none comes in time, ClosedError if the connection is lost, and BadReplyError if the
        server sends bytes that cannot be decoded.
        """
        async with self._deadline(request):
            return await self._sent(request)

    async def replicate(self, asked: PublishRepl, data: ReplData) -> Response:
        """Send the first half of a replication and, if the server wants it, the second; return the last answer.

        Raises the errors of `ask`, and RefusedError for an unexpected OK. If the first half gets no answer the session
        ends, because nothing can be sent after it.
        """
        async with self._deadline(asked):
            async with self._turn:
                link = await self._ready()
                first = await self._undivided(link, asked)
                if first.code != ResponseCode.OK_WAITING:
                    if first.code == ResponseCode.OK:
                        raise RefusedError(f"{asked.NAME}: expected OK_WAITING or NOT_REQUIRED, got OK", first)
                    return first
                answer = self._send(link, data)
            return await answer

    async def leave(self) -> Response:
        """Send BYE and close; a close instead of an answer counts as OK (P7). Raises the errors of `ask`."""
        async with self._deadline(Bye()), self._turn:
            link = await self._ready()
            self._pings.end()
            self._connection.finish(ClosedError("the client sent BYE"))
            answer = self._send(link, Bye())
        try:
            async with self._deadline(Bye()):
                return await answer
        except ClosedError:
            return Response(ResponseCode.OK)
        finally:
            await self.close()

    @asynccontextmanager
    async def _deadline(self, request: Request) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._timeout):
                yield
        except TimeoutError as error:
            if isinstance(error, ClientError):
                raise
            raise DeadlineError(f"no answer to {request.NAME} in {self._timeout:g} s") from None

    async def _ready(self) -> Link:
        """Return the link once its write buffer has room."""
        link = await self._connection.link()
        await link.drained()
        return link

    def _send(self, link: Link, request: Request) -> Awaitable[Response]:
        (answer,) = link.ask([request])
        self._pings.sent()
        return cast(Awaitable[Response], answer)

    async def _sent(self, request: Request) -> Response:
        async with self._turn:
            answer = self._send(await self._ready(), request)
        return await answer

    async def _undivided(self, link: Link, asked: PublishRepl) -> Response:
        try:
            return await self._send(link, asked)
        except BaseException:
            link.fail(ClosedError(f"{asked.NAME} got no answer"))
            raise

    async def _ping(self) -> bool:
        try:
            link = await self._connection.link()
            try:
                accepted(Nop.NAME, await self.ask(Nop()))
            except DeadlineError as error:
                link.fail(ClosedError(str(error)))
            except RefusedError as error:
                link.fail(BadReplyError(str(error)))
        except ClosedError:
            return False
        return link.ended is None

    async def _prepare(self, link: Link) -> None:
        try:
            await self._session.begin(link)
            await self._restore(link)
        except BaseException:
            self._session.end()
            raise
        self._pings.begin()

    def _lost(self, why: ClientError, mending: bool) -> None:
        self._pings.end()
        self._session.end()
        if self._on_loss is not None:
            self._on_loss(why, mending)


def _nothing(*_: object) -> None:
    pass
