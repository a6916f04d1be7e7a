"""One connection: its bytes in and out, its identity and its counts. The meaning of requests is in the handlers.

Everything read is answered at once, with one write. If the answers exceed `high_water` or the peer does not read them,
the rest waits undecoded until `resume_writing`. Pushes are written after the current answers, and never before the
answer to a request without status byte (T37). A connection with more than `push_limit` pushed bytes waiting is
disconnected.
"""

# Strategy
#
# Input. Most reads hold whole requests with short answers. `data_received` answers them by one call of `Dispatch.run`
# and one write, without message objects; `_flows` says that nothing is waiting, so that this shortcut is allowed.
# Everything else goes through `_work`: an incomplete request is kept in `_tail` until `_need` bytes are there, so a
# request that arrives byte by byte is not decoded again for each byte.
#
# Backpressure. While the write buffer is full (`_waits`), input is kept undecoded in `_held`. The transport does not
# read from the peer meanwhile, so `_held` has at most what was read before. Answers are written in strides: one read
# may ask for much more than fits, and `high_water` bounds what is encoded before it is written.
#
# Pushes. A push must not stand between a request without status byte and its answer: the peer would read it as the
# answer (T37). So pushes are queued and written by `flush` after the current answers, unless the next request in
# `_data` has such an answer. Pushes of a connection to itself come before the answer to its PUBLISH (T12).
#
# Ends. `connection_lost` drops all state at once and may be called twice: `end` calls it, and so does the transport.

from __future__ import annotations

import logging
from collections import deque

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.reference_server.service import Close, Peer, Session, Write
from wireproof.reference_server.throttr.channels import Subscription
from wireproof.reference_server.throttr.dispatch import Dispatch
from wireproof.reference_server.throttr.state import State
from wireproof.reference_server.throttr.tally import no_requests

__all__ = ["ThrottrSession"]

log = logging.getLogger(__name__)

STRIDE = 8 * 1024
"""The most bytes of requests with short answers that are answered before these are written."""


