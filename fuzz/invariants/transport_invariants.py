"""A stream transport of the reference server with a real session, on a virtual loop and a socket that is a model.

What must hold: however bytes come and are taken, the peer gets what it gets when all comes at once; nobody reads,
handles or writes while the peer takes nothing; a connection that closes sends all it wrote first, is waited for as long
as the peer makes progress and no longer; nothing is left behind it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from types import TracebackType
from typing import Any, cast

from wireproof.conformance.run import reference_target
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.protocols import protocol
from wireproof.reference_server.clock import Callback, VirtualClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Limits, Peer, Secure, Service, seeded_ids
from wireproof.reference_server.streams import StreamConnections, StreamProtocol

__all__ = ["LINGER_S", "TransportCheck", "TransportCheckOptions", "session_output"]

LINGER_S = 2.0
HANDSHAKE_S = 10_000.0
"""Longer than any input: however slowly the records of a handshake come, it is not given up."""
PORT = 40_000
SOON = 1e-6
"""Seconds by which sums of times may differ."""


@dataclass(frozen=True, slots=True)
class TransportCheckOptions:
    """What is sent to which server; `high_water` is the mark in bytes beyond which a slow reader pauses it."""

    protocol: str
    profile: str
    variant: str
    sent: bytes
    high_water: int
    is_small: bool = False
    """Whether the server does little at a time."""


class _SlowClock(VirtualClock):
    """Slow work is not over at once: it ends when the clock is asked to `catch_up`, and other bytes may come before."""

    def call_after(self, work: Callback, callback: Callback) -> None:
        def end() -> None:
            work()
            callback()

        self.call_at(self.monotonic_ns(), end)

    def catch_up(self) -> None:
        """End the work that was begun, and what follows from it."""
        self.advance(0)


def _service(options: TransportCheckOptions, clock: _SlowClock) -> Service:
    made = create_service(
        options.protocol,
        profile=options.profile,
        variant=options.variant,
        clock=clock,
        ids=seeded_ids(1),
        options=reference_target.options(options.protocol),
    )
    made.forget_slow_work()
    return made


@lru_cache(maxsize=4096)
def _expected(options: TransportCheckOptions, piece: int) -> bytes:
    """Return what a session writes that gets the bytes in pieces and then the end, and is never paused."""
    sent = options.sent
    return session_output(options, [sent[at : at + piece] for at in range(0, len(sent), piece)])


@lru_cache(maxsize=4096)
def _least_before_the_end(options: TransportCheckOptions) -> int:
    """Return how many bytes a session writes at least that gets the bytes and not the end, in whatever pieces."""
    sent = options.sent
    single = [sent[at : at + 1] for at in range(len(sent))]
    return min(len(session_output(options, pieces, ends=False)) for pieces in ([sent], single))


def session_output(
    options: TransportCheckOptions, pieces: Sequence[bytes], secure: Secure | None = None, *, ends: bool = True
) -> bytes:
    """Return what a session writes that gets `pieces` and then the end, if it `ends`, and is never paused.

    `secure` is called where it switches to TLS, which has no bytes here.
    """
    written: list[bytes] = []
    closed: list[bool] = []
    clock = _SlowClock()
    service = _service(options, clock)
    peer = Peer("tcp", "127.0.0.1", PORT, secure=secure)
    session = service.connect(peer, written.append, lambda: closed.append(True))
    for piece in pieces:
        if not closed:
            session.data_received(piece)
            clock.catch_up()
    if ends and not closed:
        session.eof_received()
        clock.catch_up()
    return b"".join(written)


def _without_counts(data: bytes) -> list[int]:
    """Return the bytes in any order and without digits: what is told of counts depends on what came before."""
    return sorted(data.translate(None, b"0123456789"))


class _Timer:
    """A call of the virtual loop."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call: Callable[[], object] | None = call

    def cancel(self) -> None:
        self.call = None


class _VirtualLoop:
    """The part of an event loop that the transport uses."""

    def __init__(self) -> None:
        self._now, self._number = 0.0, count()
        self._calls: list[tuple[float, int, _Timer]] = []

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, call: Callable[..., object], *arguments: object) -> _Timer:
        timer = _Timer(lambda: call(*arguments))
        heappush(self._calls, (self._now + delay, next(self._number), timer))
        return timer

    def call_soon(self, call: Callable[..., object], *arguments: object) -> _Timer:
        return self.call_later(0.0, call, *arguments)

    def advance(self, seconds: float) -> None:
        until = self._now + seconds
        while self._calls and self._calls[0][0] <= until:
            self._now, _, timer = heappop(self._calls)
            if timer.call is not None:
                timer.call()
        self._now = until

    @property
    def waiting(self) -> int:
        return sum(timer.call is not None for _, _, timer in self._calls)


