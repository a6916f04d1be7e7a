"""Counts the edges of Python code: pairs of lines of one function that were executed one after the other.

Under Python 3.12 and newer by `sys.monitoring`, before that by `sys.settrace`, which makes code several times slower.
Only code of files below given folders is counted.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections.abc import Callable, Collection, MutableSequence
from types import CodeType, FrameType
from typing import Any
from zlib import crc32

from wireproof.fuzz.edges.counters import SIZE, VARIABLE

__all__ = ["EdgeTracer", "counters_of_environment"]

MOST = 255
SPREAD = 0x9E5
"""An odd factor, so that pairs of neighbouring lines get different numbers."""


def counters_of_environment() -> mmap.mmap | None:
    """Return the counters of the file that `WIREPROOF_COVERAGE` names; None without one. Raises `OSError`."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), SIZE)


class EdgeTracer:
    """Counts edges while it is started; numbers of edges are the same in every process."""

    def __init__(self, counters: MutableSequence[int] | mmap.mmap, folders: Collection[str]) -> None:
        """`counters` holds `SIZE` numbers from 0 to 255; `folders` are paths of folders or files to count in."""
        self._counters = counters
        self._folders = tuple(os.path.join(one, "") if os.path.isdir(one) else one for one in folders)
        self._bases: dict[CodeType, int | None] = {}
        self._last: dict[tuple[int, CodeType], int] = {}

    def start(self) -> None:
        """Count from now on, in new threads, too."""
        if sys.version_info >= (3, 12):
            self._monitor()
        else:
            threading.settrace(self._called)
            sys.settrace(self._called)

    def stop(self) -> None:
        """Count no more."""
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            monitoring.set_events(monitoring.COVERAGE_ID, 0)
            monitoring.free_tool_id(monitoring.COVERAGE_ID)
        else:
            sys.settrace(None)
            threading.settrace(None)

    def _base(self, code: CodeType) -> int | None:
        """Return the number of a function; None if its edges are not counted."""
        if code not in self._bases:
            counts = code.co_filename.startswith(self._folders)
            name = f"{os.path.basename(code.co_filename)} {code.co_qualname} {code.co_firstlineno}"
            self._bases[code] = crc32(name.encode()) if counts else None
        return self._bases[code]

    def _count(self, base: int, before: int, line: int) -> None:
        at = (base ^ before * SPREAD ^ line) % SIZE
        if (count := self._counters[at]) < MOST:
            self._counters[at] = count + 1

    def _called(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        """Begin a call, or the next part of a generator."""
        base = self._base(frame.f_code)
        if base is None:
            return None
        before, count = 0, self._count

        def local(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            nonlocal before
            if event == "line":
                count(base, before, frame.f_lineno)
                before = frame.f_lineno
            return local

        return local

    def _monitor(self) -> None:
        monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        tool, events = monitoring.COVERAGE_ID, monitoring.events
        monitoring.use_tool_id(tool, "wireproof")
        monitoring.register_callback(tool, events.PY_START, self._started)
        monitoring.register_callback(tool, events.PY_RESUME, self._started)
        monitoring.register_callback(tool, events.LINE, self._line)
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.LINE)

    def _started(self, code: CodeType, offset: int) -> object:
        if self._base(code) is None:
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        self._last[threading.get_ident(), code] = 0
        return None

    def _line(self, code: CodeType, line: int) -> object:
        base, key = self._base(code), (threading.get_ident(), code)
        if base is None:
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        self._count(base, self._last.get(key, 0), line)
        self._last[key] = line
        return None
