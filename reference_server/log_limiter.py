"""Limits how often the same warning is logged: what a flood of connections causes must not flood the log as well."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

__all__ = ["LogLimiter"]


class LogLimiter:
    """Logs a warning at once, then at most once in so many seconds, with how often it was due since."""

    def __init__(self, log: logging.Logger, *, seconds: float = 5.0, now: Callable[[], float] = monotonic) -> None:
        self._log, self._seconds, self._now = log, seconds, now
        self._next = 0.0
        self._held = 0

    def warn(self, text: str) -> None:
        """Log `text`, or count it as held back."""
        if self._now() < self._next:
            self._held += 1
            return
        self._log.warning("%s%s", text, f" ({self._held} times more before)" if self._held else "")
        self._next, self._held = self._now() + self._seconds, 0
