"""The sequential model of one key with a clock: a record exists until it is due, and its TTL counts down."""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import Change
from wireproof.protocols.throttr.replies import Status
from wireproof.reference_server.model import Window
from wireproof.reference_server.throttr.model import (
    ABSENT,
    UNITS,
    Due,
    Record,
    State,
    States,
    ThrottrModel,
    changed_ttl,
)

__all__ = ["TimedModel"]

WRAPS = 1 << 63
"""Nanoseconds from which a TTL may wrap where TTL-13 is MAY."""
MUST_COUNT_DOWN = {"7.1.0": False, "7.3.2": True}
"""TTL-11: whether a returned TTL must count down, or may stay as it was given."""
MAY_WRAP = {"7.1.0": False, "7.3.2": True}
"""TTL-13."""


class TimedModel(ThrottrModel):
    """The model at the time `at`; a record within `tolerance_ns` of its expiry may exist or not (T20)."""

    def __init__(self, profile: Profile, variant: str, tolerance_ns: int) -> None:
        super().__init__(profile, variant)
        self.at = Window(0, 0)
        self._tolerance = tolerance_ns
        self._counts_down = MUST_COUNT_DOWN[profile.name]
        self._wraps = MAY_WRAP[profile.name]

    def seen(self, state: State) -> States:
        """Return the states that a request may find; a record with an open expiry may exist or not."""
        if state is None:
            return (ABSENT,)
        if state.due is None:
            return (state, ABSENT)
        if state.due.first - self._tolerance > self.at.until:
            return (state,)
        return (ABSENT,) if state.due.last + self._tolerance <= self.at.since else (state, ABSENT)

    def step(self, state: Hashable, request: Request, reply: Message | None) -> States:
        """Return the possible states; a record close to its expiry may be refused now and found later."""
        found = super().step(state, request, reply)
        nearly = isinstance(state, Record) and state.due is not None and len(self.seen(state)) > 1
        if nearly and ABSENT in found and isinstance(reply, Status) and not reply.ok:
            return tuple(dict.fromkeys((*found, cast(State, state))))
        return found

    def _made(self, is_counter: bool, content: int | bytes, ttl_type: int, ttl: int) -> States:
        return (Record(is_counter, content, ttl_type, ttl, self._due_in(ttl_type, ttl)),)

    def _moved(self, state: Record, change: Change, value: int) -> State:
        then = changed_ttl(state, change, value)
        if change == Change.PATCH:
            return then._replace(due=self._due_in(state.ttl_type, value))
        if state.due is None or state.ttl_type not in UNITS:
            return then._replace(due=None)
        span = value * UNITS[state.ttl_type] * (1 if change == Change.INCREASE else -1)
        open_ = self._wraps and abs(span) >= WRAPS
        return then._replace(due=None if open_ else Due(state.due.first + span, state.due.last + span))

    def _due_in(self, ttl_type: int, ttl: int) -> Due | None:
        """Return the expiry of a record with this TTL from now; None for types outside their table (T17)."""
        span = ttl * UNITS.get(ttl_type, 0)
        if ttl_type not in UNITS or (self._wraps and span >= WRAPS):
            return None
        return Due(self.at.since + span, self.at.until + span)

    def _may_read(self, state: Record, ttl: int) -> bool:
        """Return whether a TTL is possible: rounded either way, at most the given one (TTL-11, TTL-12, WIDTH-13)."""
        if state.due is None or state.ttl is None or state.ttl > self._max:
            return True
        unit = UNITS[state.ttl_type]
        least = (state.due.first - self.at.until - self._tolerance) // unit
        most = -((self.at.since - self._tolerance - state.due.last) // unit)
        most = min(most, state.ttl) if self._counts_down else state.ttl
        return max(least, 0) <= ttl <= max(most, 0)
