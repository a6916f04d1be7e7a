"""One named connection of a play: what is spoken on it, and how it stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import takewhile
from types import TracebackType

from wireproof.conformance.model.actions import Open
from wireproof.conformance.model.intended import Intended, IntendedFrame
from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.given_answers import GivenAnswers
from wireproof.conformance.player.noop_requests import NoopRequests
from wireproof.conformance.suite.field_boundaries import BoundaryReader
from wireproof.conformance.suite.pattern_types import MessagePattern
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import ErrorCode, LocalProtocolError, RemoteProtocolError


class _NeededOpen:
    """See `CaseConnection.needed_open`; a class, since every message that is sent goes through it."""

    __slots__ = ("_line",)

    def __init__(self, line: CaseConnection) -> None:
        self._line = line

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, LocalProtocolError) and self._line.ended is not None:
            detail = f"the target closed the connection ({self._line.ended})"
            raise Stopped(Verdict.FAIL, "an open connection", detail, byte=0) from error


class CaseConnection:
    """One named connection: its codec, what came on it, and how it stands."""

    def __init__(self, name: str, symbols: Symbols, link_name: str, *, first: bool = True) -> None:
        """`first`: no connection of the play has had its link before."""
        self.name = name
        self.link_name = link_name
        self.link = symbols.link(link_name)
        self.codec = self.link.client(symbols.codec)
        self.intended = Intended()
        self.noops = NoopRequests(symbols, self.link, self.codec)
        self._unsegmented = symbols.codec.profile.unsegmented
        if not first:
            self._unsegmented |= {type(one) for one in self.link.handshake()}
        self._codec_of_case = symbols.codec
        self.received = bytearray()
        self.ended: Kind | None = None
        """How the target ended it."""
        self.may_be_closed = False
        """The case says that the target closes it there: a no-op request after its last one may be left unanswered."""
        self._awaited: Collection[str] = ()
        """Names of pushes that are waited for now, though they may come at any time."""
        self.half_closed = False
        self.framed = True
        """False once bytes were sent that no request stands for: what may come after the last step is then open."""
        self.looked_at = 0
        """How many of the bytes received were seen to be pushes after what was asked for."""
        self.unread = False
        """Only what the case reads is read."""
        self.exchange: tuple[str, bool] | None = None
        """The clause that its last answer was judged by, and whether that only prepared."""
        self.answers = GivenAnswers()
        self.by_hand = False
        """Bytes were sent as the case writes them, which may ask for more than it says."""

    @cached_property
    def boundary_reader(self) -> BoundaryReader:
        """Reads what is sent; used where the delivery changes it."""
        return BoundaryReader(self.link, self._codec_of_case)

    @property
    def is_stream(self) -> bool:
        """Whether bytes come in order, with an end; otherwise each message is a datagram."""
        return self.link.transport == "stream"

    def opening(self, *, unread: bool, listener: str = "") -> Open:
        """Return what opens it; `listener` where it is not that of its link."""
        return Open(self.name, self.link_name, self.link.transport, unread, listener or self.link.listener)

    def unsegmented(self, frames: Sequence[IntendedFrame]) -> int:
        """Return how many bytes at the beginning of a write no segmentation cuts.

        They are what a profile wants whole, and the handshake, which is cut once in a play: on its first connection.
        """
        return sum(
            len(one.data) for one in takewhile(lambda one: type(one.message or one.like) in self._unsegmented, frames)
        )

    @contextmanager
    def awaiting(self, patterns: Iterable[MessagePattern]) -> Iterator[None]:
        """Let pushes through that are named, though they may come at any time."""
        self._awaited = frozenset(one.name for one in patterns)
        try:
            yield
        finally:
            self._awaited = ()

    def may_be_cut_off(self, error: RemoteProtocolError) -> bool:
        """Say whether it ended within a message where the case says that the target may close it."""
        return self.may_be_closed and self.ended is not None and error.code is ErrorCode.TRUNCATED

    def passes(self, event: object) -> bool:
        """Say whether an event is a push that may come at any time, and nobody waits for it."""
        return isinstance(event, self.link.anytime) and event.NAME not in self._awaited

    def needed_open(self) -> _NeededOpen:
        """Raise `Stopped` where the codec refuses to go on because the target closed the connection.

        `LocalProtocolError` leaves as it is where the target did not.
        """
        return _NeededOpen(self)