class _ModelSocket:
    """A transport as asyncio's: it buffers what is written, pauses the protocol, and reads only if it is not paused."""

    family = socket.AF_INET

    def __init__(self, check: TransportCheck) -> None:
        self._check = check
        self.unsent = bytearray()
        self.taken = bytearray()
        self.reads, self.paused = True, False
        self.eof = self.closing = self.aborted = False
        self._high, self._low = 0, 0
        self._closed_at = 0.0
        """When it was closed, or its side was ended, if it was."""

    def get_extra_info(self, name: str) -> object:
        return self if name == "socket" else ("127.0.0.1", PORT)

    def set_write_buffer_limits(self, high: int) -> None:
        self._high, self._low = high, high // 4

    def get_write_buffer_size(self) -> int:
        return len(self.unsent)

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def write(self, data: bytes) -> None:
        """Take bytes to send. Raises `InvariantError` for bytes after the end or from a paused session."""
        if self.eof or self.closing:
            raise InvariantError("nothing is written after the end", f"{len(data)} bytes after it", "write")
        if self.paused and data and not self._check.may_write_paused:
            raise InvariantError("a paused session writes nothing", f"{data[:80].hex()} while paused", "paused")
        self.unsent += data
        if len(self.unsent) > self._high and not self.paused:
            self.paused = True
            self._check.protocol.pause_writing()

    def write_eof(self) -> None:
        self.eof, self._closed_at = True, self._check.now

    def close(self) -> None:
        if not self.closing:
            self.closing, self.reads = True, False
            self._closed_at = self._closed_at if self.eof else self._check.now

    def abort(self) -> None:
        """Drop what is not sent. Raises `InvariantError` where the peer had no time to take it, or to read the end."""
        waited = self._check.now - self._closed_at
        if (self.eof or self.closing) and not self.aborted and waited < LINGER_S - SOON:
            raise InvariantError("a peer has time to take the end", f"aborted {waited:g} s after the close", "abort")
        self.aborted = self.closing = True
        self.unsent.clear()

    def drain(self, size: int) -> int:
        """Let the peer take bytes; return how many it took."""
        taken = bytes(self.unsent[:size])
        del self.unsent[:size]
        self.taken += taken
        if self.paused and len(self.unsent) <= self._low:
            self.paused = False
            self._check.protocol.resume_writing()
        return len(taken)


