"""What a play costs: foreseen of a script, in milliseconds, and measured of what is done beside the plays."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from wireproof.conformance.model.actions import Open, Secure, Sleep, Write
from wireproof.fuzz.script import Script

__all__ = ["HEAVY", "HEAVY_SHARE", "Allowance", "Weights", "weight"]

A_STEP, A_CONNECTION, A_BYTE, A_BODY_BYTE = 0.1, 0.3, 0.002, 0.00005
"""Milliseconds of a server on the loopback; a byte costs so much where requests are small, and within a large body."""
A_HANDSHAKE = 1.5
"""Milliseconds of a TLS handshake."""
HEAVY = 4.0
"""Foreseen milliseconds from which on a script is heavy."""
HEAVY_SHARE = 0.15
"""Most of the foreseen time that heavy scripts take."""
CREDIT = 500.0
"""Foreseen milliseconds of heavy scripts that need not be earned: a short run has some, too."""


def weight(script: Script, *, has_large_body: bool = False) -> float:
    """Return the milliseconds that a play of the script is foreseen to take."""
    a_byte = A_BODY_BYTE if has_large_body else A_BYTE
    found = A_STEP * len(script)
    for step in script:
        match step:
            case Open():
                found += A_CONNECTION
            case Write(_, data):
                found += a_byte * len(data)
            case Secure():
                found += A_HANDSHAKE
            case Sleep(seconds):
                found += 1000 * seconds
    return found


class Weights:
    """What was played so far; heavy scripts may be played as long as they do not take the time of many light ones.

    It depends on the scripts alone, so that equal seeds draw equal scripts.
    """

    def __init__(self, share: float = HEAVY_SHARE) -> None:
        """`share`: most of the foreseen time that heavy scripts take; 1 for no limit."""
        self._share = share
        self._heavy = self._all = 0.0

    @property
    def may_be_heavy(self) -> bool:
        """Whether the next script may be heavy."""
        return self._heavy <= self._share * self._all + CREDIT

    def add(self, script: Script, *, has_large_body: bool = False) -> None:
        """Take a script that is played."""
        found = weight(script, has_large_body=has_large_body)
        self._all += found
        self._heavy += found if found >= HEAVY else 0.0


class Allowance:
    """Something that may take a share of the time since it began; the first time is always allowed.

    `credit`: seconds that need not be earned, so that a short run has some, too.
    """

    def __init__(self, share: float, credit: float = 0.0) -> None:
        self._share, self._credit, self._began, self._spent = share, credit, time.monotonic(), 0.0

    @property
    def permits(self) -> bool:
        """Whether there is time for it now."""
        return self._spent <= self._share * (time.monotonic() - self._began) + self._credit

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Count the time of the block."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._spent += time.monotonic() - began
