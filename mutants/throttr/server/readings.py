"""Legal servers that read an open sentence of the document otherwise than the reference, or refuse what it leaves open.

No MUST or SHOULD case may fail one of them. What the reference does under either profile is legal under the other
wherever the clause says MAY.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import Ask, both, with_answer, with_handler
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.replies import ChannelReply
from wireproof.protocols.throttr.requests import (
    Channel,
    Event,
    Get,
    Insert,
    Publish,
    Purge,
    Query,
    Set,
    Stat,
    Subscribe,
    Unsubscribe,
    Update,
)
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.rules import RULES
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["CONFORMING"]

LATE_NS = 200_000_000
V710, V732 = ("7.1.0",), ("7.3.2",)
Kinds = type[Request] | tuple[type[Request], ...]


def _refusing(kinds: Kinds, where: Callable[[Any, State], bool], answer: bytes = DENIED) -> HandlerPatch:
    """Answer `answer` instead, where a request is so."""

    def make(correct: Handler, state: State) -> Handler:
        return lambda request, session, now: answer if where(request, state) else correct(request, session, now)

    return with_handler(kinds, make)


def _empty_when_nobody(answer: bytes, ask: Ask) -> bytes:
    return ask.state.codec.encode(ChannelReply(())) if answer == DENIED else answer


class _SmallFrames(State):
    """Takes requests of up to 8096 bytes."""

    def __init__(self, profile: Any, variant: str, clock: Any, ids: Any, limits: Any, rules: Any = None) -> None:
        super().__init__(profile, variant, clock, ids, replace(limits, max_frame=8096), rules)


class _OneRefusal(ThrottrSession):
    """Answers one 00 to what it cannot frame, then closes."""

    def _answer_any(self, answers: list[bytes]) -> int:
        size = super()._answer_any(answers)
        if self._deaf or self._ended:
            answers.append(DENIED)
        return size


class _LateStore(Store):
    """Lets go of a record 200 ms after it expired."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._clock = clock

    def add(self, record: Record, due: int) -> None:
        """See `Store`."""
        held = self.records.get(record.key)
        if held is not None:
            super().remove(held)
        super().add(record, due)

    def remove(self, record: Record) -> None:
        """See `Store`."""
        if record.due > self._clock.monotonic_ns():
            super().remove(record)
        else:
            self._clock.call_at(record.due + LATE_NS, lambda: self._let_go(record))

    def _let_go(self, record: Record) -> None:
        if self.records.get(record.key) is record and record.due + LATE_NS <= self._clock.monotonic_ns():
            super().remove(record)