class TransportCheck:
    """One connection; every method raises `InvariantError`. Use it as a context manager."""

    may_write_paused = False

    def __init__(self, options: TransportCheckOptions) -> None:
        self.options = options
        self._loop = _VirtualLoop()
        self.rest = options.sent
        self._ended = self._lost = False

    def __enter__(self) -> TransportCheck:
        self._outer = asyncio._get_running_loop()
        asyncio._set_running_loop(cast(Any, self._loop))
        limits = Limits(high_water=self.options.high_water, linger=LINGER_S, handshake=HANDSHAKE_S)
        self._clock = _SlowClock()
        self._connections = StreamConnections(_service(self.options, self._clock), limits, 1, self._tls_of_server())
        self.protocol: StreamProtocol = self._connections.protocol()
        self._socket = _ModelSocket(self)
        self.protocol.connection_made(cast(Any, self._socket))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio._set_running_loop(self._outer)

    def _tls_of_server(self) -> ssl.SSLContext | None:
        return None

    @property
    def now(self) -> float:
        """The time of the loop, in seconds."""
        return self._loop.time()

    @property
    def _gone(self) -> bool:
        return self._lost or self._socket.closing

    def arrive(self, size: int) -> None:
        """Let bytes come if the transport reads."""
        if self._gone or self._ended or not self._socket.reads or not self.rest:
            return
        data, self.rest = self.rest[:size], self.rest[size:]
        self.protocol.data_received(data)
        self._settle()

    def arrive_at_session(self, size: int) -> None:
        """Give bytes to the session, also while it is paused: a transport may have read them before."""
        session = self.protocol.session
        if self._gone or self._ended or self._socket.eof or not self.rest or session is None:
            return
        data, self.rest = self.rest[:size], self.rest[size:]
        session.data_received(data)
        self._settle()

    def drain(self, size: int) -> None:
        """Let the peer take bytes."""
        if not self._lost:
            self._socket.drain(size)
            self._clock.catch_up()
            self._settle()

    def end(self) -> None:
        """End the peer's side, where all it sent has come and is read."""
        if self._gone or self._ended or self.rest or not self._socket.reads:
            return
        self._ended = True
        if not self.protocol.eof_received():
            self._socket.close()
        self._settle()

    def advance(self, seconds: float) -> None:
        """Let time pass in which the peer does nothing; a connection that closes meanwhile must end in time.

        Raises `InvariantError`.
        """
        was_closing, unsent = self._socket.eof or self._socket.closing, len(self._socket.unsent)
        self._loop.advance(seconds)
        if was_closing and seconds >= 2 * LINGER_S and not self._lost and not self._socket.aborted and unsent:
            detail = f"{unsent} bytes are not taken for {seconds:g} s after the close"
            raise InvariantError("a peer that takes nothing is not waited for", detail, "linger")
        if self._socket.aborted and not was_closing:
            raise InvariantError("an open connection is not aborted", f"after {seconds:g} s", "abort")
        self._settle()

    def finish(self, *, ends_at_once: bool = False) -> None:
        """Let all come, the peer end its side and take everything. Raises `InvariantError` if anything is left.

        Unless it `ends_at_once`, the peer takes everything first.
        """
        cut = self._socket.aborted
        if not (self._ended or ends_at_once) and self._due_before_the_end():
            self._answer_all()
        for _ in range(4 * len(self.options.sent) + 64):
            self.arrive(1 << 20)
            self.end()
            self.drain(1 << 20)
            if self._lost:
                break
        if self._socket.eof and not self._lost:
            self._lose()  # the peer saw the end of the stream and closes, too
        if not self._lost:
            detail = f"{len(self.rest)} bytes are not read, {len(self._socket.unsent)} not sent"
            raise InvariantError("a connection whose peer has ended is closed", detail, "open")
        if not cut:
            self._compare()
        if self.protocol in self._connections.open or self._loop.waiting:
            raise InvariantError("nothing is left behind a connection", f"{self._loop.waiting} timers", "left")

    def _answer_all(self) -> None:
        """Let all come and be taken, but not the end: what is due comes without it. Raises `InvariantError`."""
        self._clock.catch_up()
        for _ in range(4 * len(self.options.sent) + 64):
            before = len(self.rest), len(self._socket.taken)
            self.arrive(1 << 20)
            self.drain(1 << 20)
            if self._gone or self._socket.eof or before == (len(self.rest), len(self._socket.taken)):
                break
        least, got = self._due_before_the_end(), len(self._socket.taken)
        if not (self._gone or self._socket.eof) and got < least:
            raise InvariantError("answers do not wait for the end", f"{got} bytes came of {least}", "late")

    @property
    def _any_order(self) -> bool:
        """Whether messages may come before or after answers: they do where little is done in a turn of the loop."""
        links = protocol(self.options.protocol).links.values()
        return self.options.is_small and not all(one.answers_in_order for one in links)

    def _due_before_the_end(self) -> int:
        return _least_before_the_end(self.options)

    def _compare(self) -> None:
        got, whole, single = self._compared()
        if got in (whole, single) or (whole != single and len(got) == len(whole)):
            return
        if self._any_order and _without_counts(got) == _without_counts(whole):
            return
        least = min(len(got), len(whole))
        first = next((at for at in range(least) if got[at] != whole[at]), least)
        detail = f"{len(got)} bytes instead of {len(whole)}, byte {first} is the first other one"
        raise InvariantError("whole is any pace", detail, "pace")

    def _compared(self) -> tuple[bytes, bytes, bytes]:
        """Return what the peer got, and what a session writes that gets all at once, and byte by byte."""
        whole, single = _expected(self.options, 1 << 20), _expected(self.options, 1)
        return bytes(self._socket.taken), whole, single

    def _settle(self) -> None:
        """Check what holds between two steps, and end a connection that is closed and sent."""
        made = self._socket
        if not self._lost and made.paused == made.reads and not (made.eof or made.closing):
            state = "reads" if made.reads else "does not read"
            detail = f"the transport {state} while writing is {'paused' if made.paused else 'not paused'}"
            raise InvariantError("reading stops exactly while writing is paused", detail, state)
        if made.eof and not made.closing and not made.reads:
            raise InvariantError("a closing connection reads on", "reading is paused after the close", "drop")
        if made.closing and not self._lost and not made.unsent:
            self._lose()

    def _lose(self) -> None:
        self._lost = True
        self.protocol.connection_lost(None)
