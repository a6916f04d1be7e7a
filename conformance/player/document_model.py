"""Judges the replies of a case by the model of the whole document, where the case itself expects any reply.

A case made of combinations (`suite/combinations.py`) does not write down what each reply must be: the model of the
protocol's document says so, from everything that was asked and answered before. The model is a pure function of the
trace like every other verdict; times are those of the trace, compared within the tolerance of expiry.
"""

from __future__ import annotations

from dataclasses import replace

from wireproof.conformance.model.wording import describe
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import Message, Push, Request
from wireproof.reference_server.model import Disagreement, ServerModel, Window
from wireproof.reference_server.registry import server_model_of

__all__ = ["DocumentJudge"]

LONGEST = 600
"""Most characters of a description."""


class DocumentJudge:
    """The model of one case's server; others may use the server meanwhile."""

    def __init__(self, symbols: Symbols) -> None:
        """Raises ValueError if the protocol has no model of a whole server."""
        tolerance = float(symbols.number("TOLERANCE", ""))
        self._model: ServerModel = server_model_of(
            symbols.protocol.name,
            profile=symbols.profile,
            variant=symbols.variant,
            tolerance_ns=round(tolerance * 1e9),
            shared=True,
        )
        self._sent: dict[str, list[tuple[Request, float]]] = {}

    def connected(self, connection: str, port: int | None, now: float) -> None:
        """Note a new connection, opened `now` (seconds)."""
        self._sent[connection] = []
        self._model.connect(connection, _window(now, now), port)

    def closed(self, connection: str, now: float) -> None:
        """Note the end of a connection."""
        if self._sent.pop(connection, None) is not None:
            self._model.disconnect(connection, _window(now, now))

    def asked(self, connection: str, request: Message | None, now: float) -> None:
        """Note a request that is about to be written. Raises ValueError for bytes that are no request."""
        if not isinstance(request, Request):
            raise ValueError("a case that the model judges writes no bytes by hand")
        self._sent[connection].append((request, now))
        self._model.sent(connection, request)

    def beside(self, connection: str, request: Message | None) -> None:
        """Note a no-op request of the segmentation, whose reply the case does not see: it may count in totals."""
        if isinstance(request, Request):
            self._model.sent(connection, request)

    def heard(self, connection: str, message: Message, now: float) -> Disagreement | None:
        """Note a push, or judge the reply to the oldest request; None if it is allowed."""
        if isinstance(message, Push):
            self._model.pushed(connection, message)
            return None
        request, since = self._sent[connection].pop(0)
        found = self._model.answered(connection, request, message, _window(since, now))
        return found and replace(found, detail=f"{found.detail}: {describe(request)} -> {describe(message)}"[:LONGEST])

    def due(self, connection: str) -> str | None:
        """Return a description of the first push that must still come there; None if there is none."""
        return self._model.due_message(connection)

    def missing(self, connection: str) -> Disagreement:
        """Return what is wrong when a push that is due does not come."""
        return Disagreement(f"{self.due(connection)} does not come", "push missing", self._model.push_clause)

    def unexpected(self, now: float) -> Disagreement | None:
        """Judge the pushes that came once everything is answered; None if each was published to its connection."""
        return self._model.unexpected(_window(now, now))


def _window(since: float, until: float) -> Window:
    return Window(round(since * 1e9), round(until * 1e9))
