"""A connection on which the server must send something regularly. Knows no protocol."""

from __future__ import annotations

import asyncio

from wireproof.reference_client.errors import ClosedError
from wireproof.reference_client.link import Link

__all__ = ["WatchedLink"]


class WatchedLink(Link):
    """A link that counts as lost once the server has sent nothing for longer than `watch` allows."""

    _patience = 0.0
    _last_input = 0.0

    def watch(self, seconds: float) -> None:
        """Fail with ClosedError once the server has sent nothing for `seconds`."""
        self._patience = seconds
        self._last_input = asyncio.get_running_loop().time()
        self._look()

    def data_received(self, data: bytes) -> None:
        """Decode the bytes, as `Link` does, and restart the silence."""
        self._last_input = asyncio.get_running_loop().time()
        super().data_received(data)

    def _look(self) -> None:
        if self.ended is not None:
            return
        loop = asyncio.get_running_loop()
        left = self._last_input + self._patience - loop.time()
        if left > 0:
            loop.call_later(left, self._look)
        else:
            self.fail(ClosedError(f"the server sent nothing for {self._patience:g} s"))
