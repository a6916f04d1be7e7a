"""Faults of INFO: how the answer begins and ends, its clocks, and what it counts besides requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.memory import Remembering, eating_again, keeping
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, both, changed, lead, swapped, with_answer, with_found
from wireproof.protocols.throttr.replies import InfoReply
from wireproof.protocols.throttr.requests import Info, Insert, Publish, Purge, Set, Subscribe
from wireproof.reference_server.throttr.records import Buffer
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, State

__all__ = ["MUTANTS"]

SUBSCRIPTIONS = (("INFO-26", ""), ("INFO-27", "-with-automatic"))
SECOND = 1_000_000_000


def description(**fields: Callable[[Any, Ask], int | bytes]) -> HandlerPatch:
    """Answer each field as `change(right answer, ask)` says."""
    return with_found(Info, lambda reply, ask: changed(reply, **{one: of(reply, ask) for one, of in fields.items()}))


def _exchanged(one: str, other: str) -> HandlerPatch:
    return description(**{one: lambda reply, ask: getattr(reply, other), other: lambda reply, ask: getattr(reply, one)})


def _wall(ask: Ask) -> int:
    return ask.state.wall(ask.now)


def _connected(ask: Ask) -> int:
    return int(ask.session.connected_at)


def _empty_values(ask: Ask) -> int:
    return sum(isinstance(one, Buffer) and not one.value for one in ask.state.store.live(ask.now))


class Counting(Remembering):
    """A server that knows how many of some things there ever were."""

    ever = 0

    def new_id(self) -> bytes:
        """See `State`."""
        self.ever += 1
        return super().new_id()


def _ever(notes: str) -> Callable[[Any, Ask], int]:
    """Return how many different keys were noted."""
    return lambda reply, ask: len(getattr(ask.state, notes))


def _ever_of(*kinds: type) -> HandlerPatch:
    return keeping("owners", kinds, ACCEPTED)


class ChannelNames(State):
    """A server that remembers the names of channels."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.names: set[bytes] = set()


def _naming(*kinds: type, if_answered: bytes) -> HandlerPatch:
    def change(answer: bytes, ask: Ask) -> bytes:
        if answer == if_answered:
            ask.state.names.add(ask.request.channel)  # type: ignore[attr-defined]
        return answer

    return with_answer(kinds, change)


def _lingering(reply: Any, ask: Ask) -> int:
    """Return the channels there are and those remembered."""
    names: set[bytes] = ask.state.names  # type: ignore[attr-defined]
    return len(names | {name for name, _ in ask.state.channels})


