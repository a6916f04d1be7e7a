"""Records in the model: the possible states of each key, narrowed by every answer; judges LIST, STATS and INFO."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import Attribute, KeyType
from wireproof.protocols.throttr.replies import (
    GetReply,
    ListReply,
    ListRow,
    QueryReply,
    StatReply,
    StatsReply,
    StatsRow,
    Status,
)
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Set, Stat, Update
from wireproof.reference_server.model import Disagreement, Window
from wireproof.reference_server.throttr.model import ABSENT, UNITS, Due, Record, States
from wireproof.reference_server.throttr.oracle.clauses import OTHERS, READ, clause_of, left_by
from wireproof.reference_server.throttr.oracle.fragments import misnumbered, repeated
from wireproof.reference_server.throttr.oracle.shared_keys import SharedKeys
from wireproof.reference_server.throttr.oracle.timed import TimedModel

__all__ = ["Records"]

CLAUSES = {
    "LIST": ("THR-LIST-13", "THR-EXPIRY-6", "THR-LIST-14"),
    "STATS": ("THR-STATS-11", "THR-EXPIRY-7", "THR-STATS-11"),
}
"""Listing -> the clauses that say which keys it has: those that live, none that expired, none that were purged."""
REFUSED, EARLY = "THR-RECORD-9", "THR-EXPIRY-11"
CLAMPED = 1 << 63
"""Later instants are not compared: a time point may be limited to 64 bits (TTL-14)."""
READINGS = (Query, Get, Stat)
"""Requests that leave a record as it is: what one shows wrong right after a refusal was changed by the refused one."""
FORGOTTEN = 120 * 10**9
"""ns after which no count of a request is shown as one of the last full minute (T34): two of them have passed."""
COUNTED = 61 * 10**9
"""ns after which a read shows in the total, live or since the minute ended (T27)."""
AT_ONCE = 10**9
"""ns within which a reading shows what a change has done, and not what time has."""
MOVED = 2 * 10**9
"""The change of an expiry, in ns, that must show in its time point in any unit (T23)."""


@dataclass
class Since:
    """What came since a record was last seen as it should be."""

    readings: set[str]
    """The kinds of requests that read it then and later."""
    seen: int
    """When that was, ns."""
    other: tuple[Request, int] | None = None
    """The last accepted request that changed another record, and when."""


class Records:
    """Every used key with its possible states."""

    def __init__(self, profile: Profile, variant: str, *, tolerance_ns: int, shared: bool) -> None:
        self._rules = TimedModel(profile, variant, tolerance_ns)
        self._shared = shared
        self._is_exact = not (shared or tolerance_ns)
        """Whether the server is alone and its clock is ours."""
        self._rounding = ""
        """How the first TTL that shows it was rounded."""
        self._size = profile.variants[variant].sizes["value"]
        self._reports_key_type = profile.name != "7.1.0"
        self._leaves_set_open = profile.name == "7.1.0"
        """Whether SET may do as it likes with a key that is there (SET-18, SET-20): then its answer must be true."""
        self.shared_keys = SharedKeys(leaves_set_open=self._leaves_set_open)
        self._states: dict[bytes, States] = {}
        self._points: dict[bytes, tuple[int, Due]] = {}
        """Key -> (the last time point in LIST, the expiry at that time)."""
        self._before: dict[bytes, tuple[Request, bool, str, int]] = {}
        """Key -> (the last request that may have changed its record, whether it was refused, what was held, when)."""
        self._since: dict[bytes, Since] = {}
        """Key -> what came since its record was last seen as it should be; a request that may change it begins anew."""
        self._asked: dict[bytes, int] = {}
        """Key -> the last instant at which something was asked about it alone."""
        self._retrieved: dict[bytes, list[int]] = {}
        """Key -> the instants at which its record was read by QUERY or GET, since it may have been made anew."""
        self._only_read: set[bytes] = set()
        """Keys whose record was made and, since then, asked for by QUERY and GET alone."""
        self._listed = 0  # the last instant at which something was asked about all
        self._purged: set[bytes] = set()
        """Keys whose record was purged: nobody else stores under these, also where others use the server."""

    def is_about_one(self, request: Request) -> bool:
        """Return whether a request is about one record."""
        try:
            self._rules.key(request)
        except ValueError:
            return False
        return True

    def answered(self, request: Request, reply: Message, at: Window) -> Disagreement | None:
        """Judge the reply to a request about one record."""
        key, self._rules.at = self._rules.key(request), at
        if self.shared_keys.is_unknown(key, request, reply):
            return None
        if isinstance(reply, StatReply) and (
            wrong := self._remembered(key, reply, at) or self._uncounted(key, reply, at)
        ):
            return wrong
        if self._is_exact:
            self._asked[key] = at.until
        held = self._states.get(key, (ABSENT,))
        after = tuple(dict.fromkeys(then for state in held for then in self._rules.step(state, request, reply)))
        if not after:
            return self._wrong(request, reply, held)
        self._count(key, request, reply, at, is_new=held == (ABSENT,))
        if isinstance(reply, QueryReply | GetReply) and (wrong := self._rounded(request, reply.ttl, after)):
            return wrong
        refused = isinstance(reply, Status) and not reply.ok
        if not isinstance(request, READINGS):
            self._before[key] = request, refused, self._kind(held[0]), at.until
        is_whole = all(state is not None and self._shows(reply, state) for state in after)
        self._since_seen(key, request, at, is_whole=is_whole, changed=not (refused or isinstance(request, READINGS)))
        self._keep(key, after)
        if isinstance(request, Purge) and isinstance(reply, Status) and reply.ok:
            self._purged.add(key)
        return None

    def forget(self, request: Request) -> None:
        """Take it that anything may be where a request is about a record."""
        self.shared_keys.forget(self._rules.key(request))
        self._keep(self._rules.key(request), (ABSENT,))

    def _since_seen(self, key: bytes, request: Request, at: Window, *, is_whole: bool, changed: bool) -> None:
        """Note what may be why a record that was seen as it should be (`is_whole`) is seen otherwise later."""
        if not isinstance(request, READINGS):
            self._since.pop(key, None)
        elif is_whole:
            self._since[key] = Since({request.NAME}, at.until)
        elif key in self._since:
            self._since[key].readings.add(request.NAME)
        if changed:
            for one in (since for name, since in self._since.items() if name != key):
                one.other = request, at.until

    def _count(self, key: bytes, request: Request, reply: Message, at: Window, *, is_new: bool) -> None:
        """Note when a record was read; what may make another record of it begins anew."""
        if isinstance(reply, QueryReply | GetReply):
            self._retrieved.setdefault(key, []).append(at.until)
            return
        if not isinstance(request, READINGS):
            self._retrieved.pop(key, None)
        if is_new and isinstance(request, Insert | Set) and reply == Status(True):
            self._only_read.add(key)
        else:
            self._only_read.discard(key)

    def _uncounted(self, key: bytes, reply: StatReply, at: Window) -> Disagreement | None:
        """Judge that each QUERY and GET counts once its minute is over, where the server is alone on an exact clock."""
        times, shown = self._retrieved.get(key, []), reply.total_reads
        least = sum(one + COUNTED <= at.since for one in times)
        at_once = len(times) if key in self._only_read and len({*times}) == 1 else 0
        if not self._is_exact or (shown >= least and not 0 < shown < at_once):
            return None
        detail = f"STAT of {key.hex()}: {shown} reads in all, {least} were made before the last minute"
        return Disagreement(f"{detail}, {at_once} of all at one instant", "reads uncounted", "THR-STAT-7")

    def touched(self, at: Window) -> None:
        """Follow a request that may count for every record."""
        self._listed = max(self._listed, at.until)
        self._only_read.clear()

    def _remembered(self, key: bytes, reply: StatReply, at: Window) -> Disagreement | None:
        """Judge that a minute without requests shows none, where the server is alone on an exact clock."""
        last = max(self._asked.get(key, 0), self._listed)
        counts = reply.reads_per_minute, reply.writes_per_minute
        if not self._is_exact or at.since - last < FORGOTTEN or not any(counts):
            return None
        detail = f"STAT shows {counts[0]} reads and {counts[1]} writes a minute, {(at.since - last) // 10**9} s after"
        return Disagreement(f"{detail} the last request about that record", "old minute shown", "THR-STAT-5")

    def _rounded(self, request: Request, ttl: int, held: States) -> Disagreement | None:
        """Judge that a server which is alone on an exact clock rounds always the same way, which is left to it."""
        (state, *others), at = held, self._rules.at
        if not self._is_exact or others or state is None or state.due is None or at.since != at.until:
            return None
        left, unit = state.due.last - at.until, UNITS[state.ttl_type]
        whole = left // unit
        if not left % unit or ttl == state.ttl or whole >= (1 << 8 * self._size) - 1:
            return None
        how = "down" if ttl == whole else "up" if ttl == whole + 1 else "in another way"
        self._rounding = self._rounding or how
        if how == self._rounding:
            return None
        words = f"{request.NAME} shows {ttl} while {left} ns are left, rounded {how}, and others {self._rounding}"
        return Disagreement(words, "TTL rounded in two ways", "THR-TTL-11")

    def _keep(self, key: bytes, states: States) -> None:
        if states == (ABSENT,):
            self._states.pop(key, None)
            self._points.pop(key, None)
        else:
            self._purged.discard(key)
            self._states[key] = states

    def _wrong(self, request: Request, reply: Message, held: States) -> Disagreement:
        detail = " or ".join(dict.fromkeys(map(self._described, held)))
        kinds = " or ".join(sorted({self._kind(state) for state in held}))
        answer = f"{reply.NAME} {int(reply.ok)}" if isinstance(reply, Status) else reply.NAME
        clause = clause_of(request, self._kind(held[0])) if len({self._kind(one) for one in held}) == 1 else None
        before = self._before.get(self._rules.key(request))
        if before is not None and isinstance(request, READINGS):
            changed, refused, kind, when = before
            detail += f", after {changed.NAME} was answered {'00' if refused else '01'}"
            if refused:
                clause = REFUSED if self._leaves_set_open and isinstance(changed, Set) else clause_of(changed, kind)
            else:
                clause = (
                    self._elsewhere(request, reply, held) or self._effect(changed, kind, when, reply, held) or clause
                )
        return Disagreement(f"{request.NAME} with {detail}", f"{kinds} > {request.NAME} > {answer}", clause)

    def _elsewhere(self, request: Request, reply: Message, held: States) -> str:
        """Return the clause of a request about another record, or of a reading, after which a record is another one.

        It was seen as it should be before. "" where nothing of that kind came, or where time may be why.
        """
        since, (state, *others) = self._since.get(self._rules.key(request)), held
        if since is None or others or self._kind(state) in ("nothing", "expired"):
            return ""
        assert state is not None
        is_about_time = not self._shows(reply, state) or self._differs(reply, state) == "ttl"
        changed, when = since.other or (None, since.seen)
        if is_about_time and self._rules.at.until - when >= AT_ONCE:
            return ""
        if changed is not None:
            return f"THR-{OTHERS[changed.NAME]}"
        return f"THR-{READ[since.readings.pop()]}" if len(since.readings) == 1 else ""

    @staticmethod
    def _shows(reply: Message, state: Record) -> TypeGuard[QueryReply | GetReply]:
        """Say whether a reply shows all of a record."""
        return isinstance(reply, QueryReply if state.is_counter else GetReply)

    @staticmethod
    def _differs(reply: QueryReply | GetReply, state: Record) -> str:
        """Return what of a record a reply shows otherwise."""
        content = reply.quota if isinstance(reply, QueryReply) else reply.value
        if state.content is not None and content != state.content:
            return "content"
        return "type" if reply.ttl_type != state.ttl_type else "ttl"

    def _effect(self, changed: Request, kind: str, when: int, reply: Message, held: States) -> str:
        """Return the clause of what `changed` leaves, where a reading shows another thing; "" if none says it.

        `kind` is what its key held before it. What ended by the time that passed since breaks no clause of a change;
        nor, once some time has passed, does what is gone too early or has another TTL: that may be how time is kept.
        """
        (state, *others), differs = held, ""
        ended = state is not None and state.due is not None and when < state.due.last <= self._rules.at.until
        at_once = self._rules.at.until - when < AT_ONCE
        if others or ended:
            return ""
        if state is None or self._kind(state) == "expired":
            return left_by(changed, kind, "still there")
        if isinstance(reply, Status):
            is_moved = isinstance(changed, Update) and changed.attribute == Attribute.TTL
            return left_by(changed, kind, "gone") if at_once or is_moved else EARLY
        if self._shows(reply, state):
            differs = self._differs(reply, state)
            if differs == "ttl" and not at_once and reply.ttl == state.ttl:
                return "THR-TTL-11"
        return left_by(changed, kind, differs) if at_once or differs != "ttl" else ""

    def _kind(self, state: Record | None) -> str:
        if state is None:
            return "nothing"
        if self._rules.seen(state) == (ABSENT,):
            return "expired"
        return "counter" if state.is_counter else "buffer"

    def _described(self, state: Record | None) -> str:
        detail = self._rules.describe(state)
        if state is None or state.due is None:
            return detail
        left = state.due.last - self._rules.at.since
        return f"{detail}, {'expired' if self._kind(state) == 'expired' else 'due'} in {left} ns"

    def listed(self, reply: ListReply, at: Window) -> Disagreement | None:
        """Judge the answer to LIST."""
        self._rules.at = at
        self.touched(at)
        rows = [row for fragment in reply.fragments for row in fragment.rows]
        for key, row in ((one.key, one) for one in rows if one.key in self._states):
            found = [state for state in self._seen(key) if state is not None and self._fits(state, row)]
            if found:
                self._keep(key, tuple(found))
            elif any(self._seen(key)):
                detail = " or ".join(map(self._described, self._seen(key)))
                clause = self._row_clause(row, self._seen(key))
                return Disagreement(f"LIST has {row} for {detail}", "LIST row wrong", clause)
        return self._names("LIST", reply, rows) or self._points_moved(rows)

    def stats_listed(self, reply: StatsReply, at: Window) -> Disagreement | None:
        """Judge the keys in the answer to STATS, not its metrics (T27, T34, T47)."""
        self._rules.at = at
        self.touched(at)
        return self._names("STATS", reply, [row for fragment in reply.fragments for row in fragment.rows])

    def _seen(self, key: bytes) -> States:
        held = self._states.get(key, (ABSENT,))
        return tuple(dict.fromkeys(one for state in held for one in self._rules.seen(state)))

    def _row_clause(self, row: ListRow, held: States) -> str:
        """Return the clause of the field that no state of a record has as its row has it."""
        states = [state for state in held if state is not None]
        if all(row.ttl_type != state.ttl_type for state in states):
            return "THR-LIST-7"
        kinds = [KeyType.COUNTER if state.is_counter else KeyType.BUFFER for state in states]
        return "THR-LIST-6" if self._reports_key_type and row.key_type not in kinds else "THR-LIST-11"

    def _fits(self, state: Record, row: ListRow) -> bool:
        """Return whether a row may be this record's; its key type counts only since 7.3.2 (T28)."""
        kind = KeyType.COUNTER if state.is_counter else KeyType.BUFFER
        if row.ttl_type != state.ttl_type or (self._reports_key_type and row.key_type != kind):
            return False
        if state.is_counter:
            return row.bytes_used == self._size
        return not isinstance(state.content, bytes) or row.bytes_used == len(state.content)

    def _names(
        self, name: str, reply: ListReply | StatsReply, rows: Iterable[ListRow | StatsRow]
    ) -> Disagreement | None:
        """Judge that every live record has one row, and that others have none unless other clients use the server."""
        keys = [row.key for row in rows]
        there, expired, purged = CLAUSES[name]
        wrong = misnumbered(name, reply.fragments) or repeated(name, keys, there)
        if wrong is not None:
            return wrong
        # Rows of other clients are left alone: on a server that many use there are thousands of them.
        known = self._states.keys() | self._purged
        for key in (one for one in keys if one in known) if self._shared else keys:
            if not any(self._seen(key)):
                was = " or ".join(map(self._described, self._states.get(key, (ABSENT,))))
                detail = f"{name} has a row for {key.hex() or 'the empty key'}, with {was}"
                clause = expired if key in self._states else purged if key in self._purged else there
                return Disagreement(detail, f"{name} row for nothing", clause)
        listed = set(keys)
        for key in list(self._states):
            if key not in listed and ABSENT not in self._seen(key):
                detail = f"{name} lacks {key.hex()}, with {' or '.join(map(self._described, self._states[key]))}"
                return Disagreement(detail, f"{name} row missing", there)
        return None

    def _points_moved(self, rows: Iterable[ListRow]) -> Disagreement | None:
        """Judge that a time point moved in the direction of its expiry since the last LIST (LIST-8)."""
        for row in rows:
            states = self._states.get(row.key, ())
            if len(states) != 1 or states[0] is None or states[0].due is None or states[0].due.last >= CLAMPED:
                continue
            now = states[0].due
            point, then = self._points.get(row.key, (row.time_point, now))
            self._points[row.key] = (row.time_point, now)
            if (now.first > then.last + MOVED and row.time_point <= point) or (
                now.last < then.first - MOVED and row.time_point >= point
            ):
                detail = f"LIST: time point of {row.key.hex()} was {point}, is {row.time_point}; it is due {now}"
                return Disagreement(f"{detail}, was {then}", "time point stands", "THR-LIST-8")
        return None

    def counted(self, at: Window) -> dict[str, tuple[int, int]]:
        """Return field of INFO -> its bounds."""
        self._rules.at = at
        sums = {"keys": [0, 0], "counters": [0, 0], "buffers": [0, 0]}
        for key in list(self._states):
            kinds = {self._kind(state) if state else "nothing" for state in self._seen(key)}
            for count, names in (("counters", {"counter"}), ("buffers", {"buffer"}), ("keys", {"counter", "buffer"})):
                sums[count][0] += kinds <= names
                sums[count][1] += not kinds.isdisjoint(names)
        return {field: (least, most) for field, (least, most) in sums.items()}

    def has_expired(self, at: Window) -> bool:
        """Return whether any record that is known has ended by itself."""
        self._rules.at = at
        return any(self._kind(state) == "expired" for held in self._states.values() for state in held)

    def instants(self) -> list[int]:
        """Return the latest expiries of all records, and when each TTL is next shown lower; in ns and ascending."""
        held = [state for states in self._states.values() for state in states if state and state.due]
        return sorted({*self._changes(held)})

    def _changes(self, held: Iterable[Record]) -> Iterator[int]:
        for state in held:
            assert state.due is not None
            yield state.due.last
            unit = UNITS[state.ttl_type]
            yield state.due.last - max(0, state.due.last - self._rules.at.until - 1) // unit * unit
