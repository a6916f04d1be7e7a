"""Mutants of INFO, its totals and the counts of a minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, both, changed, with_found, with_handler, with_rows
from wireproof.mutants.throttr.server.shared import eating_again
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.enums import RequestType
from wireproof.protocols.throttr.requests import Connections, Info
from wireproof.reference_server.throttr.records import Buffer
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import DENIED, Handler, Handlers, State
from wireproof.reference_server.throttr.tally import no_requests

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
CLOCKS = (
    mutant("info-timestamp-of-the-connection", "TIMESTAMP counts from the start of the asking connection.", "INFO-4",
           handlers=description(timestamp=lambda reply, ask: (_wall(ask) - _connected(ask)) // SECOND)),
    mutant("info-running-since-drifts", "RUNNING SINCE moves on with time, by a thousandth of it.", "INFO-29",
           handlers=description(running_since=lambda reply, ask: reply.running_since + ask.now // 1000)),
    mutant("info-version-of-the-connection", "VERSION is the id of the asking connection.", "INFO-32",
           handlers=description(version=lambda reply, ask: ask.session.id)),
)
RECORDS = (
    mutant("info-counters-are-keys", "TOTAL COUNTERS counts buffers too.", "INFO-22", handlers=description(counters=lambda reply, ask: reply.keys)),
    mutant("info-keys-are-counters", "TOTAL KEYS leaves buffers out.", "INFO-21", handlers=description(keys=lambda reply, ask: reply.counters)),
    mutant("info-buffers-without-the-empty", "TOTAL BUFFERS leaves buffers of no bytes out.", "INFO-23",
           handlers=description(buffers=lambda reply, ask: reply.buffers - _empty_values(ask))),
)
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
INFO_MUTANTS = SHAPE + CLOCKS + RECORDS + CHANNELS


TYPES = (
    "insert",
    "query",
    "update",
    "purge",
    "get",
    "set",
    "list",
    "info",
    "stats",
    "stat",
    "subscribe",
    "unsubscribe",
    "publish",
    "channel",
    "channels",
    "whoami",
    "connection",
    "connections",
)
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


def _totals_exchanged(one: str, other: str) -> HandlerPatch:
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
INFO_TOTALS_MUTANTS = (
    *(mutant(f"info-{one}-and-{other}-exchanged", f"INFO tells {one.upper()} and {other.upper()} in each other's place.",
            *clauses, handlers=_totals_exchanged(one, other))
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


class Forgetful(State):
    """A server whose totals are those of the open connections."""

    def forget(self, session: ThrottrSession) -> None:
        super().forget(session)
        for kind, number in enumerate(session.counts):
            self.tally.totals[kind] -= number


class Slots(State):
    """A server that keeps the counts of connections in eight places."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.slots = [no_requests() for _ in range(8)]
        self.taken = 0


class Slotted(ThrottrSession):
    """A connection that counts in the next place."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        state = self._state
        assert isinstance(state, Slots)
        self.counts = state.slots[state.taken % 8]
        state.taken += 1


class LastAsked(ThrottrSession):
    """A connection that knows its last request, and where in what was received an INFO stood."""

    last: type[Request] | None = None
    info_in: tuple[bytes, int] = b"", 0


def _with_every_request(note: Callable[[Ask], None]) -> HandlerPatch:
    """Call `note` before each request is handled."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            note(Ask(request, session, now, state))
            return correct(request, session, now)

        return handle

    def patch(correct: Handlers, state: State) -> Handlers:
        return with_handler(tuple(correct), make)(correct, state)

    return patch


def _uncount_behind_info(ask: Ask) -> None:
    session = ask.session
    assert isinstance(session, LastAsked)
    data, at = session.info_in
    if data is session._data and at < session._at:
        session.fresh[RequestType[ask.request.NAME]] -= 1
    if isinstance(ask.request, Info):
        session.info_in = session._data, session._at


def _rows(change: Callable[[Any, Ask], Any]) -> HandlerPatch:
    return with_rows(Connections, lambda rows, ask: [change(row, ask) for row in rows])


def _counts(row: Any) -> list[str]:
    return [name for name in row.__struct_fields__ if name.endswith("_requests")]


def _in_tens(row: Any, ask: Ask) -> Any:
    return changed(row, **{name: getattr(row, name) // 10 * 10 or getattr(row, name) for name in _counts(row)})


# fmt: off
METRICS_MUTANTS = (
    mutant("rows-count-in-tens", "A connection row counts on in steps of ten once it has reached ten.", "METRICS-13", "CONNECTIONS-22",
           handlers=_rows(_in_tens)),
    mutant("requests-behind-info-not-counted", "Requests that came in one segment behind an INFO are not counted.", "METRICS-13", "INFO-6", "INFO-8",
           "CONNECTIONS-22", session=LastAsked, handlers=_with_every_request(_uncount_behind_info)),
    mutant("rows-of-8-slots", "Connections share their counts with the eighth one after them.", "METRICS-14", "CONNECTIONS-22", state=Slots,
           session=Slotted),
    mutant("info-forgets-the-gone", "INFO's totals lose the requests of connections that are gone.", "METRICS-15", "INFO-6", "INFO-8",
           state=Forgetful),
)
# fmt: on


MUTANTS = (
    *INFO_MUTANTS,
    *INFO_TOTALS_MUTANTS,
    *METRICS_MUTANTS,
)
