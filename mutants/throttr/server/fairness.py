"""Faults in how a server divides itself: slow subscribers, long answers, many expiries, what is left behind."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.throttr.server.connections import shown
from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_answer, with_handler
from wireproof.mutants.throttr.server.sessions import Waiting, World, waiting
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.requests import Publish, Set, Update
from wireproof.reference_server.throttr.records import Counter, Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["MUTANTS"]

MANY = 100
"""Pushes that a subscriber may have waiting, with some."""


class _Skipped(ThrottrSession):
    """Misses what is pushed while many pushes wait."""

    def push(self, frame: bytes, size: int) -> None:
        """See `ThrottrSession`."""
        if len(self._pushes) < MANY + 20:
            super().push(frame, size)


class _Throttled(ThrottrSession):
    """Counts the pushes since its client last asked anything."""

    unasked = 0
    held: list[bytes] | None = None

    def push(self, frame: bytes, size: int) -> None:
        """See `ThrottrSession`."""
        self.unasked += 1
        super().push(frame, size)

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
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
        """See `Store`."""
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
        """See `State`."""
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
MUTANTS = (
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
)  # fmt: skip
# fmt: on
