"""The answers that a connection has had, to recognise one that comes again: later, and after other requests, too."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

__all__ = ["COMES_AGAIN", "Exchange", "GivenAnswers"]

COMES_AGAIN = "it comes again"
MOST = 256
"""The answers that are kept, the newest."""
SHORTEST, LONGEST = 8, 4096
"""Bytes of the answers that are kept: shorter ones are like others by chance."""


class Exchange(NamedTuple):
    """What an answer was judged by."""

    clause: str
    given: bool
    """The step only prepares."""
    request: str
    """The name of the request."""


class GivenAnswers:
    """Bytes of each answer -> the exchange that it belongs to."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Exchange] = OrderedDict()

    def add(self, answer: bytes, exchange: Exchange) -> None:
        """Keep an answer, unless it is so short that others may be like it."""
        if SHORTEST <= len(answer) <= LONGEST:
            self._kept.pop(answer, None)
            self._kept[answer] = exchange
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)

    def again(self, data: bytes) -> Exchange | None:
        """Return the exchange of the newest answer that `data` begins with; None where there is none."""
        found = (one for one in reversed(self._kept) if data.startswith(one))
        return next((self._kept[one] for one in found), None)
