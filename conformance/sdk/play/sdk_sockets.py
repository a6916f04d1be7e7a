"""The sockets of one play: a door on loopback for each connection of an SDK, and what actions do with them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import assert_never

from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.sdk.driver_protocol import DriverAnswer
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.certificate_authority import Authority
from wireproof.conformance.sdk.play.listeners import LinkSockets, Listener
from wireproof.conformance.sdk.play.waits import REQUEST, STEP, TimedWait, Waits
from wireproof.conformance.verdict.crashes import Hang
from wireproof.protocols import protocol as spoken
from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Peer, Service, Session, Write

__all__ = ["GAP", "Sockets"]

GAP = 0.0004
"""Seconds between segments, so that the SDK reads each by itself."""
LATE = 0.5
"""Seconds in which bytes may come after the driver's word that all went well: some SDKs write in another thread."""
MOST_UNASKED = 1 << 18
"""Bytes that an SDK may send in a play beside what it was asked for: what it says by itself, on every connection."""


Arranging = act.End | act.Listen | act.Accept | act.AcceptTls | act.CountConnections
"""What is about whole connections."""


class Sockets:
    """Everything between the harness and an SDK that is no driver."""

    def __init__(
        self,
        trace: Trace,
        *,
        protocol: str,
        profile: str,
        variant: str,
        timeout: float,
        is_over: Callable[[], bool],
        waits: Waits,
    ) -> None:
        """`is_over` says that nothing more can come."""
        self.profile, self.variant = profile, variant
        self.spoken = spoken(protocol)
        self.codec = self.spoken.codec(self.spoken.profiles[profile], variant)
        self.listeners: dict[str, Listener] = {}
        self._earlier: list[Listener] = []
        """Those whose connection was begun once more under the same name."""
        self.moved = asyncio.Event()
        """Set whenever something happened."""
        self._trace = trace
        self._timeout = timeout
        self._is_over = is_over
        self._waits = waits
        self.hang: Hang | None = None
        """What the driver did while a request was last waited for in vain."""
        self._began = time.monotonic()
        self._calls: dict[int, asyncio.Future[DriverAnswer]] = {}
        self._pings: dict[str, int] = {}
        self._most = MOST_UNASKED
        """Bytes that may come in this play."""
        self._came = 0
        """Bytes that came, on all connections."""

    @property
    def flood(self) -> str:
        """What an SDK did that sends without end; "" while it does not."""
        return f"the SDK sends without end: more than {self._most:,} bytes" if self._came > self._most else ""

    def takes(self, data: bytes) -> bool:
        """Count what came; say whether it may still come."""
        self._came += len(data)
        if self.flood:
            self.moved.set()
        return not self.flood

    @property
    def has_ended(self) -> bool:
        """Whether a connection of this play has ended, from either side."""
        return any(one.kind in (Kind.CLOSED, Kind.ENDED) for one in self._trace)

    def expects(self, size: int) -> None:
        """Let so many bytes more come: the SDK was asked for something."""
        self._most += size

    async def perform(self, action: act.SocketAction) -> object:
        """Do what an action says and return the answer; raises `OSError` where this machine does not let us."""
        match action:
            case act.Receive():
                return await self._receive(action)
            case act.Drain():
                return await self._drain(action)
            case act.SendBytes():
                await self._write(action)
                return None
            case act.Ping():
                return await self._ping(action)
        return await self._arrange(action)

    async def _arrange(self, action: Arranging) -> object:
        """Do what is about whole connections."""
        match action:
            case act.End():
                await self._end(action)
            case act.Listen():
                await self._listen(action)
            case act.Accept():
                return await self._accept(action)
            case act.AcceptTls():
                return await self._secure(action)
            case act.CountConnections():
                return await self._count(action)
            case _:
                assert_never(action)
        return None

    async def open(self, name: str) -> Listener:
        """Listen for a connection, unless the case has stopped that before; raises `OSError` where we may not."""
        if name in self.listeners and self.listeners[name].is_down:
            return self.listeners[name]
        if name in self.listeners:
            self._earlier.append(self.listeners[name])
        listener = self.listeners[name] = Listener(self, name)
        await listener.listen()
        return listener

    def began(self, number: int, result: asyncio.Future[DriverAnswer]) -> None:
        """Note a call of the driver: its answer ends a wait for bytes."""
        result.add_done_callback(lambda _: self.moved.set())
        self._calls[number] = result

    def close(self) -> None:
        """Close every listener and connection."""
        for listener in (*self._earlier, *self.listeners.values()):
            listener.close()

    def note(self, connection: str, kind: Kind, data: bytes = b"") -> None:
        """Write down what happened, and wake who waits for it."""
        self._trace.append(TraceEvent(int((time.monotonic() - self._began) * 1e6), connection, kind, data))
        self.moved.set()

    def greeter(self) -> Service:
        """Return a reference server, for what an SDK asks before it says that it is connected."""
        clock = LoopClock(asyncio.get_running_loop())
        return create_service(self.spoken.name, profile=self.profile, variant=self.variant, clock=clock)

    def greet(self, service: Service, write: Write) -> Session:
        """Return a session of it."""
        return service.connect(Peer(), write, lambda: None)

    async def _until(self, true: Callable[[], bool], seconds: float, wait: TimedWait | None = None) -> bool:
        """Wait until something is true, and say whether it is; `wait` may end that before."""
        until = time.monotonic() + seconds
        while not true():
            left = until - time.monotonic()
            if left <= 0 or self.flood or self._is_over() or (wait is not None and wait.is_over()):
                return true()
            self.moved.clear()
            try:
                await asyncio.wait_for(self.moved.wait(), min(left, STEP))
            except TimeoutError:
                continue
        return True

    def _listener(self, connection: str) -> Listener:
        return self.listeners[connection.partition(".")[0]]

    def _line(self, connection: str) -> LinkSockets:
        return self._listener(connection).lines[connection.partition(".")[2]]

    async def _receive(self, action: act.Receive) -> act.Got:
        line, expected = self._line(action.connection), action.expected
        seen = [call for call in action.calls if self._calls[call].done()]
        alike = [False]

        def came() -> bool:
            while line.turned_away:
                line.renew()
            data = line.came
            if len(data) > len(expected) or (data and not expected.startswith(data)):
                hope = _alike(line, action)
                alike[0] = hope is True
                if hope is not None:
                    return True
            return bool(expected and data == expected)

        def done() -> bool:
            if came() or (line.ended and not action.calls):
                return True
            seen[:] = [call for call in action.calls if self._calls[call].done()]
            return bool(seen)

        await self._wait_for(done, line)
        if expected and seen and all(_went_well(self._calls[call]) for call in seen):
            await self._until(lambda: came() or line.ended, LATE)
        elif seen and not line.came:
            await asyncio.sleep(GAP)
        messages = tuple(one for _, one in line.follower.messages) if line.follower else ()
        data = line.take(len(expected)) if line.came.startswith(expected) and expected else line.take()
        return act.Got(data, line.ended, seen[0] if seen else None, messages, alike[0])

    async def _wait_for(self, done: Callable[[], bool], line: LinkSockets) -> None:
        """Wait until the SDK has sent what it should, or reported why not."""
        wait = self._waits.begin(REQUEST, "", self._timeout)
        if await self._until(done, self._timeout, wait):
            wait.came()
        elif not line.came and not self._is_over():
            wait.in_vain()
            self.hang = wait.hang

    async def _drain(self, action: act.Drain) -> act.Got:
        line = self._line(action.connection)
        if action.parting:
            self._listener(action.connection).part()
        if line.lasts:
            await self._until(lambda: line.ended, action.seconds)
        messages = tuple(one for _, one in line.follower.messages) if line.follower else ()
        return act.Got(line.take(), line.ended, messages=messages)

    async def _write(self, action: act.SendBytes) -> None:
        line = self._line(action.connection)
        for number, segment in enumerate(action.segments):
            if number:
                await asyncio.sleep(GAP)
            line.write(segment)

    async def _end(self, action: act.End) -> None:
        lines = self._listener(action.connection).lines.values() if action.whole else [self._line(action.connection)]
        for line in lines:
            line.end(reset=action.reset)

    async def _listen(self, action: act.Listen) -> None:
        listener = self.listeners.get(action.connection) or await self.open(action.connection)
        listener.is_down = not action.up
        if action.up:
            await listener.listen()
        else:
            listener.shut()

    async def _accept(self, action: act.Accept) -> bool:
        return await self._until(self._line(action.connection).renew, self._timeout)

    async def _secure(self, action: act.AcceptTls) -> str:
        listener, link = self._listener(action.connection), action.connection.partition(".")[2]
        endpoint = listener.secure(link, Authority.get(act.AUTHORITIES[0]).context)
        if endpoint is None:
            return "there is no connection"
        await self._until(lambda: endpoint.is_secured or endpoint.ended, self._timeout)
        if not endpoint.is_secured:
            return endpoint.tls_error or (
                "it ended the connection" if endpoint.ended else f"none in {self._timeout:g} s"
            )
        self.note(action.connection, Kind.SECURED)
        return ""

    async def _ping(self, action: act.Ping) -> bool:
        line, seen = self._line(action.connection), self._pings.get(action.connection, 0)
        if action.holds and line.follower is not None:
            line.follower.holds = True
        came = await self._until(lambda: line.follower is not None and line.follower.pings > seen, action.seconds)
        self._pings[action.connection] = line.follower.pings if line.follower else 0
        return came

    async def _count(self, action: act.CountConnections) -> int:
        return len(self._line(action.connection).endpoints)


def _went_well(call: asyncio.Future[DriverAnswer]) -> bool:
    """Say whether a driver answered without an error."""
    return not call.cancelled() and call.exception() is None and call.result().error is None


def _alike(line: LinkSockets, action: act.Receive) -> bool | None:
    """Return whether what came says what is expected in other bytes; None while it still may."""
    if action.alike is None or line.follower is None:
        return False
    hope = action.alike([one for _, one in line.follower.messages])
    if hope is True and not line.follower.is_whole:
        return None if action.is_part else False
    return hope
