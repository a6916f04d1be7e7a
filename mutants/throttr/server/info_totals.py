"""Faults of the request totals of INFO: in whose place they stand, and what they count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.info import description
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, both, changed, with_found, with_handler
from wireproof.protocols.throttr.enums import RequestType
from wireproof.protocols.throttr.requests import Info
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import DENIED, Handler, Handlers, State

__all__ = ["MUTANTS"]

TYPES = (
    "insert", "query", "update", "purge", "get", "set", "list", "info", "stats", "stat", "subscribe", "unsubscribe",
    "publish", "channel", "channels", "whoami", "connection", "connections",
)  # fmt: skip
"""The pairs of INFO, in its order."""
PAIRS = tuple(f"INFO-{number}" for number in range(8, 17))
TYPE_BYTES = {name: RequestType[name.upper()] for name in TYPES}


def _minute(one: str) -> str:
    return f"{one}_per_minute"


def _total(one: str) -> str:
    return f"total_{one}"


def _moved(places: dict[str, str]) -> HandlerPatch:
    """Tell the pair of `places[type]` in the place of each type."""

    def change(reply: Any, ask: Ask) -> Any:
        description = {_total(one): getattr(reply, _total(other)) for one, other in places.items()}
        description |= {_minute(one): getattr(reply, _minute(other)) for one, other in places.items()}
        return changed(reply, **description)

    return with_found(Info, change)


def _exchanged(one: str, other: str) -> HandlerPatch:
    return _moved({one: other, other: one})


def _each(change: Callable[[int, int], tuple[int, int]]) -> HandlerPatch:
    """Tell `change(total, per minute)` for each type."""

    def on_reply(reply: Any, ask: Ask) -> Any:
        wrong: dict[str, int] = {}
        for one in TYPES:
            wrong[_total(one)], wrong[_minute(one)] = change(getattr(reply, _total(one)), getattr(reply, _minute(one)))
        return changed(reply, **wrong)

    return with_found(Info, on_reply)


class Refusals(State):
    """A server that counts its refusals by type byte."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.refused = [0] * 256


def _counting_refusals(correct: Handlers, state: State) -> Handlers:
    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            answer = correct(request, session, now)
            if answer == DENIED:
                state.refused[RequestType[request.NAME]] += 1  # type: ignore[attr-defined]
            return answer

        return handle

    return with_handler(tuple(correct), make)(correct, state)


def _refused(ask: Ask) -> list[int]:
    assert isinstance(ask.state, Refusals)
    return ask.state.refused


def _without_refused(reply: Any, ask: Ask) -> Any:
    refused = _refused(ask)
    found = {_total(one): getattr(reply, _total(one)) - refused[byte] for one, byte in TYPE_BYTES.items()}
    return changed(reply, **found)


def _of_the_connection(reply: Any, ask: Ask) -> Any:
    counts = ask.session.counts
    return changed(reply, **{_total(one): counts[byte] for one, byte in TYPE_BYTES.items()})


# fmt: off
MUTANTS = (
    *(mutant(f"info-{one}-and-{other}-exchanged", f"INFO tells {one.upper()} and {other.upper()} in each other's place.",
            *clauses, handlers=_exchanged(one, other))
      for one, other, *clauses in (
          ("insert", "query", "INFO-9"), ("update", "purge", "INFO-9"), ("get", "set", "INFO-10"),
          ("list", "info", "INFO-11"), ("stats", "stat", "INFO-12"), ("subscribe", "unsubscribe", "INFO-13"),
          ("unsubscribe", "publish", "INFO-13"), ("channel", "channels", "INFO-14"),
          ("whoami", "connection", "INFO-15", "INFO-16"), ("connection", "connections", "INFO-16"))),
    mutant("info-minute-before-total", "INFO tells the last minute of a type before its total.", *PAIRS, "METRICS-13",
           handlers=_each(lambda total, minute: (minute, total))),
    mutant("info-types-without-refused", "The totals of INFO leave requests out that were refused.", "INFO-8", "METRICS-13", state=Refusals,
           handlers=both(_counting_refusals, with_found(Info, _without_refused))),
    mutant("info-types-of-the-connection", "The totals of types in INFO are those of the asking connection.", "INFO-8", "METRICS-13", "METRICS-15",
           handlers=with_found(Info, _of_the_connection)),
    mutant("info-requests-of-the-connection", "TOTAL REQUESTS counts those of the asking connection.", "INFO-6", "METRICS-13", "METRICS-15",
           handlers=description(total_requests=lambda reply, ask: sum(ask.session.counts))),
    mutant("info-requests-in-a-byte", "TOTAL REQUESTS is counted in a byte.", "INFO-6", "METRICS-13",
           handlers=description(total_requests=lambda reply, ask: reply.total_requests & 0xFF)),
)
# fmt: on
