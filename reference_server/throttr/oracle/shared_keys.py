"""Keys that others may have used before: what is known of their records begins with an answer that shows it."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.throttr.replies import Status
from wireproof.protocols.throttr.requests import Insert, Purge, Set, Stat

__all__ = ["SharedKeys"]


class SharedKeys:
    """Which keys are ours alone, and which others are known by now."""

    def __init__(self, *, leaves_set_open: bool) -> None:
        """`leaves_set_open`: whether SET may do what it likes with a key that is there (SET-18, SET-20)."""
        self.is_ours: Callable[[bytes], bool] = lambda _: True
        """Whether nobody else has ever used a key."""
        self._leaves_set_open = leaves_set_open
        self._shown: set[bytes] = set()
        self._doubted: set[bytes] = set()

    def forget(self, key: bytes) -> None:
        """Take it that anything may be under a key, whosever it is."""
        self._doubted.add(key)
        self._shown.discard(key)

    def is_unknown(self, key: bytes, request: Request, reply: Message) -> bool:
        """Return whether an answer about a key cannot be judged, since anything may have been there before.

        What leaves a record that does not depend on that, and what leaves none, makes the key known.
        """
        if key in self._shown or (self.is_ours(key) and key not in self._doubted):
            return False
        overwrites = isinstance(request, Insert) or (isinstance(request, Set) and not self._leaves_set_open)
        is_made = overwrites and isinstance(reply, Status) and reply.ok
        if is_made or isinstance(request, Purge) or (isinstance(request, Stat) and isinstance(reply, Status)):
            self._shown.add(key)
        return not is_made
