"""The TTL scheduler beside heapq with lazy deletion and asyncio's call_at: `python -m tests.bench.bench_scheduler`.

Records get an instant spread over `--span` seconds, are all moved, half are cancelled, the rest expires; each contender
does so in a process of its own. Figures are CPU ns for each operation (a busy machine blurs them less), bytes held for
each record beyond the record and its instant (as `tracemalloc` counts, above a million records as the process grows),
the longest single step in ms of CPU: the longest 32 calls in a row, or one turn of the event loop, and the most memory
that the process had, records and instants included. The cyclic garbage collector is off for all, as a server with a
million records would have it frozen. A peer expires a million records at most, the first due; the line below the table
tells. A contender that needs more memory than the machine has to spare says how far it came.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import resource
import selectors
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any, Protocol

import psutil
from rich.console import Console
from rich.table import Table

from wireproof.reference_server.clock import Timer
from wireproof.reference_server.scheduler import Bucket, Scheduler

SECOND = 1_000_000_000
BURST = 100_000
SLICE = 4096
CALLS = 32
"""Calls between two looks at the clock, which costs as much as a call."""
SPARE = 1 << 30
"""Bytes of memory left to everybody else."""
MOST_TRACED = 1_000_000
MOST_EXPIRED = 1_000_000
"""Records that a peer expires at most."""
COLUMNS = ["insert", "reschedule", "cancel", "expire", "bytes", "worst call", "worst turn", "burst turn", "peak MB"]
EXACT = ("worst call", "worst turn", "burst turn")


class Record:
    """What is scheduled."""

    __slots__ = ("bucket", "due", "entry")

    def __init__(self) -> None:
        self.bucket: Bucket | None = None
        self.due = 0
        self.entry: Any = None


class Contender(Protocol):
    """One way to keep instants; `schedule` also moves."""

    delivered: int

    def schedule(self, item: Record, when_ns: int) -> None: ...
    def cancel(self, item: Record) -> None: ...
    def turns(self, until_ns: int) -> Iterator[None]:
        """Deliver everything up to an instant, one turn of an event loop at a time."""


@dataclass
class Armed:
    """The one timer; a later `call_at` replaces it."""

    when_ns: int
    callback: Callable[[], object]

    def cancel(self) -> None:
        pass


class Wireproof:
    """The scheduler, on a clock that jumps at once and then runs in real time."""

    def __init__(self) -> None:
        self.delivered, self.jump_ns = 0, 0
        self.armed: Armed | None = None
        scheduler = Scheduler[Record](self, self.on_due)
        self.schedule, self.cancel = scheduler.schedule, scheduler.cancel

    def on_due(self, item: Record) -> None:
        self.delivered += 1

    def monotonic_ns(self) -> int:
        return time.monotonic_ns() + self.jump_ns

    def wall_ns(self) -> int:
        return time.time_ns()

    def call_at(self, when_ns: int, callback: Callable[[], object]) -> Timer:
        self.armed = timer = Armed(when_ns, callback)
        return timer

    def turns(self, until_ns: int) -> Iterator[None]:
        self.jump_ns = until_ns + SECOND - time.monotonic_ns()
        while self.armed and self.armed.when_ns <= self.monotonic_ns():
            timer, self.armed = self.armed, None
            timer.callback()
            yield


class LazyHeap:
    """heapq as everybody writes it: entries [when, order, item], struck out when they move, rebuilt when half are."""

    def __init__(self) -> None:
        self.heap: list[list[Any]] = []
        self.order = self.struck = self.delivered = 0

    def schedule(self, item: Record, when_ns: int) -> None:
        if item.entry is not None:
            self.cancel(item)
        self.order += 1
        item.due = when_ns
        item.entry = entry = [when_ns, self.order, item]
        heappush(self.heap, entry)

    def cancel(self, item: Record) -> None:
        item.entry[2] = item.entry = None
        self.struck += 1
        if self.struck > 64 and self.struck * 2 > len(self.heap):
            self.heap = [entry for entry in self.heap if entry[2] is not None]
            heapify(self.heap)
            self.struck = 0

    def on_due(self, item: Record) -> None:
        self.delivered += 1

    def turns(self, until_ns: int) -> Iterator[None]:
        while self.heap and self.heap[0][0] <= until_ns:
            for _ in range(SLICE):
                if not self.heap or self.heap[0][0] > until_ns:
                    break
                item = heappop(self.heap)[2]
                if item is not None:
                    item.entry = None
                    self.on_due(item)
            yield


class CallAt(asyncio.SelectorEventLoop):
    """A TimerHandle for each record, on a loop whose time jumps past every instant at once."""

    def __init__(self) -> None:
        self.now, self.delivered = 0.0, 0
        super().__init__(selectors.DefaultSelector())

    def time(self) -> float:
        return self.now

    def schedule(self, item: Record, when_ns: int) -> None:
        if item.entry is not None:
            item.entry.cancel()
        item.entry = self.call_at(when_ns / SECOND, self.on_due, item)

    def cancel(self, item: Record) -> None:
        item.entry.cancel()
        item.entry = None

    def on_due(self, item: Record) -> None:
        item.entry = None
        self.delivered += 1

    def turns(self, until_ns: int) -> Iterator[None]:
        self.call_soon(self.stop)
        self.run_forever()
        yield
        self.now = until_ns / SECOND
        while self._ready or (self._scheduled and self._scheduled[0].when() <= self.now):  # type: ignore[attr-defined]
            self.call_soon(self.stop)
            self.run_forever()
            yield


CONTENDERS: dict[str, Callable[[], Contender]] = {"wireproof": Wireproof, "heapq, lazy": LazyHeap, "call_at": CallAt}
OURS = "wireproof"


def instants(size: int, span_s: int, seed: int) -> list[int]:
    draw, span_ns, start = Random(seed).random, span_s * SECOND, time.monotonic_ns() + 60 * SECOND
    return [start + int(draw() * span_ns) for _ in range(size)]


class Stopwatch:
    """CPU time of this thread in all and in the longest step: being preempted does not count."""

    def __init__(self) -> None:
        self.total_ns = self.longest_ns = 0

    def time(self, step: Callable[[], object]) -> None:
        before = time.thread_time_ns()
        step()
        took = time.thread_time_ns() - before
        self.total_ns += took
        self.longest_ns = max(self.longest_ns, took)

    @property
    def longest_ms(self) -> float:
        return self.longest_ns / 1e6


def calls(call: Callable[..., None], *columns: Sequence[Any]) -> Stopwatch:
    """Time `call(*row)` for all rows, a few at a time."""
    watch = Stopwatch()
    for start in range(0, len(columns[0]), CALLS):
        rows = list(zip(*[column[start : start + CALLS] for column in columns], strict=True))

        def some(rows: list[tuple[Any, ...]] = rows) -> None:
            for row in rows:
                call(*row)

        watch.time(some)
    return watch


def turns(contender: Contender, until_ns: int) -> Stopwatch:
    """Time each turn."""
    watch, steps, going = Stopwatch(), contender.turns(until_ns), True

    def turn() -> None:
        nonlocal going
        going = next(steps, steps) is not steps

    while going:
        watch.time(turn)
    return watch


def resident() -> int:
    return int(psutil.Process().memory_info().rss)


def peak() -> int:
    """The most bytes that this process had resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@dataclass(frozen=True)
