"""The input of the scheduler's fuzz target: tick, slice size, then operations of a few bytes each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import chain

from wireproof.fuzz.input_description import InputDescription
from wireproof.fuzz.invariants.ending import ending
from wireproof.fuzz.invariants.scheduler_invariants import RECORDS, SLICE_NS, ScheduleCheck, small_steps
from wireproof.protocols import protocol

__all__ = ["check", "described", "seeds"]

TICKS = (1, 2, 5, 16, 1000, 1 << 20)
CANCEL = 0xFF
CROWD = 0xD0
"""From it on, the byte that chooses a record chooses all: at one instant, or one nanosecond apart."""
MULTITUDE = 0xF8
"""From it on, hundreds of others are scheduled, and most of them cancelled; between slices, the scheduler is closed."""
LEFT = 16
"""So many of them, at least, are left at first, and half of these are delivered."""
WORK = 0x80
"""From it on, the byte of the slice says that a delivery takes time."""
BOUNDARY = 0xE0
"""From it on, the byte of a delay means one of the next ends of a tick or a span, or an instant next to it."""
EDGES = (0, 1, -1, 1023, 1024, 2048, 1 << 26, (1 << 64) * 3_600_000_000_000)


class _Bytes:
    """Reads numbers from bytes; zeros after the end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self.place: Callable[[], tuple[int, int, int]] = lambda: (0, 1, 1)
        """Returns the present instant, and the nanoseconds of a tick and of a span."""

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def delay(self) -> int:
        """Return a delay in ns: a boundary value, the end of a tick or span, or up to 2^40; it may be a little past."""
        kind = self.byte()
        if kind < len(EDGES):
            return EDGES[kind]
        if kind >= BOUNDARY:
            now, *sizes = self.place()
            low = kind - BOUNDARY
            size = sizes[1 - low % 2]
            return (now // size + 1 + low // 2 % 4) * size + (0, 1, -1, 2)[low // 8] - now
        return (self.byte() + 256 * self.byte() << kind % 25) - kind % 7

    def delay_or_cancel(self) -> int | None:
        """Return a delay in ns, or None to cancel."""
        return None if self._data[self._at : self._at + 1] == bytes([CANCEL]) and self.byte() else self.delay()


def check(data: bytes) -> None:
    """Apply the operations in `data` to the scheduler and to its model. Raises `InvariantError`."""
    _run(data, [])


def _run(data: bytes, done: list[str]) -> None:
    """Apply the operations; `done` gets a line for each."""
    source = _Bytes(data)
    tick, pace = TICKS[source.byte() % len(TICKS)], source.byte()
    items, work = 1 + pace % 9, SLICE_NS // 2 if pace >= WORK else 0
    with small_steps():
        found = ScheduleCheck(tick=tick, items=items, start=source.byte() * 13, work=work)
        source.place = lambda: (found.clock.monotonic_ns(), found.tick, found.span)
        takes = f", a delivery takes {work} ns" if work else ""
        done.append(f"ticks of {tick} ns, {items} items a slice{takes}, now {found.clock.monotonic_ns()} ns")
        while source:
            _step(found, source, done)
        done.append(f"{4 * max(TICKS)} ns pass")
        found.advance(4 * max(TICKS))


def _step(found: ScheduleCheck, source: _Bytes, done: list[str]) -> None:
    kind = source.byte() % 8
    if kind < 3:
        which, delay = source.byte(), source.delay_or_cancel()
        if which >= MULTITUDE and delay is not None:
            done.append(f"hundreds are due in {delay} ns, and most are cancelled")
            found.crowd(delay, LEFT + which % 8)
            return
        for number, one in enumerate(range(RECORDS) if which >= CROWD else [which]):
            due = delay if delay is None else delay + number * (which & 1)
            done.append(_wording(one, due))
            found.apply(one, due)
    elif kind == 3:
        which, other, delay = source.byte(), source.byte(), source.delay_or_cancel()
        done.append(f"when r{which % RECORDS} is delivered, {_wording(other, delay)}")
        found.when_due(which, other, delay)
    elif kind == 4:
        which, delay, at, hops = source.byte(), source.delay_or_cancel(), max(0, source.delay()), source.byte() % 7
        if which >= MULTITUDE:
            done.append(f"in {at} ns and {hops} turns of the loop, the scheduler is closed")
            found.close_between_slices(at, hops)
            return
        done.append(f"in {at} ns and {hops} turns of the loop, {_wording(which, delay)}")
        found.between_slices(which, delay, at, hops)
    else:
        ns = max(0, source.delay())
        done.append(f"{ns} ns pass")
        found.advance(ns)
    found.compare()


def _wording(which: int, delay: int | None) -> str:
    name = f"r{which % RECORDS}"
    return f"{name} is cancelled" if delay is None else f"{name} is due in {delay} ns"


def described(name: str, data: bytes) -> InputDescription:
    """Return the operations of an input up to the one that breaks something, as text."""
    done: list[str] = []
    with suppress(Exception), ending():
        _run(data, done)
    spoken = protocol(name)
    return InputDescription(spoken.default_profile, spoken.default_variant, tuple(done))


def seeds() -> list[bytes]:
    """Return the first inputs: each operation at each boundary value."""
    edges = range(len(EDGES))
    found = [bytes([tick, 1, 0]) for tick in range(len(TICKS))]
    found += [bytes([2, 0, 0, 0, 1, edge, 0, 2, edge, 5, edge, 5, 1]) for edge in edges]
    found += [bytes([1, 0, 9, 0, 1, 0, 0, 1, CANCEL, 3, 2, 1, edge, 4, 2, edge, 0, 3, 5, 6]) for edge in edges]
    # Records scheduled after a span was split: instants a few ns apart, filed by tick.
    found += [
        bytes([tick, 8, 0, 0, 0, 4, 5, 5, 0, 1, 25, 9, 0, 0, 2, 25, 12, 0, 5, 25, near, 0, 5, 25, 20, 0])
        for tick in range(len(TICKS))
        for near in (5, 6, 13)
    ]
    # All records at once, in small slices: near, far, and moved while they are delivered.
    found += [
        bytes([tick, items, 0, 0, crowd, edge, 5, at, 0, 3, CANCEL, 4, 5, 4, at, 2, 5, edge, 5, 5, 5, 6])
        for tick in (0, 2, 4)
        for items in (0, 1, 4)
        for crowd in (CROWD, CROWD + 1)
        for edge in (1, 3, 4, 5, 6)
        for at in (0, 3, 4)
    ]
    # Many spans that are emptied again: their tables shrink.
    for tick in range(len(TICKS)):
        far = [[0, at % 12, 12 + at % 14, at & 0xFF, 1 + at % 5, 0, at % 12, CANCEL] for at in range(60)]
        found.append(bytes([tick, 3, 0, *(byte for one in far for byte in one), 5, 2]))
    # Many records that are cancelled again: the bucket shrinks.
    found += [bytes([tick, 3, 0, 0, MULTITUDE + edge, edge, 5, 2]) for tick in range(len(TICKS)) for edge in edges]
    # A span that gets more records while it is split, earlier and later ones of the same ticks.
    found += [
        bytes([tick, 0, 0, 0, 0, far, 1, 0, 0, 1, far, 3, 0, 4, 2, far, which, 0, far - 1, at, 0, hops, 5, far, 9, 0])
        for tick in (0, 2, 4)
        for far in (10, 12, 14)
        for which in (0, 2, 4)
        for at in (0, 1, 2, 4)
        for hops in (1, 2, 3)
    ]
    return found + _seeds_between_slices() + _seeds_of_boundaries()


def _seeds_between_slices() -> list[bytes]:
    """Return inputs that act on a scheduler while it splits a span."""
    # A scheduler that is closed while a span is split.
    closed = [
        bytes([tick, 0, 0, 0, CROWD, 4, 4, MULTITUDE, 0, at, hops, 5, 5, 5, 5])
        for tick in (0, 2, 4)
        for at in (0, 3, 4)
        for hops in (1, 2, 3, 5)
    ]
    # Operations while a span is being split, one record at a time.
    acted_on = [
        bytes([tick, 0, 0, 0, 0, 4, 0, 1, 4, 0, 2, 4, 4, 3, 4, at, hops, 5, 5, 5, 5])
        for tick in (0, 2, 4)
        for at in (0, 3, 4)
        for hops in (1, 2, 3)
    ]
    return closed + acted_on


def _seeds_of_boundaries() -> list[bytes]:
    """Return inputs about the ends of ticks and spans, and with deliveries that take time."""
    # Equal instants where a span ends, one asked for before the span ahead of it is split, the other one after that.
    met = [
        bytes(
            [tick, 3, start, 0, 0, BOUNDARY, *(0, 1, BOUNDARY + 2 + beside), 5, 0, *(0, 2, BOUNDARY + 2 + beside), 5, 5]
        )
        for tick in range(len(TICKS))
        for start in (0, 1)
        for beside in (0, 8, 16)
    ]
    # An instant at the end of a tick, and next to it.
    ends = [
        bytes([tick, pace, start, 0, 1, BOUNDARY + end, 5, BOUNDARY + end, 5, BOUNDARY + 1])
        for tick in range(len(TICKS))
        for pace in (3, WORK + 1)
        for start in (0, 1)
        for end in (1, 3, 9, 17, 25)
    ]
    # A timer that is armed, and a record that is due a nanosecond earlier, or one after the scheduler was closed.
    ends += [bytes([0, 3, 0, 0, 0, BOUNDARY, 5, 0, 0, 1, 3, 5, 5])]
    ends += [bytes([tick, 3, 0, 0, 0, 6, 4, MULTITUDE, 0, 0, 0, 5, 0, 0, 1, 5, 5, 5]) for tick in range(len(TICKS))]
    # All at one instant, in slices that end by time.
    slow = [
        bytes([tick, WORK, 0, 0, CROWD, edge, 5, edge, 5, 6]) for tick in range(len(TICKS)) for edge in (0, 3, 4, 5)
    ]
    return met + ends + slow + _seeds_of_spans()


def _seeds_of_spans() -> list[bytes]:
    """Return inputs about spans that get records while they are split, or lose theirs."""
    # Records asked for at one instant, one after the other, while a span is split, and split again.
    first = [0, 0, BOUNDARY + 2, 0, 1, BOUNDARY + 2, 0, 2, BOUNDARY + 2]
    twice = [
        bytes([tick, 0, 0, *first, *(4, 6, one, BOUNDARY, at), *(4, 7, one, BOUNDARY, at), 4, 8, one, BOUNDARY, later])
        + bytes([5, BOUNDARY, 5, 5, 5, 5])
        for tick, one in ((0, 4), (1, 5))
        for at in range(4)
        for later in range(at + 1, 7)
    ]
    # After a rest, records that are due at once, and an earlier one while their span is split.
    rested = [
        bytes([tick, 0, 0, 5, 4, 5, 1, 0, 0, 0, 0, 1, 0, 0, 2, 0, 4, 3, 2, 0, hops, 5, 0])
        for tick in (0, 1, 4)
        for hops in range(6)
    ]
    # A later span, an earlier one, and many that are emptied again.
    churned = [[0, 2, 12 + at % 12, 1 + at, 1 + at % 5, 0, 2, CANCEL] for at in range(40)]
    orders = [
        bytes([tick, 3, 0, 0, 0, 24, 255, 255, 0, 1, BOUNDARY + 6, *chain.from_iterable(churned), 5, BOUNDARY + 6])
        for tick in (0, 2, 4)
    ]
    # Records in a span that is opened while the next one is split, some of them before that split is over.
    opened = [
        bytes([tick, 0, 0, *first, *(4, 0, 0, BOUNDARY, 0), *(4, 7, one, BOUNDARY, 0), *(4, 8, one, BOUNDARY, hops)])
        for tick, one in ((0, 1), (2, 1), (4, 4))
        for hops in range(1, 6)
    ]
    return twice + rested + orders + opened
