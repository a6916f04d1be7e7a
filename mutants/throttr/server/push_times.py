"""Faults in when pushes are written: in which order, and amid what."""

from __future__ import annotations

from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.reference_server.service import Close, Peer, Write
from wireproof.reference_server.throttr.dispatch import Dispatch
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import State

__all__ = ["MUTANTS"]

LONG = 200
"""Bytes of a long answer."""
LATER_NS = 200_000_000


class _NewestFirst(ThrottrSession):
    """Of the pushes that wait the newest goes first."""

    def flush(self) -> None:
        """See `ThrottrSession`."""
        self._pushes.reverse()
        super().flush()


class _Acknowledging(ThrottrSession):
    """Takes the next byte that comes for an acknowledgement of the pushes before it."""

    _owed = False

    def flush(self) -> None:
        """See `ThrottrSession`."""
        self._owed = self._owed or bool(self._pushes)
        super().flush()

    def data_received(self, data: bytes) -> None:
        """See `ThrottrSession`."""
        if self._owed:
            self._owed, data = False, data[1:]
        if data:
            super().data_received(data)


class _Overtaken(ThrottrSession):
    """Some of an answer goes later, and pushes do not wait for it."""

    def __init__(self, state: State, dispatch: Dispatch, peer: Peer, write: Write, close: Close) -> None:
        super().__init__(state, dispatch, peer, self._part, self._close_later)
        self._out, self._end = write, close
        self._rest: list[bytes] = []
        self._pushing = False

    def at_once(self, answer: bytes) -> int:
        """Return how many bytes of an answer go at once: about half of a long one."""
        return len(answer) // 2 + 1 if len(answer) > LONG else len(answer)

    def flush(self) -> None:
        """See `ThrottrSession`."""
        self._pushing = True
        super().flush()
        self._pushing = False

    def _part(self, data: bytes) -> None:
        size = len(data) if self._pushing else 0 if self._rest else self.at_once(data)
        if size:
            self._out(data[:size])
        if size < len(data):
            if not self._rest:
                self._state.clock.call_at(self._state.clock.monotonic_ns() + LATER_NS, self._send_rest)
            self._rest.append(data[size:])

    def _send_rest(self) -> None:
        rest, self._rest = self._rest, []
        if rest:
            self._out(b"".join(rest))

    def _close_later(self) -> None:
        self._send_rest()
        self._end()


class _BareOvertaken(_Overtaken):
    """Answers to what has no status byte take a while, and pushes do not wait for them."""

    _bare = False

    def data_received(self, data: bytes) -> None:
        """See `ThrottrSession`."""
        self._bare = self._dispatch.is_bare[data[0]]
        super().data_received(data)

    def at_once(self, answer: bytes) -> int:
        """See `_Overtaken`."""
        return 0 if self._bare else len(answer)


# fmt: off
MUTANTS = (
    mutant("push-newest-first", "Of several pushes that wait the newest goes first.", "PUSH-10", session=_NewestFirst),
    mutant("push-within-an-answer", "A push may come between the halves of a long answer.", "PUSH-11", session=_Overtaken),
    mutant("push-awaits-an-answer", "The byte that a subscriber sends after a push is taken for its answer.", "PUSH-12", session=_Acknowledging),
    mutant("push-before-a-bare-answer", "A push overtakes the answer of LIST, INFO and the like.", "PUSH-17", "ROBUSTNESS-4", session=_BareOvertaken),
)  # fmt: skip
# fmt: on
