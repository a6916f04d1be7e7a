"""One connection to a server on one socket: sends requests, matches replies in order, passes pushes to a callback.

It knows sockets and no protocol: the sans-IO codec does the framing. A cancelled call keeps its place in the order, and
its late reply is dropped. When the connection ends, every pending call fails at once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

from wireproof.protocols.connection import Client, EndOfStream
from wireproof.protocols.errors import ProtocolError, RemoteProtocolError
from wireproof.protocols.messages import Push, Reply, Request
from wireproof.reference_client.errors import BadReplyError, ClientError, ClosedError, DeadlineError, UntrustedError

__all__ = ["Link", "open_link"]

OnPush = Callable[[Push], object]
OnEnd = Callable[[ClientError], object]


class Link(asyncio.Protocol):
    """One open connection; `open_link` makes one."""

    _transport: asyncio.Transport

    def __init__(self, codec: Client, on_push: OnPush, on_end: OnEnd) -> None:
        """`on_push` is called with each push, `on_end` once with the reason of the end, unless we closed."""
        self._codec = codec
        self._on_push = on_push
        self._on_end = on_end
        self._waiting: deque[asyncio.Future[Reply]] = deque()
        self._writable = asyncio.Event()
        self._writable.set()
        self._gone = asyncio.get_running_loop().create_future()
        self.ended: ClientError | None = None
        """Why the connection has ended; None while it is open."""

    def ask(self, requests: Sequence[Request]) -> list[asyncio.Future[Reply]]:
        """Send requests in one write and return a future of each reply; the values must be checked.

        Raises ClosedError if the connection has ended.
        """
        if self.ended is not None:
            raise ClosedError(str(self.ended))
        data = b"".join([self._codec.send(one) for one in requests])
        loop = asyncio.get_running_loop()
        replies: list[asyncio.Future[Reply]] = [loop.create_future() for _ in requests]
        self._waiting.extend(replies)
        self._transport.write(data)
        return replies

    async def drained(self) -> None:
        """Wait while the write buffer is full, so that a fast caller does not fill memory."""
        await self._writable.wait()

    def close(self) -> None:
        """Close; pending calls fail with ClosedError."""
        self._end(ClosedError("the client was closed"), detail=False)
        self._transport.close()

    async def closed(self) -> None:
        """Wait until the socket is gone."""
        await asyncio.shield(self._gone)

    def abort(self) -> None:
        """Close without sending what is buffered; pending calls fail with ClosedError."""
        self._end(ClosedError("the client was closed"), detail=False)
        self._transport.abort()

    def fail(self, why: ClientError) -> None:
        """Close a connection that is unusable; pending calls fail with `why`, and `on_end` is called with it."""
        self._end(why)
        self._transport.abort()

    async def secure(self, context: ssl.SSLContext, host: str, *, timeout: float) -> None:
        """Switch to TLS after a request for it; the certificate must name `host`.

        Raises ClosedError if the server closes, BadReplyError if the handshake fails, UntrustedError if the certificate
        is not trusted, and DeadlineError after `timeout` seconds; the connection is unusable then.
        """
        loop = asyncio.get_running_loop()
        self._codec.start_tls()
        try:
            inside = await loop.start_tls(
                self._transport,
                self,
                context,
                server_hostname=host,
                ssl_handshake_timeout=timeout,
                ssl_shutdown_timeout=timeout,
            )
        except ssl.SSLCertVerificationError as error:
            raise UntrustedError(f"the server's certificate: {error.verify_message}") from None
        except ssl.SSLError as error:
            raise BadReplyError(f"the TLS handshake failed: {error.reason or error}") from None
        except ConnectionAbortedError as error:
            raise DeadlineError(f"no TLS handshake in {timeout:g} s: {error}") from None
        except OSError as error:
            raise ClosedError(f"the server closed the connection during the TLS handshake{_why(error)}") from None
        if inside is None:
            raise ClosedError("the server closed the connection during the TLS handshake")
        self._transport = inside

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Decode the bytes, and pass on the messages that they complete."""
        if self.ended is None:
            self._codec.receive_data(data)
            self._read()

    def eof_received(self) -> bool:
        """Fail the pending calls: the server's stream has ended."""
        if self.ended is None:
            self._codec.receive_data(b"")
            self._read()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the pending calls: the socket is closed."""
        self._writable.set()
        if not self._gone.done():
            self._gone.set_result(None)
        self._end(ClosedError(f"the connection was lost: {exc}" if exc else "the server closed the connection"))

    def pause_writing(self) -> None:
        """Make `drained` wait: the write buffer is full."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let `drained` return: the write buffer has room."""
        self._writable.set()

    def _read(self) -> None:
        try:
            while self.ended is None:
                match self._codec.next_event():
                    case Push() as push:
                        self._on_push(push)
                    case Reply() as reply:
                        self._answer(reply)
                    case EndOfStream():
                        self._end(ClosedError(f"the server closed the connection{self._unanswered()}"))
                    case _:
                        return
        except RemoteProtocolError as error:
            self._end(self._broken(error))
            self._transport.abort()

    def _answer(self, reply: Reply) -> None:
        waiting = self._waiting.popleft()
        if not waiting.done():
            waiting.set_result(reply)

    def _broken(self, error: ProtocolError) -> ClientError:
        """Return the error for undecodable bytes; a stream that ends inside a reply counts as closed."""
        oldest = self._codec.pending[:1]
        about = f" in the reply to {oldest[0].NAME}" if oldest else ""
        if error.code == "truncated":
            return ClosedError(f"the server closed the connection{about}: {error.message}")
        return BadReplyError(f"the server broke the protocol{about}: {error}")

    def _unanswered(self) -> str:
        left = len(self._waiting)
        return f" with {left} request{'s' * (left > 1)} unanswered" if left else ""

    def _end(self, why: ClientError, *, detail: bool = True) -> None:
        if self.ended is not None:
            return
        self.ended = why
        for one in self._waiting:
            if not one.done():
                one.set_exception(type(why)(str(why)))
                one.exception()
        self._waiting.clear()
        if detail:
            self._on_end(why)


def _why(error: OSError) -> str:
    return f": {error}" if str(error) else ""


async def open_link(
    codec: Client,
    host: str,
    port: int,
    *,
    timeout: float,
    on_push: OnPush,
    on_end: OnEnd,
    link_class: type[Link] = Link,
) -> Link:
    """Connect to a TCP server.

    Raises ClosedError if that fails, and DeadlineError after `timeout` seconds.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout):
            _, link = await loop.create_connection(lambda: link_class(codec, on_push, on_end), host, port)
    except TimeoutError:
        raise DeadlineError(f"cannot connect to {host} port {port}: no answer in {timeout:g} s") from None
    except (OSError, OverflowError, UnicodeError) as error:
        raise ClosedError(f"cannot connect to {host} port {port}: {error}") from None
    return link
