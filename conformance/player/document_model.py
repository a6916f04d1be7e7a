"""Follows every connection of one server with the model of its whole document, and judges each reply by it.

A case made of combinations (`suite/combinations.py`) does not write down what each reply must be, and no fuzzer can:
the model of the protocol's document says so, from everything that was asked and answered before. The model is a pure
function of its input; times are the caller's, in ns of any clock that does not go back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wireproof.conformance.model.wording import describe
from wireproof.protocols import Message, Push, Request
from wireproof.reference_server.model import Disagreement, ServerModel, Window
from wireproof.reference_server.registry import server_model_of

__all__ = ["DocumentJudge"]

LONGEST = 600
"""Most characters of a description."""


class DocumentJudge:
    """The model of one server. With `shared`, others may use the server meanwhile."""

    def __init__(
        self,
        protocol: str,
        *,
        profile: str,
        variant: str,
        tolerance_ns: int,
        shared: bool,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`options` are those of the server. Raises ValueError if the protocol has no model of a whole server."""
        self.model: ServerModel = server_model_of(
            protocol, profile=profile, variant=variant, tolerance_ns=tolerance_ns, shared=shared, options=options
        )
        self._unanswered: dict[str, list[tuple[Request, int]]] = {}
        """Connection -> requests without a reply, with the instants at which they were written."""

    @property
    def expects_answers(self) -> bool:
        """Whether the model expects answers as it does pushes, in any order; see `ServerModel`."""
        return self.model.expects_answers

    @property
    def settles_by_request(self) -> bool:
        """Whether each step ends with a request on every connection; see `ServerModel`."""
        return self.model.settles_by_request

    def connected(self, connection: str, port: int | None, at: Window, link: str = "") -> None:
        """Note a new connection on a link; `port` is the client's, if there is one."""
        self._unanswered[connection] = []
        self.model.connect(connection, at, port, link)

    def passed(self, at: int) -> None:
        """Note that time has passed."""
        self.model.passed(Window(at, at))

    def ended(self, connection: str, at: int) -> Disagreement | None:
        """Judge that the server ended a connection; None if it may."""
        return self.model.ended(connection, self.unanswered(connection), Window(at, at))

    def must_end(self, connection: str, at: int) -> Disagreement | None:
        """Judge that a connection is still open; None if it may be."""
        return self.model.must_end(connection, Window(at, at))

    def unanswered_datagram(self, connection: str, at: int) -> Disagreement | None:
        """Judge that the oldest datagram there is not answered; None if that is allowed."""
        request, since = self._unanswered[connection].pop(0)
        found = self.model.answered(connection, request, None, Window(since, at))
        words = f"{connection}: {describe(request)} -> nothing"
        return found and replace(found, detail=f"{found.detail}: {words}"[:LONGEST])

    def closed(self, connection: str, at: Window) -> None:
        """Note the end of a connection; one that is not open is ignored."""
        if self._unanswered.pop(connection, None) is not None:
            self.model.disconnect(connection, at)

    def asked(self, connection: str, request: Message | None, at: int) -> None:
        """Note a request that is written. Raises ValueError for bytes that are no request."""
        if not isinstance(request, Request):
            raise ValueError("a case that the model judges writes no bytes by hand")
        if self.model.expects_answers:
            self.model.passed(Window(at, at))
        else:
            self._unanswered[connection].append((request, at))
        self.model.sent(connection, request)

    def beside(self, connection: str, request: Message | None) -> None:
        """Note a no-op request of the segmentation, whose reply the case does not see: it may count in totals."""
        if isinstance(request, Request) and not self.model.expects_answers:
            self.model.sent(connection, request)

    def unanswered(self, connection: str) -> Request | None:
        """Return the oldest request there without a reply; None if there is none."""
        return next((request for request, _ in self._unanswered[connection]), None)

    def received(self, connection: str, message: Message, at: int) -> Disagreement | None:
        """Note a push, or judge the reply to the oldest request; None if it is allowed."""
        if self.model.expects_answers:
            self.model.passed(Window(at, at))
        if isinstance(message, Push) or self.model.expects_answers:
            self.model.pushed(connection, message)
            return None
        request, since = self._unanswered[connection].pop(0)
        found = self.model.answered(connection, request, message, Window(since, at))
        if found is None:
            return None
        words = f"{connection}: {describe(request)} -> {describe(message)}"
        return replace(found, detail=f"{found.detail}: {words}"[:LONGEST])

    def due(self, connection: str) -> str | None:
        """Return a description of the first push that must still come there; None if there is none."""
        return self.model.due_message(connection)

    def missing(self, connection: str) -> Disagreement:
        """Return what is wrong when a push that is due does not come."""
        return Disagreement(f"{self.due(connection)} does not come", "push missing", self.model.due_clause(connection))

    def unexpected(self, at: int) -> Disagreement | None:
        """Judge the pushes that came once everything is answered; None if each was published to its connection."""
        found = self.model.unexpected(Window(at, at))
        return found and replace(found, detail=found.detail[:LONGEST])
