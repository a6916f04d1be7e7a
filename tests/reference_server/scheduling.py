"""What the scheduler's tests share: a record, clocks that count or tire, and a note-taker."""

from collections.abc import Callable

from wireproof.reference_server.clock import Timer, VirtualClock
from wireproof.reference_server.scheduler import Bucket

MS = 1_000_000
SECOND = 1000 * MS
HOUR = 3600 * SECOND
TICK = 10 * MS


class Record:
    """What a store keeps, as far as the scheduler is concerned."""

    __slots__ = ("bucket", "due", "name")

    def __init__(self, name: object = None) -> None:
        self.bucket: Bucket | None = None
        self.name, self.due = name, 0


class CountingClock(VirtualClock):
    """A virtual clock that knows how many timers are pending and how many were ever asked for."""

    asked = 0

    def call_at(self, when_ns: int, callback: Callable[[], object]) -> Timer:
        self.asked += 1
        return super().call_at(when_ns, callback)

    @property
    def pending(self) -> int:
        return sum(timer.callback is not None for _, _, timer in self._timers)


class Due(list[tuple[object, int]]):
    """An `on_due` that notes (name, instant of delivery)."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self.clock = clock

    def __call__(self, item: Record) -> None:
        self.append((item.name, self.clock.monotonic_ns()))

    @property
    def names(self) -> list[object]:
        return [name for name, _ in self]


class TiringClock(CountingClock):
    """A virtual clock on which work takes time."""

    spent = 0

    def monotonic_ns(self) -> int:
        return super().monotonic_ns() + self.spent
