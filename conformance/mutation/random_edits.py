"""Random edits: a seeded sample of edits of the reference server and its codec, each run until a case kills it.

Drawn are edits of lines that some recording reaches under this profile and variant, or a restart; how many are not
reached is counted. Each edit is run in a process of its own, against the recordings that reach its line, the shortest
first, and then killed and started again in simulation where its server keeps anything (restarts.py).
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from wireproof.conformance.drivers.simulation import ServiceFactory
from wireproof.conformance.mutation.fresh_server import CodeEdit, all_edits, fresh_factory
from wireproof.conformance.mutation.play_bounds import CPU_SECONDS, HangError, bounded
from wireproof.conformance.mutation.reached_lines import ReachedLines, reached_lines
from wireproof.conformance.mutation.recorded_suite import RecordedSuite
from wireproof.conformance.mutation.restarts import restart_kill
from wireproof.conformance.mutation.workers import side_by_side

__all__ = ["EditResult", "Sample", "Status", "draw", "run_edits"]

FRESH_PLAYS = 5
"""How many cases are played against servers whose modules no recording was replayed on."""


class Status(StrEnum):
    """What became of an edit."""

    KILLED = "killed"
    HANGS = "hangs"
    STILLBORN = "stillborn"
    """The edited module cannot be loaded, or makes no server."""
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class EditResult:
    """One edit and what became of it."""

    edit: CodeEdit
    status: Status
    case: str = ""
    """The first case that killed it, or the scenario and promise of durability."""


@dataclass(frozen=True)
class Sample:
    """The edits that were drawn, and out of how many."""

    edits: Sequence[CodeEdit]
    reached: int
    unreached: int
    """Edits of lines that no recording and no restart reaches: none of them is drawn."""
    lines: ReachedLines


def draw(suite: RecordedSuite, packages: Sequence[str], number: int, seed: int, *, jobs: int = 0) -> Sample:
    """Draw `number` edits of `packages` that recordings or restarts reach, the same ones for the same seed."""
    everything = all_edits(packages)
    recordings = [recording for _, recording in suite.recordings]
    modules = {one.module for one in everything}
    lines = reached_lines(suite.plan.run, recordings, modules, jobs=jobs or os.cpu_count() or 1)
    reached = [one for one in everything if lines.reaching(one) or lines.reached_by_restarts(one)]
    drawn = random.Random(seed).sample(reached, min(number, len(reached)))
    return Sample(drawn, len(reached), len(everything) - len(reached), lines)


def run_edits(
    suite: RecordedSuite, sample: Sample, *, jobs: int = 0, report: Callable[[EditResult], None] | None = None
) -> list[EditResult]:
    """Return what became of each drawn edit, in their order; what ends its process hangs. `jobs` 0 is one a core."""
    global _suite, _sample
    _suite, _sample = suite, sample
    found: dict[int, EditResult] = {}
    for number, result in side_by_side(_run, range(len(sample.edits)), jobs, tasks_a_worker=1):
        found[number] = result or EditResult(sample.edits[number], Status.HANGS)
        if report is not None:
            report(found[number])
    return [found[number] for number in sorted(found)]


_suite: RecordedSuite
_sample: Sample
"""What the workers are forked with."""


def _run(number: int) -> EditResult:
    edit = _sample.edits[number]
    logging.disable()
    try:
        try:
            with bounded(CPU_SECONDS):
                factory = fresh_factory(_suite.plan.run, edit)
        except Exception:
            return EditResult(edit, Status.STILLBORN)
        case = _first_kill(edit, factory)
        if not case and _sample.lines.reached_by_restarts(edit):
            case = restart_kill(_suite.plan.run, factory)
        return EditResult(edit, Status.KILLED, case) if case else EditResult(edit, Status.SURVIVED)
    except HangError:
        return EditResult(edit, Status.HANGS)


def _first_kill(edit: CodeEdit, factory: ServiceFactory) -> str:
    """Return the first case that the edited server does not pass; empty when it passes all that reach the edit.

    Replaying fills caches that servers of one process share, so that a second server may answer as the reference does:
    the first full plays are given modules loaded anew.
    """
    reaching = [_suite.recordings[number] for number in _sample.lines.reaching(edit)]
    fresh_plays = FRESH_PLAYS
    for case, recording in sorted(reaching, key=lambda one: len(one[1].exchanges)):
        with bounded(CPU_SECONDS):
            if recording.agrees(factory):
                continue
            played_on = fresh_factory(_suite.plan.run, edit) if fresh_plays > 0 else factory
        fresh_plays -= 1
        killer, _ = _suite.first_kill([case], played_on)
        if killer:
            return case.id
    return ""
