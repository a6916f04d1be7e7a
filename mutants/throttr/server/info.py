"""Faults of INFO: how the answer begins and ends, its clocks, and what it counts besides requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.memory import eating_again
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_found
from wireproof.protocols.throttr.requests import Info
from wireproof.reference_server.throttr.records import Buffer

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


def _ever(notes: str) -> Callable[[Any, Ask], int]:
    """Return how many different keys were noted."""
    return lambda reply, ask: len(getattr(ask.state, notes))


def _lingering(reply: Any, ask: Ask) -> int:
    """Return the channels there are and those remembered."""
    names: set[bytes] = ask.state.names  # type: ignore[attr-defined]
    return len(names | {name for name, _ in ask.state.channels})


# fmt: off
SHAPE = (
    mutant("info-eats-a-byte", "INFO takes the byte behind it when it comes again in one segment.", "INFO-1", "FRAMING-3", "ROBUSTNESS-7",
           handlers=eating_again(Info)),
)
# fmt: on
# fmt: off
CLOCKS = (
    mutant("info-timestamp-of-the-connection", "TIMESTAMP counts from the start of the asking connection.", "INFO-4",
           handlers=description(timestamp=lambda reply, ask: (_wall(ask) - _connected(ask)) // SECOND)),
    mutant("info-running-since-drifts", "RUNNING SINCE moves on with time, by a thousandth of it.", "INFO-29",
           handlers=description(running_since=lambda reply, ask: reply.running_since + ask.now // 1000)),
    mutant("info-version-of-the-connection", "VERSION is the id of the asking connection.", "INFO-32",
           handlers=description(version=lambda reply, ask: ask.session.id)),
)
# fmt: on
# fmt: off
RECORDS = (
    mutant("info-keys-are-counters", "TOTAL KEYS leaves buffers out.", "INFO-21", handlers=description(keys=lambda reply, ask: reply.counters)),
    mutant("info-buffers-without-the-empty", "TOTAL BUFFERS leaves buffers of no bytes out.", "INFO-23",
           handlers=description(buffers=lambda reply, ask: reply.buffers - _empty_values(ask))),
)
# fmt: on
# fmt: off
CHANNELS = (
    *(mutant(f"info-subscriptions-are-channels{name}", "TOTAL SUBSCRIPTIONS tells the channels.",
            clause, handlers=description(subscriptions=lambda reply, ask: reply.channels))
      for clause, name in SUBSCRIPTIONS),
    *(mutant(f"info-subscriptions-of-the-connection{name}", "TOTAL SUBSCRIPTIONS tells those of who asks.",
            clause, handlers=description(subscriptions=lambda reply, ask: ask.session.subscribed))
      for clause, name in SUBSCRIPTIONS),
    mutant("info-subscriptions-without-automatic", "TOTAL SUBSCRIPTIONS leaves the automatic ones out.", "INFO-27",
           handlers=description(subscriptions=lambda reply, ask: max(reply.subscriptions - 2 * reply.connections, 0))),
    mutant("info-channels-are-requests", "TOTAL CHANNELS tells the CHANNELS requests.", "INFO-28", profiles=("7.1.0",),
           handlers=description(channels=lambda reply, ask: reply.total_channels)),
    mutant("info-connections-are-requests", "TOTAL CONNECTIONS tells the CONNECTIONS requests.", "INFO-31",
           handlers=description(connections=lambda reply, ask: reply.total_connections)),
)
# fmt: on
MUTANTS = SHAPE + CLOCKS + RECORDS + CHANNELS