class _LateState(State):
    """Keeps its records in such a store."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.store = _LateStore(self.clock)


def _before_its_end(correct: Handler, state: State) -> Handler:
    """Handle a request about a record that has expired just now as if it had not yet."""

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        record = state.store.records.get(request.key)
        if record is None or not record.due <= now < record.due + LATE_NS:
            return correct(request, session, now)
        state.now = record.due - 1
        answer = correct(request, session, state.now)
        state.now = now
        return answer

    return handle


# fmt: off
_OPEN = (
    mutant("legal-set-overwrites", "SET replaces a live buffer.", profiles=V710, rules={"set_overwrites": True}),
    mutant("legal-query-of-buffers-refused", "QUERY of a buffer is refused.", profiles=V732, rules={"query_finds_buffers": False}),
    mutant("legal-get-of-counters-refused", "GET of a counter is refused.", profiles=V732, rules={"get_finds_counters": False}),
    *(
        mutant(f"legal-{name}-{profile}", description, profiles=(profile,), rules={rule: value})
        for rule, name, readings in (
            ("increase_wraps", "increase", (
                "An INCREASE beyond the width wraps.", "An INCREASE beyond the width is refused.")),
            ("unknown_change_ok", "unknown-change", (
                "An unknown change is accepted.", "An unknown change is refused.")),
            ("deliver_to_publisher", "own-message", (
                "A message is pushed to its publisher, too.", "A message is not pushed to its publisher.")),
            ("duplicate_subscriptions", "subscribed-twice", (
                "Who subscribes twice receives twice.", "Who subscribes twice receives once.")),
            ("totals_live", "totals", ("STAT's totals move each minute.", "STAT's totals are live.")),
            ("channel_names_weigh", "channels-weigh", (
                "Names do not weigh in a CHANNELS fragment.", "Names weigh in a CHANNELS fragment.")),
            ("channel_writes_counted", "channel-writes", (
                "WRITE BYTES of channels are not counted.", "WRITE BYTES of channels are counted.")),
            ("bytes_of_closed_connections", "bytes-of-the-gone", (
                "Bytes of closed connections are forgotten.", "Bytes of closed connections stay counted.")),
            ("bytes_per_minute", "bytes-per-minute", ("No bytes per minute.", "Bytes per minute are counted.")),
        )
        for profile, description, value in (
            ("7.1.0", readings[0], not getattr(RULES["7.1.0"], rule)),
            ("7.3.2", readings[1], not getattr(RULES["7.3.2"], rule)),
        )
    ),
    mutant("legal-unknown-ttl-type-accepted", "TTL types out of the table are seconds.", profiles=V710, rules={"unknown_ttl_type": "seconds"}),
    mutant("legal-unknown-ttl-type-refused", "TTL types out of the table are refused.", profiles=V732, rules={"unknown_ttl_type": "refuse"}),
    mutant("legal-touches-are-reads", "UPDATE, STAT, LIST and STATS count as reads.", profiles=V710, rules={"reads_counted": "touches"}),
    mutant("legal-retrievals-are-reads", "Only QUERY and GET count as reads.", profiles=V732, rules={"reads_counted": "retrievals"}),
    mutant("legal-silent-after-nonsense", "After an unknown type the connection stays open, unheard.", profiles=V710,
           rules={"unknown_type": "silent"}),
    mutant("legal-closes-after-nonsense", "After an unknown type the connection is closed.", profiles=V732, rules={"unknown_type": "close"}),
    mutant("legal-one-00-after-nonsense", "After an unknown type one 00 is answered.", profiles=V732, session=_OneRefusal),
    mutant("legal-published-to-own-channels", "PUBLISHED BYTES counts what went to own channels.", profiles=V710,
           rules={"published_counted": "to own channels"}),
    mutant("legal-published-always", "PUBLISHED BYTES counts everything.", profiles=V732, rules={"published_counted": "always"}),
)  # fmt: skip
# fmt: on
# fmt: off
_REFUSED = (
    mutant("legal-expiry-200-ms-late", "A record answers for 200 ms after it expired.", state=_LateState,
           handlers=with_handler((Query, Get, Stat, Purge), _before_its_end)),
    mutant("legal-empty-names-refused", "Keys and channels of 0 bytes are refused.",
           handlers=both(_refusing((Insert, Query, Set, Get, Purge, Update, Stat), lambda request, state: not request.key), _refusing((Subscribe, Unsubscribe, Publish, Channel), lambda request, state: not request.channel))),
    mutant("legal-empty-values-refused", "Values and payloads of 0 bytes are refused.",
           handlers=both(_refusing(Set, lambda request, state: not request.value), _refusing(Publish, lambda request, state: not request.payload))),
    mutant("legal-maximum-refused", "The largest number of the width is refused.",
           handlers=both(_refusing(Insert, lambda request, state: state.value_max in (request.quota, request.ttl)), _refusing(Set, lambda request, state: request.ttl == state.value_max), _refusing(Update, lambda request, state: request.value == state.value_max))),
    mutant("legal-zero-ttl-refused", "A TTL of 0 is refused by INSERT and SET.",
           handlers=_refusing((Insert, Set), lambda request, state: request.ttl == 0)),
    mutant("legal-events-refused", "EVENT is always answered with 00.", profiles=V732, handlers=_refusing(Event, lambda request, state: True)),
    mutant("legal-frames-of-8096-bytes", "Requests of more than 8096 bytes end their connection.", state=_SmallFrames),
    mutant("legal-unsubscribed-accepted", "UNSUBSCRIBE from a channel not held is answered with 01.",
           handlers=with_answer(Unsubscribe, lambda answer, ask: ACCEPTED)),
    mutant("legal-channel-empty", "CHANNEL of nobody is answered with 01 and no rows.", profiles=V710,
           handlers=with_answer(Channel, _empty_when_nobody)),
)  # fmt: skip
# fmt: on
CONFORMING: tuple[ServerMutant, ...] = _OPEN + _REFUSED