class Row:
    """One row of the table: figures in the order of COLUMNS, and how many records expired."""

    figures: list[float]
    expired: int


@dataclass(frozen=True)
class NotHeld:
    """Why there is no row: the machine had not enough memory."""

    detail: str


def attempt(name: str, size: int, span_s: int, room: int) -> Row | NotHeld:
    """Measure in a process that may take `room` bytes more than it has."""
    limit = psutil.Process().memory_info().vms + room
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    try:
        return measure(name, size, span_s)
    except MemoryError:
        return NotHeld(f"needs more than the {room / 1e6:,.0f} MB to spare; had {peak() / 1e6:,.0f} MB resident")


def measure(name: str, size: int, span_s: int) -> Row:
    """Measure one contender with so many records."""
    gc.disable()
    contender, items = CONTENDERS[name](), [Record() for _ in range(size)]
    first, second = instants(size, span_s, 1), instants(size, span_s, 2)
    before = resident()
    inserted = calls(contender.schedule, items, first)
    grown = (resident() - before) / size
    moved = calls(contender.schedule, items, second)
    cancelled = calls(contender.cancel, items[::2])
    dues = second[1::2]
    expected = len(dues) if name == OURS else min(len(dues), MOST_EXPIRED)
    expired = turns(contender, sorted(dues)[expected - 1])
    assert contender.delivered == expected, (contender.delivered, expected)
    most = peak()
    each = (inserted, size), (moved, size), (cancelled, size - len(dues)), (expired, expected)
    row = [watch.total_ns / count for watch, count in each]
    row += [bytes_each(name, size, span_s) if size <= MOST_TRACED else grown]
    row += [max(watch.longest_ms for watch in (inserted, moved, cancelled)), expired.longest_ms, burst(name).longest_ms]
    return Row([*row, most / 1e6], expected)


