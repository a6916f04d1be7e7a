"""A connection on which replies say which request they answer, and come in any order. Knows no protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from wireproof.protocols.connection import Client
from wireproof.protocols.messages import Message, Push, Reply, Request
from wireproof.reference_client.errors import ClientError, ClosedError
from wireproof.reference_client.link import Link, OnEnd, OnPush

__all__ = ["MatchedLink"]


class MatchedLink(Link):
    """A link whose codec knows which request a message answers; messages that answer none are dropped."""

    def __init__(self, codec: Client, on_push: OnPush, on_end: OnEnd) -> None:
        super().__init__(codec, self._pushed, on_end)
        self._hand_on = on_push
        self._asked: dict[int, tuple[Request, asyncio.Future[Reply]]] = {}
        """Identity of a request -> it, and what becomes of it."""

    def ask(self, requests: Sequence[Request]) -> list[asyncio.Future[Reply]]:
        """Send requests in one write and return a future of the message that answers each.

        The values must be checked. Raises ClosedError if the connection has ended.
        """
        self.send_unanswered(requests)
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[Reply]] = [loop.create_future() for _ in requests]
        for request, answer in zip(requests, answers, strict=True):
            self._asked[id(request)] = (request, answer)
        return answers

    def send_unanswered(self, requests: Sequence[Request]) -> None:
        """Send requests that nothing answers. Raises ClosedError if the connection has ended."""
        if self.ended is not None:
            raise ClosedError(str(self.ended))
        self._transport.write(b"".join([self._codec.send(one) for one in requests]))

    def _answer(self, reply: Message) -> None:
        _, waiting = self._asked.pop(id(self._codec.answered), (None, None))
        if waiting is not None and not waiting.done():
            waiting.set_result(reply)  # type: ignore[arg-type]

    def _pushed(self, push: Push) -> None:
        if self._codec.answered is None:
            self._hand_on(push)
        else:
            self._answer(push)

    def _unanswered(self) -> str:
        left = len(self._asked)
        return f" with {left} request{'s' * (left > 1)} unanswered" if left else ""

    def _end(self, why: ClientError, *, detail: bool = True) -> None:
        self._waiting.extend(answer for _, answer in self._asked.values())
        self._asked.clear()
        super()._end(why, detail=detail)
