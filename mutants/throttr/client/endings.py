"""Faults when something ends or goes wrong: closing, losing the connection, statuses that are none, waiting."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from wireproof.mutants.throttr.client.mutant import link, mutant
from wireproof.protocols.errors import ErrorCode, ProtocolError
from wireproof.protocols.throttr.replies import Status
from wireproof.reference_client.errors import ClientError
from wireproof.reference_client.link import Link
from wireproof.reference_client.throttr.client import Client

__all__ = ["MUTANTS"]


class _Hanging(Link):
    """Leaves what waits waiting when the connection ends."""

    def _end(self, why: ClientError, *, told: bool = True) -> None:
        if told:
            self._waiting.clear()
        super()._end(why, told=told)


class _FirstOnly(Link):
    """Tells only the oldest request that waits that the connection has ended."""

    def _end(self, why: ClientError, *, told: bool = True) -> None:
        while told and len(self._waiting) > 1:
            self._waiting.pop()
        super()._end(why, told=told)


class _Padded(Link):
    """Fills up with zeros what the server left out."""

    def eof_received(self) -> bool:
        for _ in range(64):
            if self.ended is None and self._codec.buffered:
                self.data_received(b"\0")
        return super().eof_received()


class _Successful(Link):
    """Takes every status but 00 for success."""

    status = Status(True)

    def _broken(self, error: ProtocolError) -> ClientError:
        if error.code == ErrorCode.BAD_STATUS and self._waiting:
            self._answer(self.status)
        return super()._broken(error)


class _Refused(_Successful):
    """Takes every status but 01 for a refusal."""

    status = Status(False)


class _Dying(Link):
    """Ends the process when it meets a status that is none."""

    def _broken(self, error: ProtocolError) -> ClientError:
        os._exit(3)


class _Open(Link):
    """Closes in name only."""

    def close(self) -> None:
        self._end_quietly()

    def abort(self) -> None:
        self._end_quietly()

    async def closed(self) -> None:
        return

    def _end_quietly(self) -> None:
        self._end(ClientError("closed"), told=False)


class _NeverClosed(Client):
    """Waits for the server to close first."""

    async def close(self) -> None:
        await asyncio.sleep(3600)


class _Abandoning(Link):
    """Leaves what waits waiting when the client closes."""

    def close(self) -> None:
        self._waiting.clear()
        super().close()


class _Impatient(Client):
    """Waits a tenth of a second."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.timeout = 0.1


MUTANTS = (
    mutant("hangs-on-close", "What waits when the server closes waits on.", "CLIENT-8", "ROBUSTNESS-26",
          client=link(_Hanging)),
    mutant("one-of-several-fails", "When the server closes, only the oldest request that waits ends.", "CLIENT-8",
          client=link(_FirstOnly)),
    mutant("part-is-whole", "An answer that the server did not finish is filled up with zeros.", "ROBUSTNESS-26",
          client=link(_Padded)),
    mutant("unknown-status-is-success", "A status byte other than 00 and 01 is success.", "CLIENT-6", "FRAMING-5",
          client=link(_Successful)),
    mutant("unknown-status-is-refusal", "A status byte other than 00 and 01 is a refusal.", "CLIENT-6", "FRAMING-5",
          client=link(_Refused)),
    mutant("dies-of-unknown-status", "A status byte other than 00 and 01 ends the process.", "CLIENT-6", "FRAMING-5",
          client=link(_Dying), live=True),
    mutant("close-leaves-open", "Closing leaves the connection open.", "CLIENT-9", client=link(_Open)),
    mutant("close-never-ends", "Closing waits for the server.", "CLIENT-9", client=_NeverClosed),
    mutant("close-abandons", "What waits when the client closes waits on.", "CLIENT-9", client=link(_Abandoning)),
    mutant("impatient", "After a tenth of a second a request has failed.", "CLIENT-11", client=_Impatient),
)  # fmt: skip
