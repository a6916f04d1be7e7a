"""Faults in what an SDK makes of an answer: codes taken for others, of operations and of datagrams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.psrt.client.mutant import control_link, mutant
from wireproof.protocols.messages import Request
from wireproof.protocols.psrt import ResponseCode
from wireproof.protocols.psrt.replies import Response
from wireproof.reference_client.errors import AccessError, BadReplyError, DeadlineError, RefusedError
from wireproof.reference_client.link import Link
from wireproof.reference_client.psrt.client import Client

__all__ = ["MUTANTS"]


def _told(change: Callable[[RefusedError], ResponseCode], kind: type[RefusedError] = RefusedError) -> type[Client]:
    """Return the client to which an operation that was refused, in the way of `kind`, is something else."""

    class Changed(Client):
        async def _do(self, request: Request) -> ResponseCode:
            try:
                return await super()._do(request)
            except kind as error:
                return change(error)

    return Changed


def _is_error(error: RefusedError) -> ResponseCode:
    raise RefusedError("the server answered ERROR", Response(ResponseCode.ERROR))


def _is_denied(error: RefusedError) -> ResponseCode:
    raise AccessError("access denied", Response(ResponseCode.ERR_ACCESS))


class _Offended(Client):
    """Ends the session when it may not do something."""

    async def _do(self, request: Request) -> ResponseCode:
        try:
            return await super()._do(request)
        except AccessError:
            await self.close()
            raise


class _WaitingIsOk(Client):
    """Takes OK_WAITING and NOT_REQUIRED for OK."""

    async def _do(self, request: Request) -> ResponseCode:
        try:
            return await super()._do(request)
        except RefusedError as error:
            code = getattr(error.reply, "code", None)
            if code not in (ResponseCode.OK_WAITING, ResponseCode.NOT_REQUIRED):
                raise
            return ResponseCode.OK


class _Hasty(Link):
    """Takes half an answer for a broken one."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.ended is None and self._codec.buffered:
            self.fail(BadReplyError("the answer is too short"))


class _Sure(Client):
    """Does not look into the answers to datagrams."""

    async def datagram(self, *arguments: Any, **options: Any) -> ResponseCode | None:
        try:
            return await super().datagram(*arguments, **options)
        except RefusedError:
            return ResponseCode.OK


class _Hopeful(Client):
    """Takes no answer to a datagram for a good one."""

    async def datagram(self, *arguments: Any, **options: Any) -> ResponseCode | None:
        try:
            return await super().datagram(*arguments, **options)
        except DeadlineError:
            return ResponseCode.OK


MUTANTS = (
    mutant("denied-is-error", "FE is reported as FF.", "CLIENT-5", client=_told(_is_error, AccessError)),
    mutant("denied-is-ok", "FE is reported as success.", "CLIENT-5",
          client=_told(lambda _: ResponseCode.OK, AccessError)),
    mutant("denied-ends-session", "On FE the client closes.", "CLIENT-5", client=_Offended),
    mutant("error-is-ok", "Every answer is reported as success.", "CLIENT-6", "CLIENT-5",
          client=_told(lambda _: ResponseCode.OK)),
    mutant("error-is-denied", "Every answer but 01 is reported as access denied.", "CLIENT-5", client=_told(_is_denied)),
    mutant("waiting-is-ok", "02 and E0 are success for every operation.", "CLIENT-6", client=_WaitingIsOk),
    mutant("half-answers-are-broken", "An answer that comes in several segments is broken.", "CLIENT-20",
          client=control_link(_Hasty)),
    mutant("datagram-codes-ignored", "Every answer to a datagram is success.", "CLIENT-17", client=_Sure),
    mutant("unanswered-datagram-is-ok", "A datagram that is not answered in time is success.", "CLIENT-17",
          client=_Hopeful),
)  # fmt: skip
