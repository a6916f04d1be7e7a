"""The TTL scheduler beside heapq with lazy deletion and asyncio's call_at: `python -m tests.bench.bench_scheduler`.

Records get an instant spread over `--span` seconds, are all moved, half are cancelled, the rest expires. Figures are
CPU ns for each operation (the process's own time, so a busy machine blurs them less), bytes held for each record
beyond the record and its instant, and the longest single step: one call, or one turn of the event loop, in ms of CPU.
The cyclic garbage collector is off for all, as a server with a million records would have it frozen.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import selectors
import time
import tracemalloc
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table

from reference_server.clock import Timer
from reference_server.scheduler import Bucket, Scheduler

SECOND = 1_000_000_000
BURST = 100_000
SLICE = 4096
MOST_TRACED = 1_000_000
MOST_CALL_AT = 1_000_000
COLUMNS = ["insert", "reschedule", "cancel", "expire", "bytes", "worst call", "worst turn", "burst turn"]


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
    def turns(self) -> Iterator[None]:
        """Deliver everything, one turn of an event loop at a time."""


class Armed:
    """The one timer; a later `call_at` replaces it."""

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback = callback

    def cancel(self) -> None:
        pass


class Wireproof:
    """The scheduler, on a clock that jumps past every instant at once and then runs in real time."""

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
        self.armed = timer = Armed(callback)
        return timer

    def turns(self) -> Iterator[None]:
        self.jump_ns = 1 << 62
        while self.armed:
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

    def turns(self) -> Iterator[None]:
        while self.heap:
            for _ in range(min(SLICE, len(self.heap))):
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

    def turns(self) -> Iterator[None]:
        self.call_soon(self.stop)
        self.run_forever()
        yield
        self.now = float(1 << 40)
        while self._scheduled or self._ready:  # type: ignore[attr-defined]
            self.call_soon(self.stop)
            self.run_forever()
            yield


CONTENDERS: dict[str, Callable[[], Contender]] = {"wireproof": Wireproof, "heapq, lazy": LazyHeap, "call_at": CallAt}


def instants(size: int, span_s: int, seed: int) -> list[int]:
    random, start = Random(seed), time.monotonic_ns() + 60 * SECOND
    return [start + random.randrange(span_s * SECOND) for _ in range(size)]


def cpu_ns(work: Callable[[], object], count: int) -> float:
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / count


def longest_ms(steps: Iterator[object]) -> float:
    """The longest single step, in CPU time of this thread: being preempted does not count."""
    longest, before = 0, time.thread_time_ns()
    for _ in steps:
        now = time.thread_time_ns()
        longest = max(longest, now - before)
        before = time.thread_time_ns()
    return longest / 1e6


def costs(make: Callable[[], Contender], size: int, span_s: int) -> list[float]:
    """ns for insert, reschedule, cancel, expire."""
    contender, items = make(), [Record() for _ in range(size)]
    first, second = instants(size, span_s, 1), instants(size, span_s, 2)

    def schedule(whens: list[int]) -> None:
        call = contender.schedule
        for item, when in zip(items, whens, strict=True):
            call(item, when)

    def cancel() -> None:
        call = contender.cancel
        for item in items[::2]:
            call(item)

    left = size - len(items[::2])
    figures = [
        cpu_ns(lambda: schedule(first), size),
        cpu_ns(lambda: schedule(second), size),
        cpu_ns(cancel, size - left),
        cpu_ns(lambda: list(contender.turns()), left),
    ]
    assert contender.delivered == left
    return figures


def longest_steps(make: Callable[[], Contender], size: int, span_s: int) -> tuple[float, float]:
    """ms of the longest schedule, reschedule or cancel, and of the longest turn while half of the records expire."""
    contender, items = make(), [Record() for _ in range(size)]
    whens = [instants(size, span_s, seed) for seed in (1, 2)]
    calls = longest_ms(contender.schedule(i, w) for ws in whens for i, w in zip(items, ws, strict=True))
    cancels = longest_ms(contender.cancel(item) for item in items[::2])
    return max(calls, cancels), longest_ms(contender.turns())


def longest_burst_turn(make: Callable[[], Contender]) -> float:
    """ms of the longest turn while 100,000 records expire in one instant."""
    contender, when = make(), time.monotonic_ns() + 60 * SECOND
    for _ in range(BURST):
        contender.schedule(Record(), when)
    return longest_ms(contender.turns())


def bytes_each(make: Callable[[], Contender], size: int, span_s: int) -> float:
    contender, items, whens = make(), [Record() for _ in range(size)], instants(size, span_s, 1)
    tracemalloc.start()
    try:
        for item, when in zip(items, whens, strict=True):
            contender.schedule(item, when)
        return tracemalloc.get_traced_memory()[0] / size
    finally:
        tracemalloc.stop()


def measure(make: Callable[[], Contender], size: int, span_s: int) -> list[float]:
    """One row of the table, in the order of COLUMNS."""
    figures = costs(make, size, span_s)
    gc.collect()
    memory = bytes_each(make, size, span_s) if size <= MOST_TRACED else float("nan")
    gc.collect()
    figures += [memory, *longest_steps(make, size, span_s), longest_burst_turn(make)]
    gc.collect()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--span", type=int, default=3600, help="seconds the instants are spread over")
    parser.add_argument("--contenders", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    options = parser.parse_args()
    gc.disable()
    for size in options.sizes:
        table = Table(title=f"{size:,} records over {options.span} s: ns, bytes, ms (and ratio to wireproof)")
        for column in ["", *COLUMNS]:
            table.add_column(column, justify="right")
        ours: list[float] = []
        for name in options.contenders:
            make = CONTENDERS[name]
            if name == "call_at" and size > MOST_CALL_AT:
                continue
            row = measure(make, size, options.span)
            ours = ours or row
            cells = [f"{a:,.0f}" if n < 5 else f"{a:,.2f}" for n, a in enumerate(row)]
            ratios = [f" ({a / b:.1f})" if row is not ours else "" for a, b in zip(row, ours, strict=True)]
            table.add_row(name, *(c + r for c, r in zip(cells, ratios, strict=True)))
        Console(width=160).print(table)


if __name__ == "__main__":
    main()
