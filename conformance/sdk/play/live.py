"""Performs the actions of a play: a door on loopback for each connection, and the driver of the SDK."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from conformance.sdk.driver_process import Call, DriverEndedError, DriverProcess, NoAnswerError
from conformance.sdk.driver_protocol import Answer, DriverMessageError, Event
from conformance.sdk.play import actions as act
from conformance.sdk.play.actions import Action
from conformance.sdk.play.authority import Authority
from conformance.sdk.play.doors import LOOPBACK, Door, Line
from conformance.sdk.play.player import Player, Playing
from conformance.trace import Kind, Trace, TraceEvent
from protocols import protocol as spoken
from reference_server.clock import LoopClock
from reference_server.registry import create_service
from reference_server.service import Peer, Service, Session, Write

__all__ = ["Stage", "play_live"]

GAP = 0.0004
"""Seconds between segments, so that the SDK reads each by itself."""
SHOWN = 2000
"""Characters of a driver's line kept in a trace."""


class Stage:
    """The world of one play; `perform` does what an action says."""

    def __init__(
        self,
        driver: DriverProcess,
        trace: Trace,
        *,
        protocol: str,
        profile: str,
        variant: str,
        timeout: float,
        tag: str,
    ) -> None:
        """`tag` is put before the names of connections, so that what comes late from an earlier play is not taken."""
        self.profile, self.variant = profile, variant
        self.spoken = spoken(protocol)
        self.codec = self.spoken.codec(self.spoken.profiles[profile], variant)
        self._driver = driver
        self._trace = trace
        self._timeout = timeout
        self._tag = tag
        self._began = time.monotonic()
        self._moved = asyncio.Event()
        self._doors: dict[str, Door] = {}
        self._calls: dict[int, Call] = {}
        self._pings: dict[str, int] = {}
        self._doing: Mapping[type, Callable[[Any], Any]] = {
            act.Connect: self._connect,
            act.Command: self._command,
            act.Receive: self._receive,
            act.Drain: self._drain,
            act.Report: self._report,
            act.NextEvent: self._event,
            act.Leftovers: self._leftovers,
            act.Write: self._write,
            act.End: self._end,
            act.Listen: self._listen,
            act.Accept: self._accept,
            act.Secure: self._secure,
            act.Ping: self._ping,
            act.Count: self._count,
            act.Pause: self._pause,
        }

    async def perform(self, action: Action) -> Any:
        """Do it and return the answer; raises `OSError` where this machine does not let us."""
        return await self._doing[type(action)](action)

    async def close(self) -> None:
        """Close every listener and connection."""
        for door in self._doors.values():
            door.close()

    def note(self, connection: str, kind: Kind, data: bytes = b"") -> None:
        """Write down what happened, and wake who waits for it."""
        self._trace.append(TraceEvent(int((time.monotonic() - self._began) * 1e6), connection, kind, data))
        self._moved.set()

    def _told(self, connection: str, kind: Kind, line: object) -> None:
        self.note(connection, kind, json.dumps(line, default=str)[:SHOWN].encode())

    async def _until(self, true: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is true, and say whether it is."""
        until = time.monotonic() + seconds
        while not true():
            left = until - time.monotonic()
            if left <= 0 or self._driver.death is not None:
                return true()
            self._moved.clear()
            try:
                await asyncio.wait_for(self._moved.wait(), min(left, 0.1))
            except TimeoutError:
                continue
        return True

    def _door(self, connection: str) -> Door:
        return self._doors[connection.partition(".")[0]]

    def _line(self, connection: str) -> Line:
        return self._door(connection).lines[connection.partition(".")[2]]

    async def _connect(self, action: act.Connect) -> act.Reported | None:
        door = self._doors[action.connection] = Door(self, action.connection)
        await door.listen()
        fields: dict[str, Any] = {"host": LOOPBACK, "port": door.port, "profile": self.profile, "variant": self.variant}
        if action.reconnect:
            fields["reconnect"] = True
        door.by_hand, door.greets = action.by_hand, not action.by_hand
        died = await self._command(
            act.Command(action.call, "connect", action.connection, fields | self._own(action.fields))
        )
        if action.by_hand:
            return died
        got = died or await self._report(act.Report(action.call))
        door.greets = False
        return got

    def _own(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the protocol's own fields of `connect`, with the path of each certificate."""
        paths = {one for one, kind in self.spoken.connect_fields.items() if kind == "path"}
        return {name: str(Authority.get(value).path) if name in paths else value for name, value in fields.items()}

    async def _command(self, action: act.Command) -> act.Died | None:
        self._told(action.connection, Kind.TOLD, {"do": action.do, **action.fields})
        if action.do == "close" and action.connection in self._doors:
            self._doors[action.connection].part()
        try:
            call = self._driver.begin(action.do, connection=self._tag + action.connection, **action.fields)
        except DriverEndedError as error:
            return act.Died(str(error))
        call.result.add_done_callback(lambda _: self._moved.set())
        self._calls[action.call] = call
        return None

    async def _receive(self, action: act.Receive) -> act.Got:
        line, expected = self._line(action.connection), action.expected
        seen = [call for call in action.calls if self._calls[call].result.done()]
        alike = [False]

        def done() -> bool:
            while line.turned_away:
                line.renew()
            data = line.came
            if len(data) > len(expected) or (data and not expected.startswith(data)):
                hope = _alike(line, action)
                alike[0] = hope is True
                if hope is not None:
                    return True
            if line.ended and not action.calls:
                return True
            seen[:] = [call for call in action.calls if self._calls[call].result.done()]
            return bool(seen) or bool(expected and data == expected)

        await self._until(done, self._timeout)
        if seen and not line.came:
            await asyncio.sleep(GAP)
        messages = tuple(one for _, one in line.follower.messages) if line.follower else ()
        data = line.take(len(expected)) if line.came.startswith(expected) and expected else line.take()
        return act.Got(data, line.ended, seen[0] if seen else None, messages, alike[0])

    async def _drain(self, action: act.Drain) -> act.Got:
        line = self._line(action.connection)
        if action.parting:
            self._door(action.connection).part()
        if line.lasts:
            await self._until(lambda: line.ended, action.seconds)
        return act.Got(line.take(), line.ended)

    async def _report(self, action: act.Report) -> act.Reported:
        call = self._calls[action.call]
        seconds = self._timeout if action.seconds is None else action.seconds
        got: act.Reported
        try:
            got = await self._driver.answer(call, deadline=seconds)
        except NoAnswerError:
            got = act.Silent()
        except DriverEndedError as error:
            got = act.Died(str(error))
        except DriverMessageError as error:
            got = act.Nonsense(str(error))
        self._told("", Kind.REPORTED, {"do": call.do, **_answered(got)})
        return got

    async def _event(self, action: act.NextEvent) -> act.Told:
        try:
            got = await self._driver.event(self._tag + action.connection, "message")
        except NoAnswerError:
            return act.Silent()
        except DriverEndedError as error:
            return act.Died(str(error))
        self._told(action.connection, Kind.REPORTED, {"event": got.event, **got.fields})
        return got

    async def _leftovers(self, action: act.Leftovers) -> tuple[Event, ...]:
        mine = self._tag + action.connection
        events = tuple(one for one in self._driver.take_events() if (one.connection, one.event) == (mine, "message"))
        for one in events:
            self._told(action.connection, Kind.REPORTED, {"event": one.event, **one.fields})
        return events

    async def _write(self, action: act.Write) -> None:
        line = self._line(action.connection)
        for number, segment in enumerate(action.segments):
            if number:
                await asyncio.sleep(GAP)
            line.write(segment)

    async def _end(self, action: act.End) -> None:
        lines = self._door(action.connection).lines.values() if action.whole else [self._line(action.connection)]
        for line in lines:
            line.end(reset=action.reset)

    async def _listen(self, action: act.Listen) -> None:
        door = self._doors[action.connection]
        if action.up:
            await door.listen()
        else:
            door.shut()

    async def _accept(self, action: act.Accept) -> bool:
        return await self._until(self._line(action.connection).renew, self._timeout)

    async def _secure(self, action: act.Secure) -> str:
        door, link = self._door(action.connection), action.connection.partition(".")[2]
        wire = door.secure(link, Authority.get(act.AUTHORITIES[0]).context)
        if wire is None:
            return "there is no connection"
        await self._until(lambda: wire.is_secured or wire.ended, self._timeout)
        if not wire.is_secured:
            return wire.tls_error or ("it ended the connection" if wire.ended else f"none in {self._timeout:g} s")
        self.note(action.connection, Kind.SECURED)
        return ""

    async def _ping(self, action: act.Ping) -> bool:
        line, seen = self._line(action.connection), self._pings.get(action.connection, 0)
        if action.holds and line.follower is not None:
            line.follower.holds = True
        came = await self._until(lambda: line.follower is not None and line.follower.pings > seen, action.seconds)
        self._pings[action.connection] = line.follower.pings if line.follower else 0
        return came

    async def _count(self, action: act.Count) -> int:
        return len(self._line(action.connection).wires)

    async def _pause(self, action: act.Pause) -> None:
        await asyncio.sleep(action.seconds)

    def greeter(self) -> Service:
        """Return a reference server, for what an SDK asks before it says that it is connected."""
        clock = LoopClock(asyncio.get_running_loop())
        return create_service(self.spoken.name, profile=self.profile, variant=self.variant, clock=clock)

    def greet(self, service: Service, write: Write) -> Session:
        """Return a session of it."""
        return service.connect(Peer(), write, lambda: None)


def _alike(line: Line, action: act.Receive) -> bool | None:
    """Return whether what came says what is expected in other bytes; None while it still may."""
    if action.alike is None or line.follower is None:
        return False
    hope = action.alike([one for _, one in line.follower.messages])
    if hope is True and not line.follower.is_whole:
        return False
    return hope


def _answered(got: act.Reported) -> dict[str, Any]:
    if not isinstance(got, Answer):
        return {"nothing": getattr(got, "told", "no answer in time")}
    return {"result": got.result} if got.error is None else {"error": f"{got.error.kind}: {got.error.told}"}


async def play_live(player: Player, stage: Stage) -> Any:
    """Play to the end and return the outcome; whatever happens, nothing is left open."""
    playing: Playing = player.play()
    try:
        action = next(playing)
        while True:
            action = playing.send(await stage.perform(action))
    except StopIteration as over:
        return over.value
    finally:
        playing.close()
        await stage.close()
