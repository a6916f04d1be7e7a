"""The connection to a server, restored after a loss if that is wanted. Knows no protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from wireproof.protocols.connection import Client
from wireproof.reference_client.errors import ClientError, ClosedError, DeadlineError
from wireproof.reference_client.link import Link, OnPush, open_link

__all__ = ["Reconnect", "ServerConnection"]

OnLoss = Callable[[ClientError, bool], object]
"""(reason, whether the client reconnects): called when a connection is lost."""


@dataclass(frozen=True, slots=True)
class Reconnect:
    """How a lost connection is restored: attempts after delays in seconds, which double up to the longest."""

    attempts: int = 5
    first_delay: float = 0.05
    longest_delay: float = 2.0

    def delays(self) -> list[float]:
        """Return the seconds to wait before each attempt."""
        return [min(self.first_delay * 2**number, self.longest_delay) for number in range(self.attempts)]


class ServerConnection:
    """The connection to one server, by at most one `Link` at a time."""

    def __init__(
        self,
        make_codec: Callable[[], Client],
        host: str,
        port: int,
        *,
        timeout: float,
        reconnect: Reconnect | None,
        on_push: OnPush,
        on_loss: OnLoss,
        on_mended: Callable[[], object],
        prepare: Callable[[Link], Awaitable[None]],
        link_class: type[Link] = Link,
    ) -> None:
        """`timeout` is in seconds; `prepare` makes a new link ready for use: it logs in and renews subscriptions."""
        self._make_codec = make_codec
        self._host = host
        self._port = port
        self._timeout = timeout
        self._reconnect = reconnect
        self._on_push = on_push
        self._on_loss = on_loss
        self._on_mended = on_mended
        self._prepare = prepare
        self._link_class = link_class
        self._link: Link | None = None
        self._usable = asyncio.Event()
        """Set unless the client is reconnecting."""
        self._over: ClientError | None = ClosedError("the client is not connected")
        self._usable.set()
        self._reconnecting: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        """Whether the connection has ended for good."""
        return self._over is not None

    async def open(self) -> None:
        """Connect.

        Raises ClosedError if nobody listens or if the client was connected before, DeadlineError if the server is not
        ready in time, and what `prepare` raises.
        """
        if self._link is not None:
            raise ClosedError("the client was connected before: make another one")
        self._link = await self._dial()
        self._over = None
        if self._link.ended is not None:
            self._lost(self._link.ended)

    async def link(self) -> Link:
        """Return the link; wait while the client reconnects. Raises ClosedError if the connection has ended."""
        await self._usable.wait()
        if self._over is not None or self._link is None:
            raise ClosedError(str(self._over))
        return self._link

    def finish(self, why: ClientError) -> None:
        """End for good: `link` raises `why`, and a loss is neither repaired nor reported."""
        self._over = why if self._over is None else self._over
        self._usable.set()

    async def close(self) -> None:
        """Close for good; pending calls fail with ClosedError."""
        self.finish(ClosedError("the client was closed"))
        if self._reconnecting is not None:
            self._reconnecting.cancel()
            with suppress(asyncio.CancelledError):
                await self._reconnecting
        if self._link is not None:
            self._link.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._link.closed(), self._timeout)
            self._link.abort()

    async def _dial(self) -> Link:
        link = await open_link(
            self._make_codec(),
            self._host,
            self._port,
            timeout=self._timeout,
            on_push=self._on_push,
            on_end=self._lost,
            link_class=self._link_class,
        )
        try:
            async with asyncio.timeout(self._timeout):
                await self._prepare(link)
        except BaseException as error:
            link.abort()
            if isinstance(error, TimeoutError) and not isinstance(error, ClientError):
                raise DeadlineError(f"{self._host} port {self._port} was not ready in {self._timeout:g} s") from None
            raise
        return link

    def _lost(self, why: ClientError) -> None:
        if self._over is not None or (self._reconnecting is not None and not self._reconnecting.done()):
            return
        if self._reconnect is None:
            self.finish(why)
        else:
            self._usable.clear()
            self._reconnecting = asyncio.get_running_loop().create_task(self._restore(self._reconnect, why))
        self._on_loss(why, self._reconnect is not None)

    async def _restore(self, how: Reconnect, why: ClientError) -> None:
        for delay in how.delays():
            await asyncio.sleep(delay)
            with suppress(ClientError):
                self._link = await self._dial()
                if self._link.ended is None:
                    self._usable.set()
                    self._on_mended()
                    return
        final = ClosedError(f"{why}; reconnecting failed after {how.attempts} attempts")
        self.finish(final)
        self._on_loss(final, False)
