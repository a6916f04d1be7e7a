"""Faults of the control socket: beginning, staying alive, ending."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any

from wireproof.mutants.psrt.client.mutant import control_link, conversation, mutant, session
from wireproof.protocols.messages import Reply, Request
from wireproof.protocols.psrt import ResponseCode
from wireproof.protocols.psrt.replies import Response
from wireproof.protocols.psrt.requests import Bye, DataGreeting, Greeting, Nop
from wireproof.reference_client.errors import AccessError, BadReplyError, ClientError, ClosedError
from wireproof.reference_client.link import Link
from wireproof.reference_client.pings import Pings
from wireproof.reference_client.psrt.client import Client
from wireproof.reference_client.psrt.conversation import Conversation
from wireproof.reference_client.psrt.session import Session

__all__ = ["MUTANTS"]


class _AnyVersion(Session):
    """Takes every version for its own."""

    async def _greet(self, link: Link, greeting: Greeting | DataGreeting) -> None:
        try:
            await super()._greet(link, greeting)
        except BadReplyError:
            if link.ended is not None:
                raise


class _Unaware(Session):
    """Is connected although the login was refused."""

    async def begin(self, control: Link) -> None:
        try:
            await super().begin(control)
        except AccessError:
            return


class _NoPings(Pings):
    """Never pings."""

    def begin(self) -> None:
        pass


class _Silent(Conversation):
    """Has nothing to say for itself."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pings = _NoPings(1.0, self._ping)


class _Slow(Conversation):
    """Pings at four times the interval."""

    def __init__(self, way: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(way, *arguments, **options)
        self._pings = Pings(2 * way.timeout, self._ping)


class _Careless(Link):
    """Does not count the answers to its pings: the next who waits gets them."""

    def ask(self, requests: Sequence[Request]) -> list[asyncio.Future[Reply]]:
        replies = super().ask(requests)
        for request, reply in zip(requests, replies, strict=True):
            if isinstance(request, Nop):
                self._waiting.remove(reply)
                reply.set_result(Response(ResponseCode.OK))
        return replies

    def _answer(self, reply: Reply) -> None:
        if self._waiting:
            super()._answer(reply)


class _Trusting(Session):
    """Takes every certificate."""

    def __init__(self, way: Any, *arguments: Any) -> None:
        if way.tls is not None:
            way = replace(way, tls=ssl._create_unverified_context())
        super().__init__(way, *arguments)


class _Demanding(Conversation):
    """Takes nothing but 01 for the end of a session."""

    def _send(self, link: Link, request: Request) -> Awaitable[Response]:
        answer = super()._send(link, request)
        return _demanded(answer) if isinstance(request, Bye) else answer


async def _demanded(answer: Awaitable[Response]) -> Response:
    try:
        return await answer
    except ClosedError:
        raise BadReplyError("the server did not answer BYE") from None


class _NotGone(Client):
    """Says BYE and goes on as if nothing were."""

    async def bye(self) -> ResponseCode:
        return ResponseCode.OK


class _Hanging(Link):
    """Leaves what waits waiting when the connection ends."""

    def _end(self, why: ClientError, *, told: bool = True) -> None:
        if told:
            self._waiting.clear()
        super()._end(why, told=told)


MUTANTS = (
    mutant("any-version", "The version in the server's greetings is not looked at.", "CLIENT-1",
          client=session(_AnyVersion)),
    mutant("refused-login-is-connected", "A login that is refused is told as one that went well.", "CLIENT-2",
          client=session(_Unaware)),
    mutant("no-pings", "A client with nothing to say says nothing.", "CLIENT-3", client=conversation(_Silent)),
    mutant("slow-pings", "Pings come at four times the interval.", "CLIENT-3", client=conversation(_Slow)),
    mutant("ping-answers-mixed-up", "The answer to a ping goes to the next request that waits.", "CLIENT-4",
          client=control_link(_Careless)),
    mutant("any-certificate", "Every certificate is taken.", "CLIENT-15", client=session(_Trusting)),
    mutant("bare-end-of-bye-is-error", "A close in place of the answer to BYE is an error.", "CLIENT-18",
          client=conversation(_Demanding)),
    mutant("bye-is-not-said", "BYE is told as done, and nothing is sent or closed.", "CLIENT-18", client=_NotGone),
    mutant("hangs-on-close", "What waits when a socket is lost waits on.", "CLIENT-19", client=control_link(_Hanging)),
)  # fmt: skip
