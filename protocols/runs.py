"""A run of frames decoded straight into calls, no message made: for servers whose every request costs.

One loop is generated for all frames that have a call, from the same layouts as their decoders. It stops where it
cannot go on by itself: at a frame without a call, one not whole or too large, or one whose call declines. What is
there is for the ordinary decoders to report.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from wireproof.protocols.frames import Reading, build, header_struct
from wireproof.protocols.profile import Layout

__all__ = ["Call", "DeclinedError", "Run", "compile_run"]

Call = Callable[..., Any]
"""Takes the fields of a message in wire order."""
Run = Callable[[bytes, int, int, int, list[int], list[Any]], int]
"""`run(buf, at, stop_at, limit, counts, results) -> at`: calls for the frames that begin before `stop_at` and are at
most `limit` bytes, appends what the calls return, counts them by lead byte once it stops, and returns where that is."""


class DeclinedError(Exception):
    """Raised by a call that did nothing and wants its frame decoded as a message."""


def compile_run(calls: Sequence[tuple[Layout, Call]], byte_order: str) -> Run:
    """Return the run of `calls`, in the order they are looked for: the most frequent first.

    Their layouts are flat and begin with one byte each, all different.
    """
    source, unpackers = _generated(tuple(layout for layout, _ in calls), byte_order)
    named = {f"call_{layout.lead[0]}": call for layout, call in calls}
    run: Run = build("run", "run", source, DeclinedError=DeclinedError, struct_error=struct.error, **unpackers, **named)
    return run


@cache
def _generated(layouts: tuple[Layout, ...], byte_order: str) -> tuple[list[str], Mapping[str, Any]]:
    """Return the source of a run, and the functions of structs that it uses: servers are made often."""
    unpackers: dict[str, Any] = {}
    leads: list[int] = []
    choice: list[str] = []
    for layout in layouts:
        (lead,) = layout.lead
        header = header_struct(layout, byte_order)
        unpackers[f"unpack_{lead}"] = header.unpack_from
        leads.append(lead)
        choice += [f"if lead == {lead}:", *(f"    {line}" for line in _frame(layout, lead, header.size))]
    source = [
        "def run(buf, at, stop_at, limit, counts, results):",
        "    end = len(buf)",
        "    small = end - at <= limit",
        f"    {''.join(f'n_{lead} = ' for lead in leads)}0",
        "    try:",
        "        while at < stop_at:",
        "            lead = buf[at]",
        *(f"            {line}" for line in choice),
        "            break",
        "    except DeclinedError:",
        "        pass",
        *(f"    if n_{lead}: counts[{lead}] += n_{lead}" for lead in leads),
        "    return at",
    ]
    return source, unpackers


def _frame(layout: Layout, lead: int, size: int) -> list[str]:
    """Take one frame; the fixed parts report themselves if they are not whole."""
    reading = Reading.of(layout)
    if reading.cuts:
        raise TypeError(f"{layout.message.__name__}: a body that is split needs its decoder")
    lines = [f"body = at + {size}"]
    if size == 2:
        lines += ["try:", f"    {reading.targets.rstrip(', ')} = buf[at + 1]", "except IndexError: break"]
    elif reading.targets:
        lines += ["try:", f"    {reading.targets}= unpack_{lead}(buf, at)", "except struct_error: break"]
    lines += [*reading.checks, *reading.bodies]
    if not reading.bounded:
        lines.append(f"if not small and {reading.stop} - at > limit: break")
    if reading.bodies:
        lines.append(f"if {reading.stop} > end: break")
    return [
        *lines,
        f"results.append(call_{lead}({reading.values}))",
        f"n_{lead} += 1",
        f"at = {reading.stop}",
        "continue",
    ]
