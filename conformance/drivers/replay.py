"""Judges again what was recorded: a driver that answers the player's actions from a trace, without any IO.

The same case over the same trace gives the same verdict. A trace that belongs to another case, run or delivery is
refused, never guessed at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wireproof.conformance.model.actions import Action, Answer, Look, Open, Read, ReadUsage, Secure, Shut, Sleep, Write
from wireproof.conformance.model.exchange import event_of
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.segmentation import SEGMENTATIONS, Segmentation
from wireproof.protocols.json_values import JsonObject

ENDS = frozenset({Kind.RECEIVED, Kind.SILENT, Kind.ENDED, Kind.RESET})
ANSWERS: Mapping[type[Action], frozenset[Kind]] = {
    Open: frozenset({Kind.OPENED, Kind.RESET}),
    Write: frozenset({Kind.SENT, Kind.RESET, Kind.SILENT}),
    Read: ENDS,
    Shut: frozenset({Kind.HALF_CLOSED, Kind.CLOSED}),
    Secure: frozenset({Kind.SECURED, Kind.SILENT, Kind.ENDED, Kind.RESET}),
    Sleep: frozenset({Kind.WAITED}),
    ReadUsage: frozenset({Kind.MEASURED}),
}
"""Action -> what may have come of it."""


class ReplayError(ValueError):
    """Raised when a trace cannot be that of the case played; it says at which event and what was expected."""


class ReplayDriver:
    """Plays a case over a recorded trace."""

    def __init__(self, trace: Iterable[TraceEvent]) -> None:
        self._trace = list(trace)

    def play(self, player: Player) -> Outcome:
        """Return the outcome that the trace shows; `ReplayError` when it is not the trace of this case."""
        play = player.play()
        at = 0
        try:
            action = next(play)
            while True:
                if isinstance(action, Look) and not self._has_come(action, at):
                    action = play.send(Answer(Kind.SILENT, 0.0))
                    continue
                answer = self._answer(action, at)
                at += 1
                action = play.send(answer)
        except StopIteration as stop:
            outcome: Outcome = stop.value
        if at != len(self._trace):
            raise ReplayError(f"event {at}: the case ends here, the trace goes on with {self._trace[at].kind}")
        return outcome

    def _has_come(self, action: Look, at: int) -> bool:
        event = self._trace[at] if at < len(self._trace) else None
        return event is not None and (event.connection, event.kind) == (action.connection, Kind.RECEIVED)

    def _answer(self, action: Action, at: int) -> Answer:
        if at >= len(self._trace):
            raise ReplayError(f"event {at}: the trace ends here, the case goes on with {type(action).__name__}")
        event = self._trace[at]
        connection = "" if isinstance(action, Sleep | ReadUsage) else action.connection
        if event.connection != connection or event.kind not in _kinds(action):
            asked = f"{type(action).__name__} on {connection or 'nothing'}"
            raise ReplayError(f"event {at}: expected {asked}, the trace has {event.kind} on {event.connection}")
        if isinstance(action, Open) and action.link != event.link:
            raise ReplayError(
                f"event {at}: the case speaks {action.link or 'as usual'}, it was {event.link or 'as usual'}"
            )
        if isinstance(action, Write) and event.kind is Kind.SENT and action.data != event.data:
            raise ReplayError(f"event {at}: the case sends {action.data.hex()}, it was {event.data.hex()}")
        return Answer(event.kind, event.at_us / 1e6, b"" if event.kind is Kind.SENT else event.data)


def _kinds(action: Action) -> frozenset[Kind]:
    return next(kinds for kind, kinds in ANSWERS.items() if isinstance(action, kind))


def segmentation_of(record: JsonObject) -> Segmentation:
    """Return the delivery of a record; `ReplayError` for one that there is not, or not any more."""
    name = record["delivery"]
    if name not in SEGMENTATIONS:
        raise ReplayError(f"{record['case']}: no delivery {name!r}; there is {', '.join(SEGMENTATIONS)}")
    return SEGMENTATIONS[name]


def trace_of(record: JsonObject) -> Trace:
    """Return the trace that a record holds; `ReplayError` when the record was cut."""
    trace = Trace()
    for event in record["exchange"]:
        try:
            trace.append(event_of(event))
        except ValueError as error:
            raise ReplayError(f"{record['case']}: the record holds only a part of what crossed: {error}") from error
    return trace
