"""The client of a pair: what its driver is commanded to do, and what is wrong with it where it does not answer."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from wireproof.conformance.interop.proxy import Proxy
from wireproof.conformance.interop.results import Breach, Side
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.driver_process import DriverEndedError, DriverProcess, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, DriverMessageError
from wireproof.conformance.sdk.transports import DriverStartError
from wireproof.protocols.json_values import JsonObject
from wireproof.protocols.plain import Plain

__all__ = ["GRACE", "PairedClient"]

TROUBLE = (NoAnswerError, DriverEndedError, DriverMessageError)
RESTARTS = 20
GRACE = 0.3
"""Seconds for what a client that has answered already did not wait for."""


@dataclass(slots=True)
class PairedClient:
    """A started driver; it is started again before the next scene where it owes an answer."""

    driver: DriverProcess
    timeout: float
    """Seconds for one answer."""
    _restarts: int = 0
    _stuck: bool = False

    async def ask(self, do: str, connection: str, fields: JsonObject | None = None) -> DriverAnswer | Breach:
        """Return the driver's answer, or what is wrong with that it gives none."""
        try:
            return await self.driver.ask(do, deadline=self.timeout, connection=connection, **(fields or {}))
        except DriverEndedError as error:
            return Breach(Side.CLIENT, None, None, f"an answer to `{do}`", str(error), Verdict.CRASH, ends=True)
        except NoAnswerError as error:
            self._stuck = True
            return Breach(Side.CLIENT, None, None, f"an answer to `{do}`", str(error), Verdict.HANG, ends=True)
        except DriverMessageError as error:
            return Breach(Side.CLIENT, None, None, f"an answer to `{do}` that is valid", str(error))

    async def connect(
        self, name: str, proxy: Proxy, plain: Plain, own: JsonObject | None = None
    ) -> DriverAnswer | Breach:
        """Have it connect through the proxy, with fields of its `own`; return its answer, or what is wrong."""
        proxy.name = name
        spoken = {"profile": plain.profile.name, "variant": plain.variant.name}
        detail = await self.ask("connect", name, {"host": "127.0.0.1", "port": proxy.port, **spoken, **(own or {})})
        if proxy.refused is None:
            return detail
        got = f"it takes no connection: {proxy.refused}"
        return Breach(Side.SERVER, None, None, "a connection", got, Verdict.CRASH, ends=True)

    async def leave(self, connections: Iterable[str]) -> None:
        """End a scene: close its connections, or start a driver again that can do nothing any more."""
        if self._stuck or self.driver.death is not None:
            self._stuck = False
            with suppress(*TROUBLE, DriverStartError):
                await self._restart()
            return
        for name in connections:
            await self.ask("close", name)

    async def _restart(self) -> None:
        if self._restarts < RESTARTS:
            self._restarts += 1
            await self.driver.restart("it did not answer")
