"""Requests about records against a dict that knows nothing of schedulers, caches or buckets; time moves in between."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.reference_server.throttr.simulated import COMBINATIONS, Server
from wireproof.protocols.throttr import REFUSED
from wireproof.protocols.throttr.requests import Get, Info, Insert, List, Purge, Query, Set, Update

NS = {1: 1, 2: 10**3, 3: 10**6, 4: 10**9, 5: 60 * 10**9, 6: 3600 * 10**9}
KEYS = st.sampled_from([b"", b"a", b"b", b"c"])
UNITS = st.integers(min_value=1, max_value=6)
AMOUNTS = st.integers(min_value=0, max_value=255)


@dataclass
class Held:
    """A record of the model; `value` None = a counter."""

    unit: int
    due: int
    quota: int = 0
    value: bytes | None = None


class Model(RuleBasedStateMachine):
    """The server and the dict agree on every answer."""

    @initialize(combination=st.sampled_from(COMBINATIONS))
    def start(self, combination: tuple[str, str]) -> None:
        self.server = Server(*combination)
        self.client = self.server.client()
        self.released = combination[0] == "7.3.2"
        self.held: dict[bytes, Held] = {}

    def live(self, key: bytes) -> Held | None:
        held = self.held.get(key)
        return held if held is not None and held.due > self.now else None

    @property
    def now(self) -> int:
        return self.server.clock.monotonic_ns()

    def ttl(self, held: Held) -> int:
        return (held.due - self.now) // NS[held.unit] & self.server.maximum

    @rule(key=KEYS, quota=AMOUNTS, unit=UNITS, ttl=AMOUNTS)
    def insert(self, key: bytes, quota: int, unit: int, ttl: int) -> None:
        free = self.live(key) is None
        assert self.client.ok(Insert(quota, unit, ttl, key)) is free
        if free:
            self.held[key] = Held(unit, self.now + ttl * NS[unit], quota)

    @rule(key=KEYS, value=st.binary(max_size=200), unit=UNITS, ttl=AMOUNTS)
    def set(self, key: bytes, value: bytes, unit: int, ttl: int) -> None:
        held = self.live(key)
        stored = held is None or (self.released and held.value is not None)
        assert self.client.ok(Set(unit, ttl, key, value)) is stored
        if stored:
            self.held[key] = Held(unit, self.now + ttl * NS[unit], value=value)

    @rule(key=KEYS)
    def query(self, key: bytes) -> None:
        held, reply = self.live(key), self.client.ask(Query(key))
        if held is None or (held.value is not None and not self.released):
            assert reply == REFUSED
        else:
            assert (reply.quota, reply.ttl_type, reply.ttl) == (held.quota, held.unit, self.ttl(held))

    @rule(key=KEYS)
    def get(self, key: bytes) -> None:
        held, reply = self.live(key), self.client.ask(Get(key))
        if held is None or (held.value is None and not self.released):
            assert reply == REFUSED
        else:
            assert (reply.value, reply.ttl_type, reply.ttl) == (held.value or b"", held.unit, self.ttl(held))

    @rule(key=KEYS, change=st.integers(0, 2), value=AMOUNTS)
    def update_quota(self, key: bytes, change: int, value: int) -> None:
        held = self.live(key)
        ok = held is not None and held.value is None
        if ok and held is not None:
            quota = [value, held.quota + value, held.quota - value][change]
            if self.released and change == 1:
                quota &= self.server.maximum
            ok = 0 <= quota <= self.server.maximum
            held.quota = quota if ok else held.quota
        assert self.client.ok(Update(0, change, value, key)) is ok

    @rule(key=KEYS, change=st.integers(0, 2), value=AMOUNTS)
    def update_ttl(self, key: bytes, change: int, value: int) -> None:
        held = self.live(key)
        if held is not None:
            span = value * NS[held.unit]
            held.due = [self.now + span, held.due + span, held.due - span][change]
        assert self.client.ok(Update(1, change, value, key)) is (held is not None)

    @rule(key=KEYS)
    def purge(self, key: bytes) -> None:
        assert self.client.ok(Purge(key)) is (self.live(key) is not None)
        self.held.pop(key, None)

    @rule(ns=st.one_of(st.integers(0, 300), st.sampled_from([10**6, 10**9, 61 * 10**9, 3600 * 10**9])))
    def wait(self, ns: int) -> None:
        self.server.clock.advance(ns)

    @rule(key=KEYS)
    def wait_for_the_end_of_a_record(self, key: bytes) -> None:
        held = self.live(key)
        if held is not None:
            self.server.clock.advance_to(held.due)

    @invariant()
    def the_same_records_are_live(self) -> None:
        if not hasattr(self, "client"):
            return
        listed, info = self.client.asks(List(), Info())
        live = {key: held for key in self.held if (held := self.live(key)) is not None}
        rows = {row.key: row.ttl_type for one in listed.fragments for row in one.rows}  # type: ignore[attr-defined]
        assert rows == {key: held.unit for key, held in live.items()}
        counted = (info.keys, info.buffers, info.allocated_bytes_on_buffers)  # type: ignore[attr-defined]
        values = [held.value for held in live.values() if held.value is not None]
        assert counted == (len(live), len(values), sum(map(len, values)))


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