class ThrottrSession(Session):
    """The server's side of one connection."""

    def __init__(self, state: State, dispatch: Dispatch, peer: Peer, write: Write, close: Close) -> None:
        self._state, self._dispatch, self._write, self._close = state, dispatch, write, close
        self._run, self._minutes, self._clock_ns = dispatch.run, state.minutes, state.clock.monotonic_ns
        self._max_frame = state.limits.max_frame
        self._high_water, self._push_limit = state.limits.high_water, state.limits.push_limit
        self.peer = peer
        self.id = state.new_id()
        self.connected_at = state.wall(self._clock_ns())
        self.read_bytes = self.written_bytes = self.published_bytes = self.received_bytes = 0
        self.settled_bytes = (0, 0)
        """Bytes read and written up to the last `State.settle`."""
        self.counts = no_requests()
        """Requests by type byte, up to the last `State.settle`."""
        self.fresh = no_requests()
        """Requests since then."""
        self.is_fresh = False
        """Whether it is in `State.fresh`."""
        self.subscriptions: dict[bytes, list[Subscription]] = {}
        self.subscribed = 0
        """The number of its subscriptions."""
        self._data, self._at = b"", 0
        """Bytes to decode, beginning at `_at`."""
        self._tail, self._need = bytearray(), 0
        """The beginning of a request, and the size from which it can be decoded further."""
        self._held: deque[bytes] = deque()
        """Bytes received while the write buffer was full."""
        self._pushes: list[bytes] = []
        self._push_bytes = 0
        self._own: list[bytes] = []
        self._waits = self._ended = self._deaf = self.closed = False
        self._flows = True
        """Nothing is waiting, incomplete or ended: the common case."""

    def data_received(self, data: bytes) -> None:
        """Handle the bytes that the transport read; the code after `_flows` is a shortcut for the common case."""
        if not self._flows:
            if not self.closed:
                self._begin()
                self.read_bytes += len(data)
                self._receive(data)
            return
        self._begin()
        self.read_bytes += len(data)
        answers: list[bytes] = []
        size = len(data)
        at = self._run(data, 0, min(size, STRIDE), self._max_frame, self.fresh, answers)
        if at < size:
            self._data, self._at = data, at
            self._work(answers)
        else:
            answer = b"".join(answers)
            self.written_bytes += len(answer)
            self._write(answer)

    def _receive(self, data: bytes) -> None:
        if self._deaf:
            return
        if self._waits:
            self._held.append(data)
        else:
            self._take(data)
            self._work([])

    def eof_received(self) -> None:
        """Handle the end of the peer's stream."""
        if not self.closed:
            self._ended = True
            if not self._waits:
                self.end()

    def connection_lost(self) -> None:
        """Drop the state of a connection that is gone; may be called twice."""
        if not self.closed:
            self.closed, self._flows = True, False
            self._data, self._at = b"", 0
            self._held.clear()
            self._tail.clear()
            self._pushes.clear()
            self._state.forget(self)

    def pause_writing(self) -> None:
        """Stop handling and writing: the write buffer is full."""
        self._waits, self._flows = True, False

    def resume_writing(self) -> None:
        """Continue: the write buffer has room."""
        self._waits = False
        if not self.closed:
            self._begin()
            self._work([])

    def _begin(self) -> None:
        """Set the present instant of the server, and roll its minute if that has ended."""
        state = self._state
        state.now = now = self._clock_ns()
        if now >= self._minutes.next_ns:
            state.turn_minute()
        if not self.is_fresh:
            self._be_fresh()

    def _be_fresh(self) -> None:
        """Add this connection to those whose counts `settle` collects."""
        if not self.is_fresh:
            self.is_fresh = True
            self._state.fresh.append(self)

    def _take(self, data: bytes) -> None:
        """Make received bytes decodable, or keep them if they are no whole request yet."""
        if self._tail:
            self._tail += data
            if len(self._tail) < self._need:
                return
            data = bytes(self._tail)
            self._tail.clear()
        self._data, self._at = data, 0

    def _work(self, answers: list[bytes]) -> None:
        """Answer what was received, as far as the peer reads it; `answers` exist already."""
        while not self._waits:
            if self._at < len(self._data) or answers:
                if self._pushes and not answers and not self._owes_bare_answer():
                    self.flush()
                else:
                    self._answer(answers)
            elif self._held:
                self._take(self._held.popleft())
            else:
                break
        if not self._waits:
            self.flush()
            if self._ended:
                self.end()
        self._flows = not (self._waits or self._tail or self._deaf or self.closed)

    def _answer(self, answers: list[bytes]) -> None:
        """Answer the next requests, at least one if it is whole, up to `high_water` bytes, and write the answers."""
        left = self._high_water
        while left >= 0 and self._at < len(self._data):
            data, at = self._data, self._at
            stop_at = min(len(data), at + STRIDE)
            self._at = self._run(data, at, stop_at, self._max_frame, self.fresh, answers)
            if self._at >= stop_at:
                break
            left -= self._at - at + self._answer_any(answers)
        data = b"".join(answers)
        answers.clear()
        if data and not self.closed:
            self.written_bytes += len(data)
            self._write(data)
        if self._state.touched:
            self._state.flush_pushes()

    def _answer_any(self, answers: list[bytes]) -> int:
        """Answer the next request, or keep its beginning; return the size of the answer in bytes."""
        data, at = self._data, self._at
        try:
            request, stop = self._dispatch.decode(data, at, len(data), FrameContext(self._max_frame))
        except MalformedFrameError as error:
            self._break_off(error)
            return 0
        if request is None:
            self._tail += memoryview(data)[at:]
            self._need = stop
            self._data, self._at = b"", 0
            return self._high_water + 1
        self._at = stop
        self.fresh[data[at]] += 1
        answer = self._dispatch.handlers[type(request)](request, self, self._state.now)
        self._be_fresh()
        answers.append(answer)
        return len(answer)

    def push(self, frame: bytes, size: int) -> None:
        """Queue a push with a payload of `size` bytes; it is written once the current request is answered."""
        if self.closed:
            return
        self.received_bytes += size
        if not self._pushes:
            self._state.touched.append(self)
        self._pushes.append(frame)
        self._push_bytes += len(frame)
        if self._push_bytes > self._high_water:
            self.flush()
            if self._push_bytes > self._push_limit:
                log.warning("%s reads too slowly: %d pushed bytes wait, disconnecting", self.peer, self._push_bytes)
                self.end()

    def push_to_itself(self, frame: bytes, copies: int, size: int) -> None:
        """Queue pushes of a message that this connection published itself; they come before its answer (T12)."""
        if len(frame) * copies > self._push_limit:
            log.warning("%s pushes to itself more than the limit, disconnecting", self.peer)
            self.end()
            return
        self.received_bytes += size * copies
        self._own += [frame] * copies

    def take_own(self) -> bytes:
        """Return and clear what `push_to_itself` queued."""
        own, self._own = b"".join(self._own), []
        return own

    def flush(self) -> None:
        """Write the queued pushes, unless the write buffer is full or an answer comes first."""
        if self._pushes and not self._waits and not self._owes_bare_answer():
            data, self._push_bytes = b"".join(self._pushes), 0
            self._pushes.clear()
            self.written_bytes += len(data)
            self._be_fresh()
            self._write(data)

    def _owes_bare_answer(self) -> bool:
        """Return whether the peer would read a push as the answer to its oldest request (T37)."""
        return self._at < len(self._data) and self._dispatch.is_bare[self._data[self._at]]

    def _break_off(self, error: MalformedFrameError) -> None:
        """Close the connection, or ignore its input from now on (T30), after bytes that cannot be framed."""
        log.info("%s: %s", self.peer, error)
        self._data, self._at = b"", 0
        self._held.clear()
        if self._state.tolerates(error):
            self._deaf = True
        else:
            self._ended = True

    def end(self) -> None:
        """Close once everything written is sent; answer nothing more."""
        if not self.closed:
            self.connection_lost()
            self._close()
