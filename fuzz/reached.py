"""Which lines of our own code an input reaches, generated code included: for minimising and reporting corpora."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["Edges", "minimal", "reached", "report"]

TraceFunction = Callable[[FrameType, str, Any], Any]
"""As `sys.settrace` takes it."""
Edges = frozenset[tuple[str, int, int]]
"""(file, previous line, line) of each step taken."""
ROOT = Path(__file__).parents[1]
WATCHED = tuple(f"{ROOT / package}{'/'}" for package in ("protocols", "reference_server"))
GENERATED = "<generated"


def reached(run: Callable[[], object]) -> Edges:
    """Return the steps that `run` takes through our code; exceptions of `run` are ignored."""
    steps: set[tuple[str, int, int]] = set()
    before: dict[int, int] = {}

    def local(frame: FrameType, event: str, argument: object) -> TraceFunction:
        if event == "line":
            key = id(frame)
            steps.add((frame.f_code.co_filename, before.get(key, 0), frame.f_lineno))
            before[key] = frame.f_lineno
        elif event == "return":
            before.pop(id(frame), None)
        return local

    def watch(frame: FrameType, event: str, argument: object) -> TraceFunction | None:
        return local if frame.f_code.co_filename.startswith((*WATCHED, GENERATED)) else None

    earlier = sys.gettrace()
    sys.settrace(watch)
    try:
        run()
    except Exception:
        return frozenset(steps)
    finally:
        sys.settrace(earlier)
    return frozenset(steps)


def minimal(inputs: Iterable[bytes], check: Callable[[bytes], object], known: Edges = frozenset()) -> list[bytes]:
    """Return the inputs, shortest first, that each reach a step which neither `known` nor an earlier input reaches."""
    seen, kept = set(known), []
    for data in sorted(set(inputs), key=lambda data: (len(data), data)):
        fresh = reached(lambda data=data: check(data)) - seen  # type: ignore[misc]
        if fresh:
            seen |= fresh
            kept.append(data)
    return kept


def report(edges: Edges) -> Mapping[str, int]:
    """Return file -> number of lines reached; paths are relative to the project's root."""
    lines: dict[str, set[int]] = defaultdict(set)
    for file, _, line in edges:
        name = str(Path(file).relative_to(ROOT)) if file.startswith(WATCHED) else "generated code"
        lines[name].add(line if name != "generated code" else hash((file, line)))
    return {name: len(lines[name]) for name in sorted(lines)}
