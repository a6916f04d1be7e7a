"""Canaries: ten bytes inside the names and values of a script, which identify their sender wherever they appear.

A script in a pool holds canaries with small numbers. Before each play they are replaced by fresh ones, so that no play
meets data that an earlier play left on the server.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import replace

from wireproof.conformance.model.actions import Write
from wireproof.fuzz.script import Script

__all__ = ["CANARY", "canaries_in", "canary", "renumbered", "with_fresh_canaries"]

CANARY = re.compile(rb"~[0-9a-f]{8}~")
LARGEST = 0xFFFFFFFF


def canary(number: int) -> bytes:
    """Return the canary with that number."""
    return b"~%08x~" % (number & LARGEST)


def canaries_in(data: bytes | bytearray) -> set[bytes]:
    """Return the canaries in `data`."""
    return set(map(bytes, CANARY.findall(data)))


def renumbered(script: Script, shift: int) -> Script:
    """Return the script with `shift` added to the number of each canary, so with other names."""
    return _replaced(script, lambda number: number + shift)


def with_fresh_canaries(script: Script) -> Script:
    """Return the script with new random canaries; equal canaries stay equal."""
    drawn: dict[int, int] = {}
    return _replaced(script, lambda number: drawn.setdefault(number, secrets.randbits(32)))


def _replaced(script: Script, number: Callable[[int], int]) -> Script:
    def other(found: re.Match[bytes]) -> bytes:
        return canary(number(int(found[0][1:-1], 16)))

    streams: dict[str, bytes] = {}
    for action in script:
        if isinstance(action, Write):
            streams[action.connection] = streams.get(action.connection, b"") + action.data
    streams = {name: CANARY.sub(other, data) for name, data in streams.items()}
    steps = list(script)
    for at, action in enumerate(script):
        if isinstance(action, Write):
            stream, length = streams[action.connection], len(action.data)
            steps[at], streams[action.connection] = replace(action, data=stream[:length]), stream[length:]
    return tuple(steps)
