"""Traces written by hand, with the account of a harness that meant what it sent; and the monitor's report on them."""

from __future__ import annotations

from wireproof.conformance.model.intended import Intended, IntendedByConnection, IntendedFrame, Refusal
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.monitor.monitor import MonitorReport, monitored
from wireproof.protocols import Message, Request, protocol

THROTTR = protocol("throttr")
TICK = 1000
"""Microseconds between two events."""


class TracedConversation:
    """What happened, event by event; connections are opened at their first use."""

    def __init__(self, profile: str = "7.1.0", variant: str = "uint16", *, accounted: bool = True) -> None:
        self.profile, self.variant = profile, variant
        self.codec = THROTTR.codec(THROTTR.profiles[profile], variant)
        self.trace = Trace()
        self.intended: IntendedByConnection = {}
        self._accounted = accounted
        self._accounts: dict[str, Intended] = {}

    def happens(self, kind: Kind, name: str = "a", data: bytes = b"") -> TracedConversation:
        if kind is not Kind.OPENED:
            self.intended_on(name)
        self.trace.append(TraceEvent(len(self.trace) * TICK, name, kind, data))
        if kind is Kind.CLOSED:
            del self._accounts[name]
        return self

    def intended_on(self, name: str = "a") -> Intended:
        if name not in self._accounts:
            self._accounts[name] = self.intended[len(self.trace)] = Intended()
            self.happens(Kind.OPENED, name)
        return self._accounts[name]

    def sends(self, *messages: Message, name: str = "a", crossed: bytes | None = None) -> TracedConversation:
        """The harness means these messages; `crossed` are the bytes that left, if they are others."""
        frames = [(self.codec.encode(message), message) for message in messages]
        self.intended_on(name).frames += [IntendedFrame(len(self.trace), data, message) for data, message in frames]
        data = b"".join(data for data, _ in frames)
        return self.happens(Kind.SENT, name, data if crossed is None else crossed)

    def sends_by_hand(self, data: str | bytes, name: str = "a", like: Request | None = None) -> TracedConversation:
        data = bytes.fromhex(data) if isinstance(data, str) else data
        self.intended_on(name).frames.append(IntendedFrame(len(self.trace), data, like=like))
        return self.happens(Kind.SENT, name, data)

    def sends_wrongly(self, data: str, message: Message, name: str = "a") -> TracedConversation:
        """The harness means that message and gives other bytes to the driver, which sends them."""
        self.intended_on(name).frames.append(IntendedFrame(len(self.trace), bytes.fromhex(data), message))
        return self.happens(Kind.SENT, name, bytes.fromhex(data))

    def comes(self, *data: str | bytes | Message, name: str = "a") -> TracedConversation:
        """The target sends messages, hexadecimal or bytes, all in one."""
        return self.happens(Kind.RECEIVED, name, b"".join(map(self._bytes, data)))

    def understood(self, message: Message, first: int, stop: int, name: str = "a") -> TracedConversation:
        self.intended_on(name).received.append(((first, stop), message))
        return self

    def refused(self, offset: int, code: str = "bad_status", name: str = "a") -> TracedConversation:
        self.intended_on(name).refused = Refusal(len(self.trace) - 1, self.trace[-1].at_us, offset, code)
        return self

    def _bytes(self, one: str | bytes | Message) -> bytes:
        if isinstance(one, Message):
            return bytes(self.codec.encode(one))
        return bytes.fromhex(one) if isinstance(one, str) else one

    def report(self) -> MonitorReport:
        intended = self.intended if self._accounted else None
        return monitored(self.trace, THROTTR, self.profile, self.variant, intended)