# fmt: off
SHAPE = (
    mutant("info-by-another-type-byte", "INFO is known by another type byte.",
          "INFO-1", "INFO-2", "INFO-3", profile=lead(Info, 0x28)),
    mutant("info-eats-a-byte", "INFO takes the byte behind it when it comes again in one segment.",
          "INFO-1", "FRAMING-3", "ROBUSTNESS-7", handlers=eating_again(Info)),
    mutant("info-of-236-bytes", "The answer to INFO has 236 bytes, as one sentence of the document says.",
          "INFO-2", handlers=with_answer(Info, lambda answer, ask: answer[:236])),
    mutant("info-with-a-status", "The answer to INFO begins with a status byte.",
          "INFO-2", "FRAMING-9", profile=lead(InfoReply, 1)),
    mutant("info-without-status", "The answer to INFO has no status byte.",
          "INFO-3", "FRAMING-10", profile=lead(InfoReply)),
    mutant("info-version-of-15-bytes", "The version in INFO is 15 bytes.",
          "INFO-32", "INFO-2", "INFO-3", handlers=with_answer(Info, lambda answer, ask: answer[:-1])),
    mutant("info-ends-with-a-zero", "A zero byte follows the version in INFO.",
          "INFO-32", "INFO-2", "INFO-3", handlers=with_answer(Info, lambda answer, ask: answer + b"\0")),
)
CLOCKS = (
    mutant("info-timestamp-stands", "TIMESTAMP tells when the server started.",
          "INFO-4", handlers=description(timestamp=lambda reply, ask: reply.running_since // SECOND)),
    mutant("info-timestamp-of-the-connection", "TIMESTAMP counts from the start of the asking connection.",
          "INFO-4", handlers=description(timestamp=lambda reply, ask: (_wall(ask) - _connected(ask)) // SECOND)),
    mutant("info-timestamp-of-the-minute", "TIMESTAMP moves once a minute.",
          "INFO-4", handlers=description(timestamp=lambda reply, ask: reply.timestamp // 60 * 60)),
    mutant("info-timestamp-runs-back", "TIMESTAMP counts down.",
          "INFO-4", handlers=description(timestamp=lambda reply, ask: (1 << 32) - reply.timestamp)),
    mutant("info-running-since-now", "RUNNING SINCE tells the present.",
          "INFO-29", handlers=description(running_since=lambda reply, ask: _wall(ask))),
    mutant("info-running-since-the-connection", "RUNNING SINCE tells when the asking connection began.",
          "INFO-29", handlers=description(running_since=lambda reply, ask: _connected(ask))),
    mutant("info-running-since-drifts", "RUNNING SINCE moves on with time, by a thousandth of it.",
          "INFO-29", handlers=description(running_since=lambda reply, ask: reply.running_since + ask.now // 1000)),
    mutant("info-version-tells-the-hour", "VERSION tells the time at which it is asked for.",
          "INFO-32", handlers=description(version=lambda reply, ask: b"%16d" % (reply.timestamp + ask.session.counts[8]))),
    mutant("info-version-of-the-connection", "VERSION is the id of the asking connection.",
          "INFO-32", handlers=description(version=lambda reply, ask: ask.session.id)),
)
RECORDS = (
    mutant("info-counters-and-buffers-exchanged", "INFO tells buffers before counters.",
          "INFO-22", "INFO-23", handlers=_exchanged("counters", "buffers")),
    mutant("info-keys-are-counters", "TOTAL KEYS leaves buffers out.",
          "INFO-21", handlers=description(keys=lambda reply, ask: reply.counters)),
    mutant("info-keys-behind-counters", "INFO tells counters before keys.",
          "INFO-21", "INFO-22", handlers=_exchanged("keys", "counters")),
    mutant("info-keys-ever-stored", "TOTAL KEYS counts every key that was ever stored.",
          "INFO-21", "EXPIRY-8", state=Counting, handlers=both(_ever_of(Insert, Set), description(keys=_ever("owners")))),
    mutant("info-counters-ever-stored", "TOTAL COUNTERS counts every counter that was ever stored.",
          "INFO-22", "EXPIRY-8", state=Counting, handlers=both(_ever_of(Insert), description(counters=_ever("owners")))),
    mutant("info-buffers-ever-stored", "TOTAL BUFFERS counts every buffer that was ever stored.",
          "INFO-23", "EXPIRY-8", state=Counting, handlers=both(_ever_of(Set), description(buffers=_ever("owners")))),
    mutant("info-counters-refused-count", "TOTAL COUNTERS counts INSERTs that were refused.",
          "INFO-22", state=Counting, handlers=both(
              keeping("asked", (Insert,), DENIED),
              description(counters=lambda reply, ask: reply.counters + len(ask.state.asked)))),  # type: ignore[attr-defined]
    mutant("info-buffers-without-the-empty", "TOTAL BUFFERS leaves buffers of no bytes out.",
          "INFO-23", handlers=description(buffers=lambda reply, ask: reply.buffers - _empty_values(ask))),
    mutant("info-keys-purged-in-vain", "TOTAL KEYS goes down with every PURGE, found or not.",
          "INFO-21", state=Counting, handlers=both(
              keeping("asked", (Purge,), DENIED),
              description(keys=lambda reply, ask: max(reply.keys - len(ask.state.asked), 0)))),  # type: ignore[attr-defined]
    mutant("info-counters-big-endian", "TOTAL COUNTERS is big-endian.",
          "INFO-22", "INFO-21", "FRAMING-1", handlers=description(counters=lambda reply, ask: swapped(reply.counters, 8))),
)
CHANNELS = (
    *(mutant(f"info-subscriptions-are-channels{name}", "TOTAL SUBSCRIPTIONS tells the channels.",
            clause, handlers=description(subscriptions=lambda reply, ask: reply.channels))
      for clause, name in SUBSCRIPTIONS),
    *(mutant(f"info-subscriptions-of-the-connection{name}", "TOTAL SUBSCRIPTIONS tells those of who asks.",
            clause, handlers=description(subscriptions=lambda reply, ask: ask.session.subscribed))
      for clause, name in SUBSCRIPTIONS),
    mutant("info-subscriptions-with-two-more", "TOTAL SUBSCRIPTIONS counts two more for each connection.",
          "INFO-26", handlers=description(subscriptions=lambda reply, ask: reply.subscriptions + 2 * reply.connections)),
    mutant("info-subscriptions-without-automatic", "TOTAL SUBSCRIPTIONS leaves the automatic ones out.",
          "INFO-27",
          handlers=description(subscriptions=lambda reply, ask: max(reply.subscriptions - 2 * reply.connections, 0))),
    mutant("info-channels-are-requests", "TOTAL CHANNELS tells the CHANNELS requests.",
          "INFO-28", profiles=("7.1.0",), handlers=description(channels=lambda reply, ask: reply.total_channels)),
    mutant("info-channels-are-subscriptions", "TOTAL CHANNELS tells the subscriptions.",
          "INFO-28", profiles=("7.1.0",), handlers=description(channels=lambda reply, ask: reply.subscriptions)),
    mutant("info-channels-ever", "TOTAL CHANNELS counts every channel there ever was.",
          "INFO-28", profiles=("7.1.0",), state=ChannelNames,
          handlers=both(_naming(Subscribe, if_answered=ACCEPTED), description(channels=_lingering))),
    mutant("info-channels-by-publishing", "TOTAL CHANNELS counts channels that somebody published to in vain.",
          "INFO-28", profiles=("7.1.0",), state=ChannelNames,
          handlers=both(_naming(Publish, if_answered=DENIED), description(channels=_lingering))),
    mutant("info-connections-without-the-asking", "TOTAL CONNECTIONS leaves the asking one out.",
          "INFO-31", handlers=description(connections=lambda reply, ask: reply.connections - 1)),
    mutant("info-connections-ever", "TOTAL CONNECTIONS counts every connection there ever was.",
          "INFO-31", state=Counting,
          handlers=description(connections=lambda reply, ask: ask.state.ever)),  # type: ignore[attr-defined]
    mutant("info-connections-are-requests", "TOTAL CONNECTIONS tells the CONNECTIONS requests.",
          "INFO-31", handlers=description(connections=lambda reply, ask: reply.total_connections)),
)
MUTANTS = SHAPE + CLOCKS + RECORDS + CHANNELS
