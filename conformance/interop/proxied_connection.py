"""The connections of one scene as both sides may read them: what was asked, what was answered and pushed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wireproof.conformance.interop.proxy import Crossing
from wireproof.protocols import NEED_DATA, Push, RemoteProtocolError, Reply, Request
from wireproof.protocols.plain import Plain

__all__ = ["Line"]


@dataclass(slots=True)
class Line:
    """One connection; `look` reads what crossed since the last look."""

    crossing: Crossing
    asking: Any
    """A server's reader of what the client sent."""
    answering: Any
    """A client's reader of what the server sent."""
    requests: list[Request] = field(default_factory=list)
    replies: list[tuple[Reply, int]] = field(default_factory=list)
    """With the offset at which each begins."""
    pushes: list[tuple[Push, int]] = field(default_factory=list)
    broken: bool = False
    _seen: list[int] = field(default_factory=lambda: [0, 0])

    @classmethod
    def of(cls, crossing: Crossing, plain: Plain) -> Line:
        """Return the line of a connection, nothing read yet."""
        codec = plain.protocol.codec(plain.profile, plain.variant.name)
        return cls(crossing, plain.protocol.link.server(codec), plain.protocol.link.client(codec))

    def look(self) -> None:
        """Read what crossed; `broken` once one direction cannot be read on."""
        try:
            self._ask()
            self._answer()
        except RemoteProtocolError:
            self.broken = True

    def _ask(self) -> None:
        for data in self._new(0, self.crossing.sent):
            self.asking.receive_data(data)
        while not self.broken and (event := self.asking.next_event()) is not NEED_DATA:
            if isinstance(event, Request):
                self.requests.append(event)
                self.answering.await_reply(event)

    def _answer(self) -> None:
        for data in self._new(1, self.crossing.received):
            self.answering.receive_data(data)
        while not self.broken and (event := self.answering.next_event()) is not NEED_DATA:
            place = self.answering.span[0]
            if isinstance(event, Push):
                self.pushes.append((event, place))
            elif isinstance(event, Reply):
                self.replies.append((event, place))

    def _new(self, which: int, stream: bytearray) -> list[bytes]:
        at, self._seen[which] = self._seen[which], len(stream)
        return [bytes(stream[at:])] if len(stream) > at else []
