"""Mutants that let some wait for others, and the sessions that send late or in pieces."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.connections import shown
from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_answer, with_handler
from wireproof.mutants.throttr.server.survival import Waiting, World, waiting
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.requests import Publish, Set, Update
from wireproof.reference_server.throttr.records import Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["MUTANTS"]

MS = 1_000_000


class SplitSession(ThrottrSession):
    """Writes each byte by itself, up to 256 of every write: far more would take a loopback seconds."""

    def __init__(self, state: Any, dispatch: Any, peer: Any, write: Any, close: Any) -> None:
        self._bytewise = write
        super().__init__(state, dispatch, peer, self._split, close)

    def _split(self, data: bytes) -> None:
        for at in range(min(256, len(data))):
            self._bytewise(data[at : at + 1])
        if data[256:]:
            self._bytewise(data[256:])


class LateSession(ThrottrSession):
    """Writes `late_ns` after it could, and `pieces` pieces of each write with that much time between them."""

    late_ns, pieces = 5 * MS, 1

    def __init__(self, state: Any, dispatch: Any, peer: Any, write: Any, close: Any) -> None:
        self._out, self._shut = write, close
        self._due: list[bytes] = []
        self._ends = self._armed = False
        super().__init__(state, dispatch, peer, self._later, self._close_later)

    def _later(self, data: bytes) -> None:
        size = -(-len(data) // self.pieces)
        self._due += [data[at : at + size] for at in range(0, len(data), size or 1)]
        self._arm()

    def _arm(self) -> None:
        if not self._armed and (self._due or self._ends):
            self._armed = True
            clock = self._state.clock
            clock.call_at(clock.monotonic_ns() + self.late_ns, self._send)

    def _send(self) -> None:
        self._armed = False
        if self._due:
            self._out(self._taken())
        if self._ends and not self._due:
            self._ends = False
            self._shut()
        self._arm()

    def _taken(self) -> bytes:
        return self._due.pop(0)

    def _close_later(self) -> None:
        self._ends = True
        self._arm()

    def end(self) -> None:
        self._ends = not self.closed
        super().end()

    def connection_lost(self) -> None:
        super().connection_lost()
        if not self._ends:
            self._due.clear()


class SlowSession(LateSession):
    """Takes 200 ms for what it answers to each segment."""

    late_ns = 200 * MS


class HalvedSession(LateSession):
    """Writes everything in two pieces."""

    late_ns, pieces = 3 * MS, 2


class TogetherSession(LateSession):
    """Gathers what it writes within 20 ms."""

    late_ns = 20 * MS

    def _taken(self) -> bytes:
        data = b"".join(self._due)
        self._due.clear()
        return data


class LatePushSession(ThrottrSession):
    """Writes pushes 20 ms later than it could."""

    _armed = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._late: list[bytes] = []

    def flush(self) -> None:
        self._late += self._pushes
        self._pushes.clear()
        if self._late and not self._armed and not self.closed:
            self._armed = True
            clock = self._state.clock
            clock.call_at(clock.monotonic_ns() + 20 * MS, self._flush_late)

    def _flush_late(self) -> None:
        self._armed = False
        if not self.closed:
            self._pushes[:0] = self._late
            self._late.clear()
            super().flush()


MANY = 100
"""Pushes that a subscriber may have waiting, with some."""


class _Skipped(ThrottrSession):
    """Misses what is pushed while many pushes wait."""

    def push(self, frame: bytes, size: int) -> None:
        if len(self._pushes) < MANY + 20:
            super().push(frame, size)


class _Throttled(ThrottrSession):
    """Counts the pushes since its client last asked anything."""

    unasked = 0
    held: list[bytes] | None = None

    def push(self, frame: bytes, size: int) -> None:
        self.unasked += 1
        super().push(frame, size)

    def data_received(self, data: bytes) -> None:
        if self.held is not None:
            self.held.append(data)
            return
        self.unasked = 0
        super().data_received(data)


def _waits_for_subscribers(answer: bytes, ask: Ask) -> bytes:
    """Hear nothing more of a publisher whose subscriber has many pushes waiting, and do not answer it."""
    subscribers = [one.session for one in ask.state.channels.of(ask.request.channel)]
    if any(isinstance(one, _Throttled) and one.unasked > MANY for one in subscribers):
        assert isinstance(ask.session, _Throttled)
        ask.session.held = []
        return b""
    return answer


class _SlowToRemove(Store):
    """Takes 20 ms to remove a record that has expired."""

    world: World

    def remove(self, record: Record) -> None:
        now = self.world.clock.monotonic_ns()
        if record.due <= now:
            self.world.busy_until = max(self.world.busy_until, now) + 20_000_000
        super().remove(record)


class _SlowWorld(World):
    """Whoever expires keeps the server busy."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        store = _SlowToRemove(self.clock)
        store.world = self
        self.store = store


