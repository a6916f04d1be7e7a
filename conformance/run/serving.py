"""Whether a target still serves: asked when a case waited in vain, of a new client.

A fault in one request must not make a server that works look dead, so any byte is an answer, be it right or wrong, and
there are three questions: the request that any server answers at once, the one for profile and variant, and the first
one of several clients at once: what a connection inherits from one before it may spoil one new client each time. A
server that answered only a later one is asked that one first from then on: the others cost their whole deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.probe import SECOND_QUESTION, Spoken, answer_to_probe, probe_symbols, session
from wireproof.conformance.suite.cases import Suite
from wireproof.protocols import ProtocolError

__all__ = ["AT_ONCE", "ServingCheck"]


AT_ONCE = 5
"""New clients that are there at the same time, where one alone was not answered."""


class ServingCheck:
    """The questions of one run; call it with the target's address, another after each restart, and a time-out."""

    def __init__(self, suite: Suite, spoken: Spoken) -> None:
        self._suite, self._spoken = suite, spoken
        self._questions: list[Callable[[Address, float], Awaitable[bool]]] = [self._sync, self._probe, self._several]

    async def __call__(self, address: Address, timeout: float) -> bool:
        """Say whether a new client gets any answer to one of the questions within `timeout` seconds."""
        for question in list(self._questions):
            patience = timeout if question == self._questions[0] else min(timeout, SECOND_QUESTION)
            if await question(address, patience):
                self._questions.sort(key=lambda one: one != question)
                return True
        return False

    async def _sync(self, address: Address, timeout: float) -> bool:
        symbols = probe_symbols(self._suite, self._spoken.profile, self._spoken.variant)
        with suppress(OSError, ProtocolError):
            async with session(symbols, address, timeout) as ask:
                return await ask.is_answered(symbols.protocol.link.sync_request())
        return False

    async def _several(self, address: Address, timeout: float) -> bool:
        asked = [asyncio.create_task(self._sync(address, timeout)) for _ in range(AT_ONCE)]
        try:
            for one in asyncio.as_completed(asked):
                if await one:
                    return True
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        return False

    async def _probe(self, address: Address, timeout: float) -> bool:
        with suppress(OSError):
            return bool((await answer_to_probe(self._suite, address, timeout))[0])
        return False
