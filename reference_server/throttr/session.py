"""One connection: its bytes in and out, its identity and its counts; what requests mean is not known here.

Everything read is answered at once, with one write, unless the answers fill `high_water` or the peer does not take
them: then the rest waits, nothing more is decoded, and it goes on as `resume_writing` says. Pushes are written after
the answers in hand, never between a request without status byte and its answer (T37). A connection that has more
than `push_limit` pushed bytes waiting is disconnected.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from protocols.errors import RemoteProtocolError
from protocols.messages import Request
from protocols.throttr import ServerConnection
from reference_server.service import Close, Peer, Session, Write
from reference_server.throttr.channels import Subscription
from reference_server.throttr.state import Handlers, State
from reference_server.throttr.tally import READ, WRITTEN, Counted, count

__all__ = ["ThrottrSession"]

log = logging.getLogger(__name__)


class ThrottrSession(Session):
    """The server's side of one connection."""

    def __init__(self, state: State, handlers: Handlers, peer: Peer, write: Write, close: Close) -> None:
        self._state, self._handlers, self._write, self._close = state, handlers, write, close
        self._connection = ServerConnection(state.codec, max_frame=state.limits.max_frame)
        self._high_water, self._push_limit = state.limits.high_water, state.limits.push_limit
        self.peer = peer
        self.id = state.new_id()
        self.connected_at = state.wall(state.clock.monotonic_ns())
        self.read_bytes = self.written_bytes = self.published_bytes = self.received_bytes = 0
        self.counts: Counter[Counted] = Counter()
        """Requests by type."""
        self.subscriptions: dict[bytes, list[Subscription]] = {}
        self.subscribed = 0
        """How many subscriptions it has in all."""
        self._batch: Sequence[Request] = ()
        """Requests decoded and not all answered yet; the first `_done` of them are, `_settled` of them are counted."""
        self._done = self._settled = 0
        self._answers: list[bytes] = []
        """Answers to the requests after `_done`, not written yet."""
        self._pushes: list[bytes] = []
        self._push_bytes = 0
        self._own: list[bytes] = []
        self._paused = self._ended = self._deaf = self.closed = False

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        if self.closed:
            return
        size = len(data)
        self.read_bytes += size
        self._begin()
        self._state.tally.totals[READ] += size
        if not self._deaf:
            self._connection.receive_data(data)
            if not self._paused:
                self._work()

    def eof_received(self) -> None:
        """See `Session`."""
        if self.closed or self._ended:
            return
        self._ended = True
        if not self._paused:
            self._begin()
            self._work()

    def connection_lost(self) -> None:
        """See `Session`."""
        if not self.closed:
            self.closed = True
            self._batch = ()
            self._answers.clear()
            self._pushes.clear()
            self._state.forget(self)

    def pause_writing(self) -> None:
        """See `Session`."""
        self._paused = True

    def resume_writing(self) -> None:
        """See `Session`."""
        self._paused = False
        if not self.closed:
            self._begin()
            self._work()

    def _begin(self) -> None:
        """Reach the present."""
        state = self._state
        self._now = now = state.clock.monotonic_ns()
        if now >= state.minutes.next_ns:
            state.minutes.reach(now)
            state.tally.roll()

    def _work(self) -> None:
        """Answer what was received, as far as the peer takes it."""
        while not self._paused and not self.closed:
            if self._done == len(self._batch):
                self._batch, self._done, self._settled = self._connection.next_requests(), 0, 0
                if not self._batch:
                    self.flush()
                    self._look_for_the_end()
                    return
            if self._pushes and not self._state.codec.is_bare(type(self._batch[self._done])):
                self.flush()
            else:
                self._answer()

    def _answer(self) -> None:
        """Answer requests up to `high_water` bytes of answers, and write them."""
        handlers, answers, now, left = self._handlers, self._answers, self._now, self._high_water
        batch = self._batch[self._done :] if self._done else self._batch
        for request in batch:
            answer = handlers[type(request)](request, self, now)
            answers.append(answer)
            left -= len(answer)
            if left < 0:
                break
        self._settle(len(answers))
        self._connection.note_answered(len(answers))
        self._done += len(answers)
        data = b"".join(answers)
        answers.clear()
        if data and not self.closed:
            self._send(data)
        if self._state.touched:
            self._state.flush_pushes()

    def _send(self, data: bytes) -> None:
        self.written_bytes += len(data)
        self._state.tally.totals[WRITTEN] += len(data)
        self._write(data)

    def settle(self) -> None:
        """Count the requests answered so far and the one in hand; whoever reads counts calls this first."""
        self._settle(len(self._answers) + 1)

    def _settle(self, answered: int) -> None:
        reached = self._done + answered
        if reached > self._settled:
            run = self._batch if reached - self._settled == len(self._batch) else self._batch[self._settled : reached]
            count(self.counts, run)
            count(self._state.tally.totals, run)
            self._settled = reached

    def push(self, frame: bytes, size: int) -> None:
        """Take a push whose payload has `size` bytes; it is written once the request in hand is answered."""
        if self.closed:
            return
        self.received_bytes += size
        if not self._pushes:
            self._state.touched.append(self)
        self._pushes.append(frame)
        self._push_bytes += len(frame)
        if self._push_bytes > self._high_water:
            if self._can_flush():
                self.flush()
            if self._push_bytes > self._push_limit:
                log.warning("%s is too far behind: %d pushed bytes wait, disconnecting", self.peer, self._push_bytes)
                self.end()

    def push_to_itself(self, frame: bytes, copies: int, size: int) -> None:
        """Take pushes of what this connection publishes; they stand before the answer in hand."""
        if len(frame) * copies > self._push_limit:
            log.warning("%s pushes more to itself than may wait: disconnecting", self.peer)
            self.end()
            return
        self.received_bytes += size * copies
        self._own += [frame] * copies

    def take_own(self) -> bytes:
        """Return what `push_to_itself` took."""
        own, self._own = b"".join(self._own), []
        return own

    def _can_flush(self) -> bool:
        return not self._paused and self._done == len(self._batch)

    def flush(self) -> None:
        """Write the pushes that wait, unless the peer does not take them or is owed answers."""
        if self._pushes and not self._paused:
            data, self._push_bytes = b"".join(self._pushes), 0
            self._pushes.clear()
            self._send(data)

    def flush_after_answers(self) -> None:
        """Write the pushes that wait, unless answers are due first."""
        if self._can_flush() and not self.closed:
            self.flush()

    def _look_for_the_end(self) -> None:
        """Close after the last request, or where the bytes cannot be framed any more."""
        connection = self._connection
        if connection.buffered and not self._paused:
            try:
                connection.next_event()
            except RemoteProtocolError as error:
                log.info("%s: %s", self.peer, error)
                if self._state.tolerates(error):
                    self._deaf = True
                else:
                    self.end()
        if self._ended and not self._paused:
            self.end()

    def end(self) -> None:
        """Close once what was written is sent; nothing more is answered."""
        if not self.closed:
            self.connection_lost()
            self._close()
