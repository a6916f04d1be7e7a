"""Faults of the totals that INFO and connection rows keep of requests: late, leaking between connections, or lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_handler, with_rows
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.enums import RequestType
from wireproof.protocols.throttr.requests import Connections, Info
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler, Handlers, State
from wireproof.reference_server.throttr.tally import no_requests

__all__ = ["MUTANTS"]


class Forgetful(State):
    """A server whose totals are those of the open connections."""

    def forget(self, session: ThrottrSession) -> None:
        """See `State`."""
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
MUTANTS = (
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
