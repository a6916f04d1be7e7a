"""Performs the actions of a play: with the sockets that the SDK opens, and through its driver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from wireproof.conformance.model.outcome import Outcome, Stopped
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.byte_allowance import FLOOD
from wireproof.conformance.sdk.driver_process import DriverEndedError, DriverProcess, NoAnswerError, PendingCall
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, DriverEvent, DriverMessageError
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.certificate_authority import Authority
from wireproof.conformance.sdk.play.listeners import LOOPBACK
from wireproof.conformance.sdk.play.play_actions import Action
from wireproof.conformance.sdk.play.sdk_player import Playing, SdkPlayer
from wireproof.conformance.sdk.play.sdk_sockets import Sockets
from wireproof.conformance.sdk.play.waits import ANSWER, EVENT, LOST, STEP, TimedWait, Waits
from wireproof.conformance.verdict.crashes import Hang

__all__ = ["Performer", "play_live"]

SHOWN = 2000
"""Characters of a driver's line kept in a trace."""


class Performer:
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
        waits: Waits,
    ) -> None:
        """`tag` is put before the names of connections, so that what comes late from an earlier play is not taken."""
        self._sockets = Sockets(
            trace,
            protocol=protocol,
            profile=profile,
            variant=variant,
            timeout=timeout,
            is_over=lambda: driver.death is not None,
            waits=waits,
        )
        self._driver = driver
        self._waits = waits
        self._timeout = timeout
        self._tag = tag
        self._calls: dict[int, PendingCall] = {}
        self._hang: Hang | None = None

    @property
    def hang(self) -> Hang | None:
        """What the driver did while it was last waited for in vain."""
        return self._hang or self._sockets.hang

    async def perform(self, action: Action) -> object:
        """Do it and return the answer; raises `OSError` where this machine does not let us."""
        match action:
            case act.OpenConnection():
                return await self._connect(action)
            case act.Command():
                return await self._command(action)
            case act.AwaitReport():
                return await self._report(action)
            case act.NextEvent():
                return await self._event(action)
            case act.Leftovers():
                return await self._leftovers(action)
            case act.LetTimePass(seconds):
                await asyncio.sleep(seconds)
                return None
        return await self._sockets.perform(action)

    async def close(self) -> None:
        """Close every listener and connection."""
        self._sockets.close()

    @property
    def flood(self) -> str:
        """What an SDK did that sends without end; "" while it does not."""
        return self._sockets.flood

    def _record(self, connection: str, kind: Kind, line: object) -> int:
        """Write a line of the driver down; return its size."""
        text = json.dumps(line, default=str)
        self._sockets.note(connection, kind, text[:SHOWN].encode())
        return len(text)

    async def _connect(self, action: act.OpenConnection) -> act.Reported | None:
        sockets = self._sockets
        listener = await sockets.open(action.connection)
        fields: dict[str, object] = {
            "host": LOOPBACK,
            "port": listener.port,
            "profile": sockets.profile,
            "variant": sockets.variant,
        }
        if action.reconnect:
            fields["reconnect"] = True
        listener.by_hand, listener.greets = action.by_hand, not action.by_hand
        died = await self._command(
            act.Command(action.call, "connect", action.connection, fields | self._own(action.fields))
        )
        if action.by_hand:
            return died
        got = died or await self._report(act.AwaitReport(action.call))
        listener.greets = False
        return got

    def _own(self, fields: Mapping[str, object]) -> dict[str, object]:
        """Return the protocol's own fields of `connect`, with the path of each certificate."""
        paths = {one for one, kind in self._sockets.spoken.sdk.connect_fields.items() if kind == "path"}
        return {name: str(Authority.get(str(value)).path) if name in paths else value for name, value in fields.items()}

    async def _command(self, action: act.Command) -> act.Died | None:
        self._sockets.expects(self._record(action.connection, Kind.DRIVER, {"do": action.do, **action.fields}))
        if action.do == "close" and action.connection in self._sockets.listeners:
            self._sockets.listeners[action.connection].part()
        try:
            call = self._driver.begin(action.do, connection=self._tag + action.connection, **action.fields)
        except DriverEndedError as error:
            return act.Died(str(error))
        self._sockets.began(action.call, call.result)
        self._calls[action.call] = call
        return None

    async def _report(self, action: act.AwaitReport) -> act.Reported:
        call = self._calls[action.call]
        got: act.Reported
        try:
            got = await self._answer(call, action.seconds)
        except NoAnswerError as error:
            got = act.Silent(str(error))
        except DriverEndedError as error:
            got = act.Died(str(error))
        except DriverMessageError as error:
            got = act.Nonsense(str(error))
        self._record("", Kind.REPORTED, {"do": call.do, **_answered(got)})
        return got

    async def _answer(self, call: PendingCall, seconds: float | None) -> DriverAnswer:
        """Return the answer to a call; where a case says for how long, it is waited for so long.

        Raises what `DriverProcess.answer` raises.
        """
        if seconds is not None:
            return await self._driver.answer(call, deadline=seconds)
        wait = self._waits.begin(LOST if self._sockets.has_ended else ANSWER, call.do, self._timeout)
        while not call.result.done() and not wait.is_over():
            await asyncio.wait([call.result], timeout=STEP)
        if call.result.done():
            wait.came()
            return call.result.result()
        raise NoAnswerError(self._in_vain(wait))

    def _in_vain(self, wait: TimedWait) -> str:
        """Take down what the driver did while it was waited for in vain; return how long that was, in words."""
        told, self._hang = wait.in_vain(), wait.hang
        return told

    async def _event(self, action: act.NextEvent) -> act.DriverReport:
        wait = self._waits.begin(EVENT, "message", self._timeout)
        got = None
        while got is None and not wait.is_over():
            with suppress(NoAnswerError):
                try:
                    got = await self._driver.event(self._tag + action.connection, "message", deadline=STEP)
                except DriverEndedError as error:
                    return act.Died(str(error))
        if got is None:
            return act.Silent(self._in_vain(wait))
        wait.came()
        self._record(action.connection, Kind.REPORTED, {"event": got.event, **got.fields})
        return got

    async def _leftovers(self, action: act.Leftovers) -> tuple[DriverEvent, ...]:
        mine = self._tag + action.connection
        events = tuple(one for one in self._driver.take_events() if (one.connection, one.event) == (mine, "message"))
        for one in events:
            self._record(action.connection, Kind.REPORTED, {"event": one.event, **one.fields})
        return events


def _answered(got: act.Reported) -> dict[str, object]:
    if not isinstance(got, DriverAnswer):
        return {"nothing": getattr(got, "detail", "no answer in time")}
    return {"result": got.result} if got.error is None else {"error": f"{got.error.kind}: {got.error.detail}"}


async def play_live(player: SdkPlayer, stage: Performer) -> Outcome:
    """Play to the end and return the outcome; whatever happens, nothing is left open."""
    playing: Playing = player.play()
    flooded = False
    try:
        action = next(playing)
        while True:
            answer = await stage.perform(action)
            if stage.flood and not flooded:
                flooded = True
                action = playing.throw(Stopped(Verdict.FAIL, "requests that end", stage.flood, byte=0))
            else:
                action = playing.send(answer)
    except StopIteration as over:
        outcome: Outcome = over.value
        return replace(outcome, extra={**outcome.extra, FLOOD: "1"}) if flooded else outcome
    finally:
        playing.close()
        await stage.close()
