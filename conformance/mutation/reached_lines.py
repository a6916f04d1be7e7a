"""Which lines of the reference server each recording reaches: an edit elsewhere cannot be killed by that recording.

Every recording is replayed twice against a server loaded anew, while Python reports each line. Lines reached in the
first pass and not in the second are those of imports and of caches: any case may depend on them.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from wireproof.conformance.mutation.fresh_server import CodeEdit, fresh_factory, source_path
from wireproof.conformance.mutation.recording import Recording
from wireproof.conformance.verdict.records import Run

__all__ = ["ReachedLines", "reached_lines"]

Lines = frozenset[tuple[str, int]]
"""File and line."""


@dataclass(frozen=True)
class ReachedLines:
    """The lines that the recordings of one run reach."""

    by_recording: Sequence[Lines]
    once: Lines
    """Reached while modules are loaded or caches are filled."""

    def reaching(self, edit: CodeEdit) -> list[int]:
        """Return the numbers of the recordings that reach an edit; all of them where it acts once for all."""
        where = (str(source_path(edit.module)), edit.edit.statement_line)
        if not edit.edit.function or where in self.once:
            return list(range(len(self.by_recording)))
        return [number for number, lines in enumerate(self.by_recording) if where in lines]


def reached_lines(run: Run, recordings: Sequence[Recording], modules: Collection[str], *, jobs: int) -> ReachedLines:
    """Return the lines of `modules` that each of `recordings` reaches; `jobs` processes share the work."""
    global _shared
    _shared = run, recordings, frozenset(str(source_path(one)) for one in modules)
    shares = [range(first, len(recordings), jobs) for first in range(jobs)]
    by_recording: dict[int, Lines] = {}
    once: set[tuple[str, int]] = set()
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        for found, first_only in pool.imap_unordered(_reached, shares, chunksize=1):
            by_recording.update(found)
            once |= first_only
        pool.close()
        pool.join()
    return ReachedLines([by_recording[number] for number in range(len(recordings))], frozenset(once))


_shared: tuple[Run, Sequence[Recording], frozenset[str]]
"""What the workers are forked with."""


def _reached(share: Iterable[int]) -> tuple[Mapping[int, Lines], Lines]:
    """Return the lines that each recording of a share reaches, and those reached in the first pass only."""
    run, recordings, files = _shared
    tracer = _Tracer(files)
    with tracer:
        factory = fresh_factory(run, None)
        for number in share:
            recordings[number].agrees(factory)
    first = tracer.taken()
    found: dict[int, Lines] = {}
    for number in share:
        with tracer:
            recordings[number].agrees(factory)
        found[number] = tracer.taken()
    return found, first.difference(*found.values())


class _Tracer:
    """Collects the lines of some files that are run while it is on."""

    def __init__(self, files: frozenset[str]) -> None:
        self._files = files
        self._lines: dict[str, set[int]] = defaultdict(set)

    def taken(self) -> Lines:
        """Return what was collected since it was asked last."""
        found = frozenset((file, line) for file, lines in self._lines.items() for line in lines)
        self._lines.clear()
        return found

    def __enter__(self) -> None:
        sys.settrace(self._call)

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        file = frame.f_code.co_filename
        if file not in self._files:
            return None
        lines = self._lines[file]
        lines.add(frame.f_lineno)

        def line(frame: FrameType, event: str, argument: object) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line