def burst(name: str) -> Stopwatch:
    """The turns while 100,000 records expire in one instant."""
    contender, when = CONTENDERS[name](), time.monotonic_ns() + 60 * SECOND
    for _ in range(BURST):
        contender.schedule(Record(), when)
    return turns(contender, when)


def bytes_each(name: str, size: int, span_s: int) -> float:
    contender, items, whens = CONTENDERS[name](), [Record() for _ in range(size)], instants(size, span_s, 1)
    tracemalloc.start()
    try:
        for item, when in zip(items, whens, strict=True):
            contender.schedule(item, when)
        return tracemalloc.get_traced_memory()[0] / size
    finally:
        tracemalloc.stop()


def alone(name: str, size: int, span_s: int, room: int | None = None) -> Row | NotHeld:
    """Measure in a process of its own, whose memory is free again afterwards."""
    room = psutil.virtual_memory().available - SPARE if room is None else room
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        try:
            return process.submit(attempt, name, size, span_s, room).result()
        except BrokenProcessPool:
            return NotHeld(f"was ended from outside, with {room / 1e6:,.0f} MB to spare for it at its beginning")


def table_of(size: int, span_s: int, found: dict[str, Row | NotHeld]) -> Table:
    """Return the table of one size; ratios are to the first that was measured."""
    rows = {name: one for name, one in found.items() if isinstance(one, Row)}
    detail = [f"{name} {one.detail}" for name, one in found.items() if isinstance(one, NotHeld)]
    expired = ", ".join(f"{name} {one.expired:,}" for name, one in rows.items())
    table = Table(title=f"{size:,} records over {span_s} s: ns, bytes, ms (and ratio to the first)")
    table.caption = "; ".join([f"expired: {expired}", *detail])
    for column in ["", *COLUMNS]:
        table.add_column(column, justify="right")
    base = next(iter(rows.values())).figures if rows else []
    for name, one in found.items():
        table.add_row(name, *(_cells(one.figures, base) if isinstance(one, Row) else ["not held"]))
    return table


def _cells(figures: list[float], base: list[float]) -> list[str]:
    cells = [f"{a:,.2f}" if column in EXACT else f"{a:,.0f}" for column, a in zip(COLUMNS, figures, strict=True)]
    ratios = [f" ({a / b:.1f})" if figures is not base else "" for a, b in zip(figures, base, strict=True)]
    return [cell + ratio for cell, ratio in zip(cells, ratios, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--span", type=int, default=3600, help="seconds the instants are spread over")
    parser.add_argument("--contenders", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    options = parser.parse_args()
    for size in options.sizes:
        found = {name: alone(name, size, options.span) for name in options.contenders}
        Console(width=180).print(table_of(size, options.span, found))


if __name__ == "__main__":
    main()
