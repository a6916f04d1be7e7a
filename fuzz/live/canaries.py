"""Canaries: ten bytes inside the names and values of a script, which identify their sender wherever they appear.

A script in a pool holds canaries with small numbers. Before each play they are replaced by fresh ones, so that no play
meets data that an earlier play left on the server.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from msgspec.structs import replace

from wireproof.conformance.model.actions import Write
from wireproof.fuzz.script import Script

__all__ = ["CANARY", "canaries_in", "canary", "is_marked", "renumbered", "with_fresh_canaries"]

CANARY = re.compile(rb"~[0-9a-f]{8}~")
OF_A_CASE = re.compile(rb"(?<=v-)[0-9a-f]{6}(?=-)")
"""What tells the names of one case from those of another one."""
LARGEST = 0xFFFFFFFF


def canary(number: int) -> bytes:
    """Return the canary with that number."""
    return b"~%08x~" % (number & LARGEST)


def canaries_in(data: bytes | bytearray) -> set[bytes]:
    """Return the canaries in `data`."""
    return set(map(bytes, CANARY.findall(data)))


def is_marked(name: bytes | bytearray) -> bool:
    """Return whether a name is that of one play."""
    return CANARY.search(name) is not None or OF_A_CASE.search(name) is not None


def renumbered(script: Script, shift: int) -> Script:
    """Return the script with `shift` added to the number of each canary, so with other names."""
    return _replaced(script, lambda number: number + shift)


def with_fresh_canaries(script: Script) -> Script:
    """Return the script with new random canaries, and names of cases made new likewise; equal ones stay equal."""
    drawn: dict[int, int] = {}
    names: dict[bytes, bytes] = {}
    made = _replaced(script, lambda number: drawn.setdefault(number, secrets.randbits(32)))
    return _changed(made, OF_A_CASE, lambda found: names.setdefault(found[0], b"%06x" % secrets.randbits(24)))


def _replaced(script: Script, number: Callable[[int], int]) -> Script:
    def other(found: re.Match[bytes]) -> bytes:
        return canary(number(int(found[0][1:-1], 16)))

    return _changed(script, CANARY, other)


def _changed(script: Script, sought: re.Pattern[bytes], other: Callable[[re.Match[bytes]], bytes]) -> Script:
    """Return the script with what is found in its streams changed into other bytes of the same number."""
    streams: dict[str, bytes] = {}
    for action in script:
        if isinstance(action, Write):
            streams[action.connection] = streams.get(action.connection, b"") + action.data
    streams = {name: sought.sub(other, data) for name, data in streams.items()}
    steps = list(script)
    for at, action in enumerate(script):
        if isinstance(action, Write):
            stream, length = streams[action.connection], len(action.data)
            steps[at], streams[action.connection] = replace(action, data=stream[:length]), stream[length:]
    return tuple(steps)
