"""Publishing over UDP: one datagram, and its answer if the operation requests one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from wireproof.protocols.errors import LocalProtocolError, RemoteProtocolError
from wireproof.protocols.messages import Request
from wireproof.protocols.psrt import Codec, DatagramClient, Encryption, ResponseCode
from wireproof.protocols.psrt.enums import NONCE_SIZE, PROTOCOL_VERSION
from wireproof.protocols.psrt.replies import DatagramReply
from wireproof.protocols.psrt.requests import Content, Datagram, Sealed
from wireproof.protocols.psrt.sealing import seal
from wireproof.reference_client.checks import check
from wireproof.reference_client.errors import (
    BadReplyError,
    BadRequestError,
    ClientError,
    ClosedError,
    DeadlineError,
    TooLongError,
)
from wireproof.reference_client.psrt.answers import accepted

__all__ = ["Answer", "exchange", "packed"]

LARGEST = 65_507
"""The most bytes in a datagram of IPv4."""


def packed(
    codec: Codec, content: Content, encryption: int, login: bytes, password: bytes, nonce: Callable[[int], bytes]
) -> Datagram | Sealed:
    """Return the request that carries `content`, in clear or encrypted with the key `password`.

    `nonce` returns new bytes of a size. Raises BadRequestError for values that do not fit.
    """
    check(content, codec.layout(Content))
    if encryption == Encryption.PLAIN:
        values = (content.op, content.priority, content.topic, content.message)
        request: Datagram | Sealed = Datagram(PROTOCOL_VERSION, encryption, login, password, *values)
    else:
        once = nonce(NONCE_SIZE)
        try:
            sealed = seal(key=password, nonce=once, encryption=encryption, of=codec.encode(content))
        except LocalProtocolError as error:
            raise BadRequestError(error.message) from None
        request = Sealed(PROTOCOL_VERSION, encryption, login, once, sealed)
    check(request, codec.layout(type(request)))
    return request


class Answer(asyncio.DatagramProtocol):
    """Receives the first datagram from the server; the socket is connected, so there are no others."""

    def __init__(self) -> None:
        self.came: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        """Store the first datagram."""
        if not self.came.done():
            self.came.set_result(data)

    def error_received(self, exc: Exception) -> None:
        """Fail: the system reports that the datagram did not arrive."""
        if not self.came.done():
            self.came.set_exception(ClosedError(f"the datagram did not arrive: {exc}"))
            self.came.exception()


async def exchange(
    codec: Codec, host: str, port: int, request: Datagram | Sealed, *, acknowledged: bool, timeout: float
) -> ResponseCode | None:
    """Send a datagram and return the code of its answer; None without `acknowledged`.

    Raises AccessError and RefusedError if the server refuses, DeadlineError without an answer in `timeout` seconds
    (servers do not answer many invalid datagrams), ClosedError if nobody listens, TooLongError if it does not fit into
    a datagram, and BadReplyError if the answer cannot be decoded.
    """
    data = codec.encode(request)
    if len(data) > LARGEST:
        raise TooLongError(f"{request.NAME}: expected at most {LARGEST} bytes, got {len(data)}")
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout):
            transport, answer = await loop.create_datagram_endpoint(Answer, remote_addr=(host, port))
            try:
                transport.sendto(data)
                return _code(codec, request, await answer.came) if acknowledged else None
            finally:
                transport.close()
    except TimeoutError as error:
        if isinstance(error, ClientError):
            raise
        raise DeadlineError(f"no answer to {request.NAME} in {timeout:g} s") from None
    except (OSError, OverflowError, UnicodeError) as error:
        if isinstance(error, ClientError):
            raise
        raise ClosedError(f"cannot send to {host} port {port}: {error}") from None


def _code(codec: Codec, request: Request, data: bytes) -> ResponseCode:
    connection = DatagramClient(codec)
    connection.await_reply(request)
    connection.receive_data(data)
    try:
        reply = cast(DatagramReply, connection.next_event())
    except RemoteProtocolError as error:
        raise BadReplyError(f"the answer to {request.NAME}: {error}") from None
    if reply.version != PROTOCOL_VERSION:
        raise BadReplyError(f"the answer to {request.NAME}: expected version {PROTOCOL_VERSION}, got {reply.version}")
    return accepted(request.NAME, reply)
