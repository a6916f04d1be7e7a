"""How a connection begins: TLS, the eight bytes, and who the client is."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from wireproof.protocols.messages import Reply
from wireproof.protocols.tmqp import ResultCode
from wireproof.protocols.tmqp.enums import VERSION
from wireproof.protocols.tmqp.replies import ProtocolReply, Welcome
from wireproof.protocols.tmqp.requests import Hello, Protocol
from wireproof.reference_client.errors import AccessError, BadReplyError, BadRequestError
from wireproof.reference_client.link import Link

__all__ = ["Identity", "Way", "greet"]

PATIENCE = 0.3
"""Seconds for a welcome, which a server need not send (E8)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a client says that it is; what is empty is left out."""

    id: bytes = b""
    name: bytes = b""
    type: bytes = b""
    token: bytes = b""

    @property
    def text(self) -> bytes:
        """The payload of a `Hello`. Raises BadRequestError for a value that holds CR or LF."""
        lines = [b"CONNECT /"]
        for name in ("id", "name", "type", "token"):
            value: bytes = getattr(self, name)
            if b"\r" in value or b"\n" in value:
                raise BadRequestError(f"client_{name}: expected bytes without CR and LF")
            if value:
                lines.append(f"Client-{name.capitalize()}: ".encode() + value)
        return b"".join(line + b"\r\n" for line in lines)


@dataclass(frozen=True)
class Way:
    """Where a server is, and who connects."""

    host: str
    port: int
    timeout: float
    """Seconds."""
    identity: Identity
    tls: ssl.SSLContext | None
    """None: no TLS."""


async def greet(link: Link, way: Way, known: Callable[[bytes], object]) -> None:
    """Begin a connection; `known` is called with the client's id, once the server assigns it.

    Raises AccessError if the server refuses the client, BadReplyError if it does not speak TMQP/2.0, and the errors of
    `Link`.
    """
    if way.tls is not None:
        await link.secure(way.tls, way.host, timeout=way.timeout)
    greeting, welcome = link.ask([Protocol(), Hello(payload=way.identity.text)])
    welcome.add_done_callback(lambda done: _learn(done, known))
    reply = await greeting
    if not isinstance(reply, ProtocolReply) or reply.version != VERSION:
        raise BadReplyError(f"expected {VERSION.decode()}, got another version")
    with suppress(TimeoutError):
        answer = await asyncio.wait_for(asyncio.shield(welcome), min(PATIENCE, way.timeout / 2))
        assert isinstance(answer, Welcome)
        if answer.content_type != ResultCode.ACCEPTED:
            raise AccessError(f"the server answered the HELLO with {answer.content_type}", answer)


def _learn(done: asyncio.Future[Reply], known: Callable[[bytes], object]) -> None:
    if not done.cancelled() and done.exception() is None:
        answer = done.result()
        if isinstance(answer, Welcome) and answer.content_type == ResultCode.ACCEPTED:
            known(answer.target)
