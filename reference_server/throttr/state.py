"""The state that all connections of one server share, and the types of handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from wireproof.protocols.errors import ErrorCode, MalformedFrameError
from wireproof.protocols.frames import header_struct
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import Codec
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.service import Ids, Limits
from wireproof.reference_server.throttr.channels import Channels
from wireproof.reference_server.throttr.minutes import Minutes
from wireproof.reference_server.throttr.rules import Rules
from wireproof.reference_server.throttr.store import Store
from wireproof.reference_server.throttr.tally import Tally

if TYPE_CHECKING:
    from wireproof.reference_server.throttr.session import ThrottrSession

__all__ = ["ACCEPTED", "DENIED", "U64_MAX", "Calls", "Handler", "Handlers", "State"]

Handler = Callable[[Any, "ThrottrSession", int], bytes]
"""(request, session, now in monotonic ns) -> the bytes of the reply."""
Handlers = dict[type[Request], Handler]
Calls = dict[type[Request], Callable[..., bytes]]
"""Request class -> a function of its fields in wire order that returns the bytes of the reply."""

U64_MAX: Final = (1 << 64) - 1
ACCEPTED: Final = b"\x01"
DENIED: Final = b"\x00"
"""The two status bytes."""


class State:
    """One server's records, channels, connections and counts, under the rules of its profile."""

    def __init__(
        self,
        profile: Profile,
        variant: str,
        clock: Clock,
        ids: Ids,
        limits: Limits,
        options: Mapping[str, Any],
        rules: Rules,
    ) -> None:
        """There are no `options`."""
        self.codec = Codec.of(profile, variant)
        self.rules = rules
        self.limits = limits
        self.clock = clock
        self.value_size = profile.variants[variant].sizes["value"]
        self.value_max = (1 << (8 * self.value_size)) - 1
        self.now = start = clock.monotonic_ns()
        """The instant at which the current requests are answered, monotonic ns."""
        self.wall_offset = clock.wall_ns() - start
        """Monotonic ns plus this is ns since the Unix epoch; constant, so that shown instants do not change."""
        self.running_since = start + self.wall_offset
        self.minutes = Minutes(start)
        self.tally = Tally(self.minutes)
        self.store = Store(clock)
        self.channels = Channels()
        self.sessions: dict[bytes, ThrottrSession] = {}
        """Open connections by id, oldest first."""
        self.touched: list[ThrottrSession] = []
        """Connections that have pushes to write once the current request is answered."""
        self.fresh: list[ThrottrSession] = []
        """Connections with counts that `settle` has not collected yet."""
        self._ids = ids

    def wall(self, now: int) -> int:
        """Return `now` as ns since the Unix epoch, kept within 64 bits (T23)."""
        return min(max(now + self.wall_offset, 0), U64_MAX)

    def new_id(self) -> bytes:
        """Return an id that no open connection has."""
        while (fresh := self._ids()) in self.sessions:
            pass
        return fresh

    def turn_minute(self) -> None:
        """Begin the minute of `now`."""
        self.settle()
        self.minutes.reach(self.now)
        self.tally.roll()

    def settle(self) -> None:
        """Collect the counts of all connections; call this before they are read."""
        tally = self.tally
        fresh, self.fresh = self.fresh, []
        for session in fresh:
            session.is_fresh = False
            for kind, number in enumerate(session.fresh):
                if number:
                    session.counts[kind] += number
                    tally.totals[kind] += number
                    session.fresh[kind] = 0
            read, written = session.settled_bytes
            tally.read += session.read_bytes - read
            tally.written += session.written_bytes - written
            session.settled_bytes = session.read_bytes, session.written_bytes

    def forget(self, session: ThrottrSession) -> None:
        """Remove a connection that is gone, with its row and its subscriptions (T35, SUBSCRIBE-7)."""
        self.channels.leave(session)
        del self.sessions[session.id]
        self.settle()
        self.tally.closed_read += session.read_bytes
        self.tally.closed_written += session.written_bytes

    def miscounted(self) -> str:
        """Return which bytes are not those of the open connections, "" if all are."""
        self.settle()
        tally, open_now = self.tally, self.sessions.values()
        counted = tally.read - tally.closed_read, tally.written - tally.closed_written
        found = sum(one.read_bytes for one in open_now), sum(one.written_bytes for one in open_now)
        told = "{} bytes read and {} written are counted of open connections, {} and {} are theirs"
        return "" if counted == found else told.format(*counted, *found)

    def flush_pushes(self) -> None:
        """Write what was pushed while a request was answered."""
        touched, self.touched = self.touched, []
        for session in touched:
            session.flush()

    def tolerates(self, error: MalformedFrameError) -> bool:
        """Return whether the connection stays open and is ignored after `error` (T30)."""
        return error.code is ErrorCode.UNKNOWN_TYPE and self.rules.unknown_type == "silent"

    def packer(self, message: type[Message]) -> Callable[..., bytes]:
        """Return `pack(*fixed fields)`, which encodes what precedes the bodies of a flat message.

        It is for hot paths whose values are known to fit: it needs no message object and checks nothing.
        """
        layout = self.codec.layout(message)
        pack = header_struct(layout, self.codec.profile.byte_order, lead="s").pack
        pack = partial(pack, layout.lead) if layout.lead else pack
        if message not in self.codec.profile.orders:
            return pack
        places = [message.__struct_fields__.index(name) for name, _ in layout.fields]
        return lambda *values: pack(*(values[place] for place in places))
