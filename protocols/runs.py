"""A run of frames decoded straight into calls, no message made: for servers whose every request costs.

One loop is generated for all frames that have a call, from the same layouts as their decoders. It stops where it
cannot go on by itself: at a frame without a call, one not whole or too large, or one whose call declines. What is
there is for the ordinary decoders to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from protocols.frames import Reading, build, header_struct
from protocols.profile import Layout

__all__ = ["Call", "DeclinedError", "Run", "compile_run"]

Call = Callable[..., Any]
"""Takes the fields of a message in wire order."""
Run = Callable[[bytes, int, int, int, list[int], list[Any]], int]
"""`run(buf, at, stop_at, limit, counts, results) -> at`: calls for the frames that begin before `stop_at` and are at
most `limit` bytes, appends what the calls return, counts them by lead byte, and returns where it stopped."""


class DeclinedError(Exception):
    """Raised by a call that did nothing and wants its frame decoded as a message."""


def compile_run(calls: Sequence[tuple[Layout, Call]], byte_order: str) -> Run:
    """Return the run of `calls`, whose layouts are flat and begin with one byte each, all different."""
    scope: dict[str, Any] = {"DeclinedError": DeclinedError}
    frames: dict[int, list[str]] = {}
    for layout, call in calls:
        (lead,) = layout.lead
        header = header_struct(layout, byte_order)
        scope |= {f"unpack_{lead}": header.unpack_from, f"call_{lead}": call}
        frames[lead] = _frame(layout, lead, header.size)
    source = [
        "def run(buf, at, stop_at, limit, counts, results):",
        "    end = len(buf)",
        "    try:",
        "        while at < stop_at:",
        "            lead = buf[at]",
        *[f"            {line}" for line in _choice(sorted(frames), frames)],
        "    except DeclinedError:",
        "        pass",
        "    return at",
    ]
    run: Run = build("run", "run", source, **scope)
    return run


def _choice(leads: list[int], frames: dict[int, list[str]]) -> list[str]:
    """Find the lead byte by halving: the last frame is found as fast as the first."""
    if not leads:
        return ["break"]
    if len(leads) == 1:
        return [f"if lead != {leads[0]}: break", *frames[leads[0]]]
    half = len(leads) // 2
    lower, upper = _choice(leads[:half], frames), _choice(leads[half:], frames)
    indented = ["    " + line for line in lower], ["    " + line for line in upper]
    return [f"if lead < {leads[half]}:", *indented[0], "else:", *indented[1]]


def _frame(layout: Layout, lead: int, size: int) -> list[str]:
    reading = Reading.of(layout)
    lines = [f"body = at + {size}", "if body > end: break"]
    if size == 2:
        lines.append(f"{reading.targets.rstrip(', ')} = buf[at + 1]")
    elif reading.targets:
        lines.append(f"{reading.targets}= unpack_{lead}(buf, at)")
    lines += [*reading.checks, *reading.bodies]
    if not reading.bounded:
        lines.append(f"if {reading.stop} - at > limit: break")
    if reading.bodies:
        lines.append(f"if {reading.stop} > end: break")
    return [*lines, f"results.append(call_{lead}({reading.values}))", f"counts[{lead}] += 1", f"at = {reading.stop}"]
