"""The requests that the delivery `joined` puts beside a case's own, on one connection, and their answers.

They change nothing and their answers are dropped, so the case is the same; an answer that is wrong or never comes fails
it all the same, because it was asked for in the same segment.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from wireproof.conformance.model.intended import IntendedFrame
from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.model.wording import describe
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import Message, Push
from wireproof.protocols.links import Link

NAME = "$wireproof-beside"
"""A key of the case's own that no case uses."""


class NoopRequests:
    """What stands beside the requests of one connection; `codec` is its client's side."""

    def __init__(self, symbols: Symbols, link: Link, codec: Any) -> None:
        self._symbols = symbols
        self._link = link
        self._codec = codec
        self._due: deque[Message] = deque()
        self._open = link.has_noop
        """Only whole requests were sent so far, so that others can be distinguished from them."""
        self._last: Message | None = None
        self._before = False
        """One stands before the write that is made."""

    @property
    def due(self) -> int:
        """How many answers have not come."""
        return len(self._due)

    @property
    def only_last_due(self) -> bool:
        """Whether nothing but the request after the last write has no answer."""
        return len(self._due) == 1 and self._due[0] is self._last

    @property
    def alone(self) -> bool:
        """Whether no answer but theirs is due."""
        return len(self._codec.pending) == len(self._due)

    def before(self, event: int) -> list[IntendedFrame]:
        """Return the request before a write that begins at `event`, if one may stand there."""
        self._before = self._open and self._codec.settled
        return [self._another(event)] if self._before else []

    def following(self, event: int, *, whole: bool) -> list[IntendedFrame]:
        """Return the request after a write that has one before, if one may stand there; `whole`: it is requests."""
        self._open = self._open and whole
        if not (self._before and self._open and self._codec.settled):
            return []
        frame = self._another(event)
        self._last = frame.message
        return [frame]

    def _another(self, event: int) -> IntendedFrame:
        request, _ = self._link.noop(self._symbols.data(NAME))
        self._due.append(request)
        return IntendedFrame(event, self._codec.send(request), request)

    def first_of(self, pending: tuple[Message, ...]) -> Message | None:
        """Return the oldest of the pending requests that is the case's own."""
        return next((one for one in pending if not any(one is other for other in self._due)), None)

    def drops(self, event: object) -> bool:
        """Say whether an event is the answer to one of them; `Stopped` when it is not the answer it must get."""
        if not self._due or not isinstance(event, Message) or isinstance(event, Push):
            return False
        if self._codec.answered is not self._due[0]:
            return False
        request = self._due[0]
        _, expected = self._link.noop(self._symbols.data(NAME))
        if not self._is_same(event, expected):
            raise Stopped(
                Verdict.FAIL, f"{describe(expected)} to {self._request_text(request)}", describe(event), byte=0
            )
        self._due.popleft()
        return True

    def _is_same(self, event: Message, expected: Message) -> bool:
        """Say whether an answer is the expected one, but for fields that right servers may fill otherwise."""
        masked = self._symbols.protocol.masked
        fields = [name for name in expected.__struct_fields__ if name not in masked]
        return type(event) is type(expected) and all(getattr(event, one) == getattr(expected, one) for one in fields)

    def missing(self, ended: str | None) -> Stopped:
        """Return what stops a play with unanswered no-op requests; `ended`: how the target ended the connection."""
        expected = f"an answer to {self._request_text(self._due[0])}"
        if ended:
            return Stopped(Verdict.FAIL, expected, f"the target closed the connection ({ended})", byte=0)
        return Stopped(Verdict.HANG, expected, "nothing", byte=0)

    def _request_text(self, request: Message) -> str:
        return f"a {request.NAME} sent in one segment with the case's own requests"
