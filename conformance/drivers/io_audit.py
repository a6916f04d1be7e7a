"""Compares a driver with what crossed: the trace is what the driver reported, so nothing in it shows what it lost.

Bytes are noted where they leave this process and where they come in; each answer to a read or a write must agree.
"""

from __future__ import annotations

from dataclasses import replace

from wireproof.conformance.model.actions import Answer, Read, Write
from wireproof.conformance.model.outcome import Outcome, harness_error
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.model.violation import MISDELIVERED, Violation
from wireproof.conformance.monitor.blame import KEPT, MONITOR, described, evidence


class IoAuditError(RuntimeError):
    """Raised when an answer is not what crossed: on which connection, from which byte of whose stream, when."""

    def __init__(self, connection: str, stream: Guilty, offset: int, at_us: int, description: str) -> None:
        super().__init__(description)
        self.connection = connection
        self.stream = stream
        self.offset = offset
        self.at_us = at_us
        self.description = description


class IoAudit:
    """What crossed on one connection and was not accounted for yet."""

    def __init__(self) -> None:
        self._came = bytearray()
        self._left = bytearray()
        self._reported = {Guilty.TARGET: 0, Guilty.HARNESS: 0}

    def came(self, data: bytes) -> None:
        """Note bytes as they come in, before anything is done to them."""
        self._came += data

    def left(self, data: bytes) -> None:
        """Note bytes as they leave."""
        self._left += data

    @property
    def is_unused(self) -> bool:
        """Whether no byte crossed yet."""
        return not (self._came or self._left or any(self._reported.values()))

    def checked(self, action: Read | Write, answer: Answer) -> Answer:
        """Return the answer if it is what crossed; `IoAuditError` otherwise."""
        if isinstance(action, Write):
            if answer.kind is Kind.SENT and self._left != action.data:
                raise self._error(action, answer, Guilty.HARNESS, "other bytes were sent than the player gave")
            self._reported[Guilty.HARNESS] += len(self._left)
            self._left.clear()
        elif answer.kind is not Kind.RECEIVED:
            if self._came:
                description = f"{len(self._came)} bytes came and were kept from the player"
                raise self._error(action, answer, Guilty.TARGET, description)
        elif not self._came.startswith(answer.data):
            raise self._error(action, answer, Guilty.TARGET, "the player was given other bytes than came")
        else:
            del self._came[: len(answer.data)]
            self._reported[Guilty.TARGET] += len(answer.data)
        return answer

    def _error(self, action: Read | Write, answer: Answer, stream: Guilty, description: str) -> IoAuditError:
        return IoAuditError(action.connection, stream, self._reported[stream], round(answer.now * 1e6), description)


def misdelivered(error: IoAuditError, trace: Trace) -> Outcome:
    """Return the harness_error of a play whose driver reported other bytes than crossed the connection."""
    where = error.offset, MISDELIVERED, None, len(trace), error.at_us, error.description
    first = Violation(Guilty.HARNESS, error.connection, error.stream, *where)
    return replace(harness_error(described(first), trace), expected=KEPT, extra={MONITOR: evidence(first)})
