"""Requests that are collected and sent in one write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

from wireproof.protocols.messages import Reply, Request
from wireproof.reference_client.errors import ClientError
from wireproof.reference_client.throttr.commands import Commands

__all__ = ["Batch"]

T = TypeVar("T")
Shape = Callable[[Reply], Any]


class Batch(Commands):
    """`async with client.batch() as batch`: each call returns a future; all are sent when the block ends.

    If the block raises, nothing is sent. A value that does not fit raises at its call.
    """

    def __init__(
        self, check: Callable[[Request], None], send: Callable[[Sequence[Request]], Awaitable[list[Reply]]]
    ) -> None:
        self._check = check
        self._send = send
        self._collected: list[tuple[Request, Shape, asyncio.Future[Any]]] = []

    def _do(self, request: Request, shape: Callable[[Reply], T]) -> asyncio.Future[T]:
        self._check(request)
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._collected.append((request, shape, result))
        return result

    async def send(self) -> list[Reply]:
        """Send the collected requests and wait for all replies. Raises the errors of `Client.ask_all`."""
        collected, self._collected = self._collected, []
        if not collected:
            return []
        try:
            replies = await self._send([request for request, _, _ in collected])
        except BaseException:
            for _, _, result in collected:
                result.cancel()
            raise
        for (_, shape, result), reply in zip(collected, replies, strict=True):
            _settle(result, shape, reply)
        return replies

    async def __aenter__(self) -> Batch:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.send()
            return
        for _, _, result in self._collected:
            result.cancel()


def _settle(result: asyncio.Future[Any], shape: Shape, reply: Reply) -> None:
    if result.done():
        return
    try:
        result.set_result(shape(reply))
    except ClientError as error:
        result.set_exception(error)
        result.exception()