class _LeavesOneInSixteen(State):
    """Every sixteenth connection that goes stays listed."""

    gone = 0

    def forget(self, session: ThrottrSession) -> None:
        super().forget(session)
        self.gone += 1
        if self.gone % 16 == 0:
            self.sessions[session.id] = session


def _from_a_copy(correct: Handler, state: State) -> Handler:
    """Let each connection count from a copy of its own, whatever others made of the quota."""
    known: dict[tuple[bytes, bytes], int] = {}
    first: dict[bytes, int] = {}

    def handle(request: Update, session: ThrottrSession, now: int) -> bytes:
        record = state.store.find(request.key, now)
        if request.attribute != Attribute.QUOTA or request.change == Change.PATCH or record is None:
            return correct(request, session, now)
        place = session.id, request.key
        if isinstance(record, Counter):
            record.quota = known.get(place, first.setdefault(request.key, record.quota))
        answer = correct(request, session, now)
        if isinstance(record, Counter):
            known[place] = record.quota
        return answer

    return handle


def _with_leftovers(correct: Handler, state: State) -> Handler:
    """Store a value shorter than the last one under its key with the end of that one."""
    last: dict[bytes, bytes] = {}

    def handle(request: Set, session: ThrottrSession, now: int) -> bytes:
        before = last.get(request.key, b"")
        last[request.key] = request.value
        value = request.value + (before[len(request.value) :] if len(before) > 240 else b"")
        return correct(changed(request, value=value), session, now)

    return handle


def _padded(request: Publish, ask: Ask) -> Any:
    """Publish the end of the last payload behind a shorter one."""
    before = getattr(ask.state, "payload", b"")
    setattr(ask.state, "payload", request.payload)  # noqa: B010
    left = before[1:] if 240 < len(before) < 300 and len(request.payload) == 1 else b""
    return changed(request, payload=request.payload + left)


def _long_answers(session: Any, data: bytes) -> float:
    """Return seconds: 10 ms for each INFO of many in one segment."""
    return len(data) * 0.01 if len(data) > 500 and set(data) == {0x08} else 0.0


# fmt: off
FAIRNESS_MUTANTS = (
    mutant("subscriber-behind-is-skipped", "A subscriber with 120 pushes waiting misses the next ones.", "ROBUSTNESS-15", "PUSH-4", "SUBSCRIBE-5",
           session=_Skipped),
    mutant("publisher-waits-for-subscribers", "A publisher is not answered while a subscriber has 100 pushes to take.", "ROBUSTNESS-16",
           "ROBUSTNESS-5", session=_Throttled, handlers=with_answer(Publish, _waits_for_subscribers)),
    mutant("long-answers-hold-up-everybody", "While many INFO are answered nobody else is served.", "ROBUSTNESS-17", "ROBUSTNESS-19",
           **waiting(_long_answers)),
    mutant("expiry-holds-up-everybody", "Removing an expired record takes 20 ms in which nobody is served.", "ROBUSTNESS-20", state=_SlowWorld,
           session=Waiting),
    mutant("address-with-leftovers", "Behind IP stand bytes left from elsewhere.", "ROBUSTNESS-18",
           handlers=shown(ip=lambda row, ask: row.ip[:-1] + b"\xc3")),
    mutant("value-with-leftovers", "A value after a long one under its key ends as that one did.", "ROBUSTNESS-18", "SET-8",
           handlers=with_handler(Set, _with_leftovers)),
    mutant("one-in-sixteen-stays-listed", "Every sixteenth connection that goes keeps its row.", "ROBUSTNESS-21", "CONNECTIONS-27", "CONNECTIONS-28",
           "INFO-31", state=_LeavesOneInSixteen),
    mutant("increases-from-a-copy", "Each connection counts from a copy of the quota of its own.", "ROBUSTNESS-22", "CONCURRENCY-1", "CONCURRENCY-2",
           "CONCURRENCY-3", "RECORD-7", handlers=with_handler(Update, _from_a_copy)),
)
# fmt: on


MUTANTS = (*FAIRNESS_MUTANTS,)
