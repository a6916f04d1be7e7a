"""A session whose answers and pushes share one queue, and that handles a bounded number of requests in a turn.

Handlers queue frames with `push`; the state writes them once the current requests are handled, so that a segment of
many requests costs one write. While the write buffer is full nothing is handled and nothing is written. What a turn of
the loop leaves over is handled in the next one, so that no client keeps the others waiting.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from wireproof.protocols.messages import Reply
from wireproof.reference_server.service import Close, Limits, Peer, Session, Write

__all__ = ["StreamAnswer", "StreamSession"]

log = logging.getLogger(__name__)

StreamAnswer = Reply | bytes | tuple[Reply, ...] | None
"""Replies, or bytes that are written instead (mutants send what has no message)."""


class _State(Protocol):
    """What a session needs of the state that all connections share."""

    touched: list[Any]
    """Connections that have frames to write once the current requests are handled."""

    @property
    def limits(self) -> Limits: ...

    def later(self, work: Callable[[], object], /) -> None:
        """Do work in the next turn of the loop, and write what comes of it."""


class _Connection(Protocol):
    def send(self, message: Any, /) -> bytes: ...


S = TypeVar("S", bound=_State)
C = TypeVar("C", bound=_Connection)


class StreamSession(Session, Generic[S, C]):
    """The server's side of one connection, without what its requests mean."""

    def __init__(self, state: S, connection: C, peer: Peer, write: Write, close: Close) -> None:
        self.state, self.connection, self.peer = state, connection, peer
        self._write, self._close = write, close
        self._out: list[bytes] = []
        self._size = 0
        self.is_slow = False
        """The client does not read what it is sent."""
        self.closed = False
        self._ended = self._finishing = self._is_busy = False

    def eof_received(self) -> None:
        """Handle the end of the stream: the client ends."""
        self._ended = True
        if not (self.is_slow or self._is_busy):
            self.end()

    def pause_writing(self) -> None:
        """Stop handling and writing: the write buffer is full."""
        self.is_slow = True

    def resume_writing(self) -> None:
        """Continue: the write buffer has room."""
        self.is_slow = False
        self.flush()
        self._work()

    @property
    def unwritten(self) -> int:
        """See `Session.unwritten`."""
        return sum(map(len, self._out))

    def push(self, frame: bytes) -> None:
        """Queue a frame; it is written once the current requests are handled.

        A reader after which too many bytes wait is closed; a single frame may have any size.
        """
        if self.closed:
            return
        if self._out and self._size + len(frame) > self.state.limits.push_limit:
            self.flush()
            if self._out:
                log.warning("%s: too much waits for a client, closing it", self.peer)
                self.end()
                return
        if not self._out:
            self.state.touched.append(self)
        self._out.append(frame)
        self._size += len(frame)
        if self._size > self.state.limits.high_water:
            self.flush()

    def flush(self) -> None:
        """Write the queued frames, unless the write buffer is full."""
        if self._out and not (self.is_slow or self.closed):
            data = b"".join(self._out)
            self._out.clear()
            self._size = 0
            self._write(data)

    def answer(self, answer: StreamAnswer) -> None:
        """Queue the answers to a request."""
        for one in answer if isinstance(answer, tuple) else (answer,):
            if one:
                self.push(one if isinstance(one, bytes) else self.connection.send(one))

    def finish(self, why: str) -> None:
        """Close once the queued frames are written, and log `why`."""
        log.info("%s: %s, closing", self.peer, why)
        self._finishing = True

    def end(self) -> None:
        """Close; answer nothing more."""
        if not self.closed:
            self.flush()
            self.connection_lost()
            self._close()

    @abstractmethod
    def _work(self) -> None:
        """Handle what was received, as far as the peer reads, some of it in each turn of the loop; then `_follow`."""

    def _follow(self, *, is_over: bool) -> None:
        """Go on in the next turn, or close if that was decided."""
        if self._finishing:
            self.end()
        elif self.closed or self.is_slow:
            return
        elif not is_over:
            self._is_busy = True
            self.state.later(self._go_on)
        elif self._ended:
            self.end()

    def _go_on(self) -> None:
        self._is_busy = False
        if not self.closed:
            self._work()
