"""The reference server agrees with the model of its document, in every profile and width, and mutants do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import pytest

from tests.fuzz.planting import plant
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.replayed_conversations import MANY
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.store_input import KINDS, RECORDED, SMALL, WAIT, check, contexts
from wireproof.fuzz.store_seeds import BEFORE_EXPIRY, EXPIRED, LARGE, LONG_AFTER, seeds
from wireproof.fuzz.store_steps import (
    AdvanceStep,
    ConnectStep,
    DisconnectStep,
    HeldStep,
    PartsStep,
    RequestStep,
    Step,
    describe_step,
    script_of,
    steps_of,
)
from wireproof.protocols import Request
from wireproof.protocols.throttr import Attribute, Change, TTLType
from wireproof.protocols.throttr.codec import Codec
from wireproof.protocols.throttr.requests import (
    Channel,
    Channels,
    ConnectionByIndex,
    Connections,
    Event,
    Get,
    Info,
    Insert,
    List,
    Publish,
    Purge,
    Query,
    Set,
    Stat,
    Stats,
    Subscribe,
    Unsubscribe,
    Update,
    Whoami,
)
from wireproof.reference_server.namechan.session import NamechanSession
from wireproof.reference_server.throttr.record_requests import RecordRequests
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.store import Store

S = 10**9
K, C = b"key", b"channel"
INSERT, SET = Insert(7, TTLType.SECONDS, 30, K), Set(TTLType.SECONDS, 30, K, b"value")
MORE_TIME = Update(Attribute.TTL, Change.INCREASE, 30, K)


def a(*requests: Request) -> RequestStep:
    return RequestStep("a", requests)


def b(*requests: Request) -> RequestStep:
    return RequestStep("b", requests)


BEGIN: tuple[Step, ...] = (ConnectStep("a"), ConnectStep("b"), a(Whoami()), b(Whoami()))


def play(
    profile: str, variant: str, steps: Sequence[Step], mutant: str | None = None, *, shared: bool = False
) -> StoreCheck:
    context = FuzzContext("throttr", profile, variant)
    found = StoreCheck(context, InProcess("throttr", profile, variant, mutant=mutant), tolerance_ns=0, shared=shared)
    for step in (*BEGIN, *steps):
        found.do(step)
    return found


@pytest.mark.parametrize("number", range(len(contexts("throttr"))))
def test_every_exchange_of_the_vectors_agrees(number: int) -> None:
    mine = [data for data in seeds("throttr") if data[0] & ~SMALL == number]
    assert len(mine) > 500
    for data in mine[number::40]:
        check("throttr", data)


LIFE: tuple[Step, ...] = (
    a(INSERT, Query(K), MORE_TIME), b(Get(K), List(), Stats()), AdvanceStep(29 * S), a(Query(K)),
    AdvanceStep(31 * S - 1), b(Query(K), Info()), AdvanceStep(1), a(Query(K), List(), Info(), INSERT),
    AdvanceStep(30 * S), b(SET, Get(K), Purge(K)),
    a(Subscribe(C), Subscribe(C), Channels(), Channel(C)), b(Publish(C, b"x"), Publish(C, b"y")), a(Publish(C, b"z")),
    ConnectStep("c"), RequestStep("c", (Connections(), Info())), DisconnectStep("a", "half"),
    b(Publish(C, b"x"), Channels(), Info()), DisconnectStep("c", "reset"), b(Connections(), Unsubscribe(C)),
)  # fmt: skip


@pytest.mark.parametrize("context", contexts("throttr"), ids=lambda one: f"{one.profile}-{one.variant}")
def test_a_life_agrees(context: FuzzContext) -> None:
    assert len(play(context.profile, context.variant, LIFE).done) == len(BEGIN + LIFE)


@pytest.mark.parametrize(
    ("mutant", "profile", "clause", "steps"),
    [
        ("query-never-finds", "7.1.0", "INSERT-8", [a(INSERT), b(Query(K))]),
        ("quota-low-byte", "7.1.0", "INSERT-2", [a(Insert(260, TTLType.SECONDS, 30, K)), a(Query(K))]),
        ("insert-overwrites-a-buffer", "7.1.0", "INSERT-10", [a(SET, INSERT)]),
        ("purge-leaves-counters", "7.1.0", "LIST-14", [a(INSERT, Purge(K), List())]),
        ("update-ttl-earlier-ignored", "7.1.0", "EXPIRY-1",
         [a(INSERT, Update(Attribute.TTL, Change.DECREASE, 20, K)), AdvanceStep(10 * S), a(Query(K))]),
        ("update-revives", "7.1.0", "EXPIRY-3", [a(INSERT), AdvanceStep(30 * S), a(MORE_TIME, Query(K))]),
        ("expires-a-quarter-early", "7.1.0", "EXPIRY-11", [a(INSERT), AdvanceStep(29 * S), a(Query(K))]),
        ("query-answers-once-more", "7.1.0", "EXPIRY-1", [a(INSERT), AdvanceStep(30 * S), a(Query(K))]),
        ("query-shows-the-ttl-given", "7.3.2", "TTL-11", [a(INSERT), AdvanceStep(9 * S), a(Query(K))]),
        ("stats-of-purged-records", "7.1.0", "STATS-11", [a(INSERT, Purge(K), Stats())]),
        ("unsubscribe-for-everybody", "7.1.0", "PUBLISH-7",
         [a(Subscribe(C)), b(Subscribe(C), Unsubscribe(C), Publish(C, b"x"))]),
        ("subscriptions-outlive-connections", "7.1.0", "PUBLISH-8",
         [a(Subscribe(C)), DisconnectStep("a"), b(Publish(C, b"x"))]),
        ("push-newest-first", "7.1.0", "PUSH-10", [a(Subscribe(C)), b(Publish(C, b"x"), Publish(C, b"y"))]),
        ("subscribed-to-nothing", "7.3.2", "CHANNELS-12", [a(Channels())]),
        ("connection-index-one-beyond-is-the-last", "7.1.0", "CONNECTION-7", [a(ConnectionByIndex(2))]),
    ],
)  # fmt: skip
def test_mutants_disagree(mutant: str, profile: str, clause: str, steps: list[Step]) -> None:
    play(profile, "uint16", steps)
    with pytest.raises(InvariantError) as caught:
        play(profile, "uint16", steps, mutant)

    assert caught.value.clause == f"THR-{clause}", caught.value


def test_a_row_of_a_purged_record_is_wrong_also_where_others_use_the_server() -> None:
    with pytest.raises(InvariantError) as caught:
        play("7.1.0", "uint16", [a(INSERT, Purge(K), List())], "purge-leaves-counters", shared=True)

    assert caught.value.clause == "THR-LIST-14"


@pytest.mark.parametrize("mutant", ["legal-200-ms-an-answer", "legal-pushes-late", "legal-written-in-halves"])
def test_what_is_legal_agrees(mutant: str) -> None:
    steps = [a(INSERT, Query(K)), b(Subscribe(C)), a(Publish(C, b"x"), Info())]

    assert play("7.1.0", "uint16", steps, mutant).done


def test_a_request_that_an_event_carries_is_in_no_row_of_a_legal_server_either() -> None:
    steps = [a(Event(b"", b"\x14"), Connections()), b(Connections())]

    assert play("7.3.2", "uint16", steps, "legal-connections-uncounted").done


def test_steps_are_described_and_kept_as_a_script() -> None:
    context = contexts("throttr")[1]
    steps = [*BEGIN, a(INSERT), AdvanceStep(3 * S // 2), DisconnectStep("a", "half")]

    assert list(steps_of(script_of(steps, context), context)) == steps
    assert [describe_step(step) for step in steps[-3:]] == [
        f"a sends INSERT(quota=7, ttl_type=4, ttl=30, key={K.hex()} \"key\")", "1.5 s pass", "a ends (half)",
    ]  # fmt: skip


HELD = (b(Subscribe(C)), HeldStep("b", a(Publish(C, b"m"), INSERT)), HeldStep("a", a(Query(K), Purge(K))))
PARTS = (PartsStep(a(INSERT), 3, b(Query(b"other"), SET)), a(Query(K)), PartsStep(a(Query(K)), 1, b(Purge(b"other"))))


@pytest.mark.parametrize("steps", [HELD, PARTS])
def test_clients_that_take_nothing_or_send_in_parts_are_served(steps: Sequence[Step]) -> None:
    assert play("7.3.2", "uint16", steps).connections == ["a", "b"]


def test_a_first_part_that_harms_another_connection_is_found() -> None:
    with pytest.raises(InvariantError):
        play("7.3.2", "uint16", PARTS, "unfinished-requests-in-one-place")


def test_these_steps_are_described() -> None:
    assert describe_step(HELD[1]).startswith("while b takes nothing, a sends PUBLISH")
    assert " in two parts (cut 3); between them b sends QUERY" in describe_step(PARTS[0])


def check_all(some: Iterable[bytes]) -> None:
    for one in some:
        check("throttr", one)


def test_an_exception_that_the_server_catches_and_logs_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(store: Store, record: Record) -> None:
        raise KeyError(record.key)

    monkeypatch.setattr(Store, "remove", fails)
    with pytest.raises(InvariantError, match=r"the server stays: KeyError"):
        check_all(islice(seeds("throttr"), 3000))


def test_a_record_that_takes_its_follower_along_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has expired and was replaced before that was noticed took the new record of its key with it."""

    def add(store: Store, record: Record, due: int) -> None:
        store.records.pop(record.key, None)
        right(store, record, due)

    right = Store.add
    monkeypatch.setattr(Store, "add", add)
    with pytest.raises(InvariantError):
        check_all(one for one in seeds("throttr") if not one[0] & RECORDED and EXPIRED in one)


