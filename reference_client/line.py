"""A connection that is made, and made again after a loss where somebody says how. Knows no protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from wireproof.protocols.connection import Client
from wireproof.reference_client.errors import ClientError, ClosedError, DeadlineError
from wireproof.reference_client.link import Link, OnPush, open_link

__all__ = ["Line", "Reconnect"]

OnLoss = Callable[[ClientError, bool], object]
"""Takes why a connection was lost, and whether it will be made again."""


@dataclass(frozen=True, slots=True)
class Reconnect:
    """How a lost connection is made again: so many attempts, after delays that double up to the longest, in seconds."""

    attempts: int = 5
    first_delay: float = 0.05
    longest_delay: float = 2.0

    def delays(self) -> list[float]:
        """Return the seconds to wait before each attempt."""
        return [min(self.first_delay * 2**number, self.longest_delay) for number in range(self.attempts)]


class Line:
    """The way to one server: at most one link at a time."""

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
        """`prepare` has a new link ready before anybody uses it: logged in, say, and subscribed as before a loss."""
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
        self._settled = asyncio.Event()
        """Set while `link` need not wait: there is one, or there will be none."""
        self._over: ClientError | None = ClosedError("the client is not connected")
        self._settled.set()
        self._mending: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        """Whether there is no link and will be none."""
        return self._over is not None

    async def open(self) -> None:
        """Connect, once; raises `ClosedError`, `DeadlineError`, or what preparing raises."""
        if self._link is not None:
            raise ClosedError("the client was connected before: make another one")
        self._link = await self._dial()
        self._over = None
        if self._link.ended is not None:
            self._lost(self._link.ended)

    async def link(self) -> Link:
        """Return the link, waiting while it is made again; raises `ClosedError` when there is none and will be none."""
        await self._settled.wait()
        if self._over is not None or self._link is None:
            raise ClosedError(str(self._over))
        return self._link

    def finish(self, why: ClientError) -> None:
        """Give out no link any more, nor make one again, nor tell of a loss: the end that comes is wanted."""
        self._over = why if self._over is None else self._over
        self._settled.set()

    async def close(self) -> None:
        """Close for good: what waits fails with `ClosedError`."""
        self.finish(ClosedError("the client was closed"))
        if self._mending is not None:
            self._mending.cancel()
            with suppress(asyncio.CancelledError):
                await self._mending
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
        if self._over is not None or (self._mending is not None and not self._mending.done()):
            return
        if self._reconnect is None:
            self.finish(why)
        else:
            self._settled.clear()
            self._mending = asyncio.get_running_loop().create_task(self._mend(self._reconnect, why))
        self._on_loss(why, self._reconnect is not None)

    async def _mend(self, how: Reconnect, why: ClientError) -> None:
        for delay in how.delays():
            await asyncio.sleep(delay)
            with suppress(ClientError):
                self._link = await self._dial()
                if self._link.ended is None:
                    self._settled.set()
                    self._on_mended()
                    return
        told = ClosedError(f"{why}; it could not be made again in {how.attempts} attempts")
        self.finish(told)
        self._on_loss(told, False)
