"""Shortens walks that failed: the fewest moves that still fail say what a fault needs.

A walk of eighteen moves and its questions show that something is wrong, and hide what: most moves have no part in it.
So once a run is over the first walk that broke a clause is played again with fewer moves, halves first, then single
ones, until none can go. The plays and the time spent on each walk are bounded, and so is the number of walks, because a
play may wait for something in vain. What was found by then is reported. A walk that passes when it is played again has
nothing to tell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.case_documents import Context, cases_in
from wireproof.conformance.suite.cases import vectors_root
from wireproof.conformance.suite.walks import BETWEEN, WalkSet, read_walks, set_of, walk_case, walk_of

__all__ = ["SHORTER", "Search", "advanced", "searches"]

SHORTER = 3
"""The attempt that a play of a shorter walk counts as."""

WALKS = 3
"""Walks of a run that are shortened."""
PLAYS, SECONDS = 60, 5.0
"""What each may take."""
FAILS = (Verdict.FAIL, Verdict.HANG)
Search = Generator[Case, Outcome, str]
"""Yields cases to be played, takes their outcomes, returns a line for the user: "" where nothing was found."""


def searches(failed: Sequence[Case], context: Context) -> list[Search]:
    """Return a search for each of the first walks that failed."""
    file = read_walks(vectors_root() / context.protocol / "walks.yaml")
    sets = file.sets if file is not None else {}
    return [_search(case, sets, context) for case in failed[:WALKS] if set_of(case.id) in sets]


def advanced(search: Search, outcome: Outcome, notify: Callable[[str], None]) -> Case | None:
    """Return what to play next; None once the search is over, and `notify` has taken what it found."""
    try:
        return search.send(outcome)
    except StopIteration as done:
        if done.value:
            notify(str(done.value))
        return None


def _search(case: Case, sets: Mapping[str, WalkSet], context: Context) -> Search:
    name, best = set_of(case.id), walk_of(case)

    def made(walk: str) -> Case:
        return cases_in({"cases": [walk_case(name, sets[name], walk)]}, context, "walks")[0]

    if (yield made(best)).verdict not in FAILS:
        return ""
    over, fewer = time.monotonic() + SECONDS, _fewer(best)
    tried: str | None = next(fewer, None)
    for _ in range(PLAYS):
        if tried is None or time.monotonic() > over:
            break
        fails = (yield made(tried)).verdict in FAILS
        best = tried if fails else best
        try:
            tried = fewer.send(fails)
        except StopIteration:
            tried = None
    return f"{case.id} fails with these moves alone: {best or 'none'}"


def _fewer(walk: str) -> Generator[str, bool, None]:
    """Yield walks with fewer moves and take whether each fails; what fails is shortened further."""
    moves = walk.split(BETWEEN)
    size = len(moves) // 2
    while size:
        at, is_shorter = 0, False
        while at < len(moves):
            left = moves[:at] + moves[at + size :]
            if (yield BETWEEN.join(left)):
                moves, is_shorter = left, True
            else:
                at += size
        size = size if is_shorter and size == 1 else size // 2