def test_a_channel_of_an_id_that_nobody_asked_for_is_found_with_its_row() -> None:
    own = "f5b165224a58b791df6af1d8303e61cd"  # the first id in this process
    found = StoreCheck(
        FuzzContext("throttr", "7.3.2", "uint16"), InProcess("throttr", "7.3.2", "uint16"), tolerance_ns=0, shared=False
    )

    found.do(ConnectStep("a"))
    found.do(a(Channel(own.encode())))


def test_counts_of_a_minute_long_ago_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a minute is, is left to servers (T34); ours says that it is the last full one."""
    life = (a(Insert(7, TTLType.HOURS, 30, K), Query(K)), AdvanceStep(125 * S), a(Stat(K)))

    def roll(self: Record, minute: int) -> None:
        self.reads_last, self.writes_last = self.reads - self.reads_before, self.writes - self.writes_before
        self.reads_before, self.writes_before, self.minute = self.reads, self.writes, minute

    play("7.1.0", "uint16", life)
    play("7.1.0", "uint16", (life[0], AdvanceStep(61 * S), life[2], AdvanceStep(61 * S), *life[2:]))
    monkeypatch.setattr(Record, "roll", roll)
    with pytest.raises(InvariantError, match="reads and 1 writes a minute, 125 s after the last request"):
        play("7.1.0", "uint16", life)


def test_reads_that_are_answered_from_memory_and_not_counted_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    life = (a(Insert(7, TTLType.HOURS, 30, K), Query(K), Query(K)), AdvanceStep(62 * S), a(Stat(K)))

    for profile in ("7.1.0", "7.3.2"):
        play(profile, "uint16", life)
    plant(monkeypatch, RecordRequests, "query", "        record.reads += 1\n", "")
    with pytest.raises(InvariantError, match="STAT of 6b6579: 1 reads in all, 2 were made before the last minute"):
        play("7.1.0", "uint16", life)
    with pytest.raises(InvariantError, match="2 of all at one instant"):
        play("7.1.0", "uint16", (life[0], a(Stat(K))))


@pytest.mark.parametrize(
    ("where", "name", "old", "new", "holds"),
    [
        (RecordRequests, "_remaining", "- left * unit + 1, due, self", "- left * unit + 1, self", BEFORE_EXPIRY),
        (Record, "roll", "minute == self.minute + 1", "minute > self.minute", LONG_AFTER),
        (ThrottrSession, "flush", "data, self._push_bytes = b", "data, _ = b", b"l" * LARGE),
    ],
    ids=["at the expiry", "after minutes", "more than may wait"],
)
def test_seeds_ask_again_at_the_expiry_long_after_and_often(
    where: Any, name: str, old: str, new: str, holds: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [one for one in seeds("throttr") if not one[0] & RECORDED and holds in one]
    plant(monkeypatch, where, name, old, new)

    with pytest.raises(InvariantError):
        check_all(some)


def test_bytes_behind_the_request_of_an_event_are_found_though_server_and_model_share_a_codec(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    life = (a(Event(C, b"\x18"), Event(C, b"\x18\x18")),)

    play("7.3.2", "uint16", life)
    plant(monkeypatch, Codec, "whole_request", " or stop != len(payload)", "")
    with pytest.raises(InvariantError, match="1818 is taken for WHOAMI"):
        play("7.3.2", "uint16", life)


def test_one_message_of_many_that_comes_late_is_found_by_a_seed() -> None:
    """A mutant that keeps each fiftieth message for a while was missed: no input had so many."""
    made = [one for one in seeds("namechan") if one[0] & RECORDED and one[-1] == MANY and len(one) > 4]
    found = set[str]()
    for one in made:
        check("namechan", one)
        try:
            check("namechan", one, "order-by-pairs")
        except InvariantError as error:
            found.add(error.invariant)

    assert found >= {"pushes agree with the model"}


def test_what_is_kept_for_a_client_that_takes_nothing_and_not_written_later_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A ping that came meanwhile waited for the end of the connection: the client was gone before anybody looked."""

    def resume(self: NamechanSession) -> None:
        self.is_slow = False
        self._work()

    held = [one for one in seeds("namechan") if one[0] & RECORDED and one[-2] & 15 == KINDS.index(WAIT)]
    monkeypatch.setattr(NamechanSession, "resume_writing", resume)

    def play_all() -> None:
        for one in held:
            check("namechan", one)

    with pytest.raises(InvariantError, match="what waits for a client is written"):
        play_all()
