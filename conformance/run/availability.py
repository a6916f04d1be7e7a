"""Whether a target is there: one that goes away is asked again for some seconds.

A server is restarted while it is tested, or a proxy before it is. What was under way then is played again, what comes
later waits until it is back, and nobody is to blame. A target that does not come back is gone. One that wireproof
started may be about to end: between the ends of its connections and of its process seconds may pass.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

__all__ = ["Availability"]

ASKED_FOR = 8.0
"""Seconds in which a target that went away is asked again before it counts as gone."""
PAUSE = 0.2
"""Seconds between two questions."""


class Availability:
    """When the target was away in one run."""

    def __init__(
        self,
        serves: Callable[[], Awaitable[bool]],
        announce: Callable[[str], None],
        *,
        death: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`serves` asks whether a new client gets an answer; `announce` takes a line for the user.

        `death`: how the target ended, where that is known: it need not be asked again.
        """
        self._serves = serves
        self._announce = announce
        self._death = death
        self._asking: asyncio.Task[bool] | None = None
        self._back_at = 0.0
        """When it came back the last time (`time.monotonic`)."""

    async def wait(self) -> None:
        """Wait while it is known to be away; some seconds at most."""
        if self._asking is not None and not self._asking.done():
            await asyncio.wait({self._asking})

    def was_away_since(self, instant: float) -> bool:
        """Say whether the target was away, be it for a moment, since an instant (`time.monotonic`)."""
        return self._back_at > instant

    async def is_there(self, since: str) -> bool:
        """Say whether the target serves, now or within some seconds; one case asks for all that wonder.

        `since`: the case that lost it.
        """
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask(since))
        return await asyncio.shield(self._asking)

    async def _ask(self, since: str) -> bool:
        if await self._serves():
            return True
        began = time.monotonic()
        self._announce(f"the target serves nobody since {since}: it is asked again for {ASKED_FOR:g} s")
        while time.monotonic() - began < ASKED_FOR:
            await asyncio.sleep(PAUSE)
            if self._death() is not None:
                return False
            if await self._serves():
                self._back_at = time.monotonic()
                away = self._back_at - began
                self._announce(f"the target is back after {away:.1f} s: what was under way is played again")
                return True
        return False
