"""Mutants of answers in several fragments: LIST, STATS, CONNECTIONS and CHANNELS. One fragment alone stays right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.edits import edit, first
from wireproof.mutants.server import HandlerPatch, Kinds, changed
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import with_reply, with_rows
from wireproof.protocols.throttr.requests import Channels, Connections, List, Stats

__all__ = ["MUTANTS"]

ALL: Kinds = (List, Stats, Connections, Channels)


def _fragments(change: Callable[[Any], Any]) -> HandlerPatch:
    """Answer `change(fragments)`."""
    return with_reply(ALL, lambda reply, ask: changed(reply, fragments=tuple(change(reply.fragments))))


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("fragments-all-number-1", "Each fragment has number 1.", "FRAGMENT-5 FRAGMENT-3",
           handlers=_fragments(lambda parts: (changed(one, fragment=1) for one in parts))),
    mutant("fragments-count-all-rows", "Each of several fragments reports the rows of the whole answer.",
           "FRAGMENT-4 FRAGMENT-2", first("_joiner.join", "rows = list(rows)"),
           edit("_joiner.join", "len(part))", "len(rows))")),
    mutant("fragments-names-reversed-later", "From the second fragment on, names stand in the opposite order.",
           "FRAGMENT-7 LIST-12 STATS-10", edit("_joiner.join", "*names)", "*names[:: 1 if number == 1 else -1])")),
    mutant("fragments-second-lost", "The second fragment is never sent.",
           "FRAGMENT-8 FRAGMENT-5 LIST-13 STATS-11 CONNECTIONS-27 CHANNELS-12",
           handlers=_fragments(lambda parts: parts[:1] + parts[2:])),
    mutant("channels-end-with-a-zero", "A zero byte follows the last of several fragments of CHANNELS.", "FRAGMENT-1",
           handlers=with_reply(Channels,
                               lambda reply, ask: ask.state.codec.encode(reply) + bytes(len(reply.fragments) > 1))),
    mutant("connections-of-3-fragments", "CONNECTIONS has at most 24 rows.", "FRAGMENT-8 CONNECTIONS-27",
           handlers=with_rows(Connections, lambda rows, ask: rows[:24])),
    mutant("fragments-of-255-rows-in-all", "An answer has at most 255 rows.", "FRAGMENT-8 LIST-13 STATS-11 CHANNELS-12",
           handlers=with_rows(ALL, lambda rows, ask: rows[:255])),
)  # fmt: skip
