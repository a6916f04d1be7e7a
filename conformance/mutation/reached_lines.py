"""Which lines of the reference server each recording reaches: an edit elsewhere cannot be killed by that recording.

Where servers keep anything over a restart, the lines that deaths in simulation reach count, too (restarts.py).

Every recording is replayed twice against a server loaded anew, while Python reports each line. Lines reached in the
first pass and not in the second are those of imports and of caches: any case may depend on them.
"""

from __future__ import annotations

import logging
import multiprocessing
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

from wireproof.conformance.mutation.fresh_server import CodeEdit, fresh_factory, source_path
from wireproof.conformance.mutation.play_bounds import end_on_sigterm
from wireproof.conformance.mutation.recording import Recording
from wireproof.conformance.mutation.restarts import restart_kill
from wireproof.conformance.run.reference_target import keeps_anything
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
    by_restarts: Lines = frozenset()
    """Reached by deaths and starts in simulation."""

    def reaching(self, edit: CodeEdit) -> list[int]:
        """Return the numbers of the recordings that reach an edit; all of them where it acts once for all."""
        where = _where(edit)
        if not edit.edit.function or where in self.once:
            return list(range(len(self.by_recording)))
        return [number for number, lines in enumerate(self.by_recording) if where in lines]

    def reached_by_restarts(self, edit: CodeEdit) -> bool:
        """Say whether deaths and starts reach an edit, or may depend on it."""
        if not self.by_restarts:
            return False
        return not edit.edit.function or _where(edit) in self.once or _where(edit) in self.by_restarts


def _where(edit: CodeEdit) -> tuple[str, int]:
    return str(source_path(edit.module)), edit.edit.statement_line


def reached_lines(run: Run, recordings: Sequence[Recording], modules: Collection[str], *, jobs: int) -> ReachedLines:
    """Return the lines of `modules` that each of `recordings` reaches; `jobs` processes share the work."""
    global _shared
    _shared = run, recordings, frozenset(str(source_path(one)) for one in modules)
    shares = [range(first, len(recordings), jobs) for first in range(jobs)]
    by_recording: dict[int, Lines] = {}
    once: set[tuple[str, int]] = set()
    with multiprocessing.get_context("fork").Pool(jobs, end_on_sigterm, maxtasksperchild=1) as pool:
        for found, first_only in pool.imap_unordered(_reached, shares, chunksize=1):
            by_recording.update(found)
            once |= first_only
        restarts = pool.apply(_reached_by_restarts) if keeps_anything(run.protocol) else frozenset()
        pool.close()
        pool.join()
    return ReachedLines([by_recording[number] for number in range(len(recordings))], frozenset(once), restarts)


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


def _reached_by_restarts() -> Lines:
    """Return the lines that deaths and starts of the unmodified server reach; those of the harness do not count."""
    run, _, files = _shared
    logging.disable()
    tracer = _Tracer(
        files, [module for module in list(sys.modules.values()) if getattr(module, "__file__", "") in files]
    )
    factory = fresh_factory(run, None)
    with tracer:
        broken = restart_kill(run, factory)
    if broken:
        raise ValueError(f"the reference server does not keep what it promises: {broken}")
    return tracer.taken()


class _Tracer:
    """Collects the lines of some files that are run while it is on, but not those of `others`, modules of them."""

    def __init__(self, files: frozenset[str], others: Iterable[ModuleType] = ()) -> None:
        self._files = files
        self._others = {id(vars(one)) for one in others}
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
        if file not in self._files or id(frame.f_globals) in self._others:
            return None
        lines = self._lines[file]
        lines.add(frame.f_lineno)

        def line(frame: FrameType, event: str, argument: object) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line
