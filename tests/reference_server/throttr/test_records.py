"""INSERT, QUERY, UPDATE, PURGE, SET and GET: what holds in every profile, then what differs."""

from __future__ import annotations

import gc

import pytest

from tests.reference_server.throttr.simulated import Client, Server
from wireproof.protocols.throttr import REFUSED, Attribute, Change, TTLType
from wireproof.protocols.throttr.replies import GetReply, QueryReply
from wireproof.protocols.throttr.requests import Get, Info, Insert, Purge, Query, Set, Update

S, H = TTLType.SECONDS, TTLType.HOURS
SECOND = 1_000_000_000


def update(attribute: int, change: int, value: int, key: bytes = b"k") -> Update:
    return Update(attribute, change, value, key)


def test_a_counter_is_stored_and_found(client: Client) -> None:
    assert client.ok(Insert(7, S, 60, b"k"))
    assert client.ask(Query(b"k")) == QueryReply(7, S, 60)


def test_the_largest_numbers_of_the_width_are_kept(server: Server, client: Client) -> None:
    assert client.ok(Insert(server.maximum, H, server.maximum, b"k" * 255))
    assert client.ask(Query(b"k" * 255)) == QueryReply(server.maximum, H, server.maximum)


def test_insert_on_a_live_counter_changes_nothing(client: Client) -> None:
    client.ok(Insert(7, S, 60, b"k"))

    assert not client.ok(Insert(8, H, 1, b"k"))
    assert client.ask(Query(b"k")) == QueryReply(7, S, 60)


def test_insert_on_a_live_buffer_changes_nothing(client: Client) -> None:
    client.ok(Set(S, 60, b"k", b"value"))

    assert not client.ok(Insert(8, H, 1, b"k"))
    assert client.ask(Get(b"k")) == GetReply(S, 60, b"value")


def test_a_buffer_is_stored_and_found(client: Client) -> None:
    value = bytes(range(255))

    assert client.ok(Set(S, 60, b"", value))
    assert client.ask(Get(b"")) == GetReply(S, 60, value)


def test_an_empty_value_is_a_value(client: Client) -> None:
    assert client.ok(Set(S, 60, b"k", b""))
    assert client.ask(Get(b"k")) == GetReply(S, 60, b"")


@pytest.mark.parametrize("size", [127, 128, 129, 255])
def test_get_answers_short_and_long_values_alike_and_again(client: Client, size: int) -> None:
    client.ok(Set(S, 60, b"k", b"v" * size))

    assert client.asks(Get(b"k"), Get(b"k"), Get(b"k")) == [GetReply(S, 60, b"v" * size)] * 3


def test_the_ttl_echoed_counts_down_in_its_unit(server: Server, client: Client) -> None:
    client.asks(Insert(7, S, 60, b"k"), Query(b"k"))
    server.wait(0.5)
    after_half = client.ask(Query(b"k")).ttl
    server.wait(0.5)
    after_one = client.ask(Query(b"k")).ttl
    server.wait(0.000000001)

    assert (after_half, after_one, client.ask(Query(b"k")).ttl) == (59, 59, 58)


def test_missing_keys_are_refused(client: Client) -> None:
    requests = [Query(b"x"), Get(b"x"), update(0, 0, 1, b"x"), update(1, 0, 1, b"x"), Purge(b"x")]

    assert client.asks(*requests) == [REFUSED] * 5


def test_purge_removes_either_kind_once(client: Client) -> None:
    client.asks(Insert(7, S, 60, b"c"), Set(S, 60, b"b", b"v"))

    statuses = [client.ok(Purge(key)) for key in (b"c", b"b", b"c", b"b")]

    assert statuses == [True, True, False, False]
    assert client.asks(Query(b"c"), Get(b"b")) == [REFUSED, REFUSED]


def test_quota_changes_show_at_once(client: Client) -> None:
    client.asks(Insert(7, S, 60, b"k"), Query(b"k"))
    quotas = []
    for change, value in [(Change.PATCH, 9), (Change.INCREASE, 3), (Change.DECREASE, 2), (Change.DECREASE, 10)]:
        assert client.ok(update(Attribute.QUOTA, change, value))
        quotas.append(client.ask(Query(b"k")).quota)

    assert quotas == [9, 12, 10, 0]


def test_a_quota_never_goes_below_zero(client: Client) -> None:
    client.ok(Insert(7, S, 60, b"k"))

    assert not client.ok(update(Attribute.QUOTA, Change.DECREASE, 8))
    assert client.ask(Query(b"k")).quota == 7


@pytest.mark.parametrize(("profile", "status", "quota"), [("7.1.0", False, 0xFFFF), ("7.3.2", True, 1)])
def test_a_quota_beyond_the_width_is_refused_or_wraps(profile: str, status: bool, quota: int) -> None:
    client = Server(profile).client()
    client.ok(Insert(0xFFFF, S, 60, b"k"))

    assert client.ok(update(Attribute.QUOTA, Change.INCREASE, 2)) is status
    assert client.ask(Query(b"k")).quota == quota


def test_a_buffer_has_no_quota_to_change(client: Client) -> None:
    client.ok(Set(S, 60, b"k", b"v"))

    assert [client.ok(update(Attribute.QUOTA, change, 0)) for change in (0, 1, 2, 3)] == [False] * 4


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [(1, 1e-9), (2, 1e-6), (3, 1e-3), (4, 1.0), (5, 60.0), (6, 3600.0)],
)
def test_a_ttl_is_changed_in_the_record_s_own_unit(server: Server, client: Client, unit: int, seconds: float) -> None:
    client.asks(Insert(7, unit, 100, b"k"), Query(b"k"))
    ttls = []
    for change, value in [(Change.PATCH, 50), (Change.INCREASE, 20), (Change.DECREASE, 10)]:
        assert client.ok(update(Attribute.TTL, change, value))
        ttls.append(client.ask(Query(b"k")).ttl)
    server.wait(seconds * 60)

    assert ttls == [50, 70, 60]
    assert client.ask(Query(b"k")) == REFUSED


def test_a_buffer_s_ttl_can_be_changed(client: Client) -> None:
    client.asks(Set(S, 60, b"k", b"v"), Get(b"k"))

    assert client.ok(update(Attribute.TTL, Change.PATCH, 9))
    assert client.ask(Get(b"k")) == GetReply(S, 9, b"v")


def test_ttl_patch_counts_from_now(server: Server, client: Client) -> None:
    client.ok(Insert(7, S, 60, b"k"))
    server.wait(50)
    client.ok(update(Attribute.TTL, Change.PATCH, 60))

    assert client.ask(Query(b"k")).ttl == 60


@pytest.mark.parametrize("attribute", [2, 255])
def test_an_unknown_attribute_is_refused(client: Client, attribute: int) -> None:
    client.ok(Insert(7, S, 60, b"k"))

    assert not client.ok(update(attribute, Change.PATCH, 1))
    assert client.ask(Query(b"k")) == QueryReply(7, S, 60)


@pytest.mark.parametrize(("profile", "status"), [("7.1.0", False), ("7.3.2", True)])
@pytest.mark.parametrize("attribute", [0, 1])
def test_an_unknown_change_does_nothing(profile: str, status: bool, attribute: int) -> None:
    client = Server(profile).client()
    client.ok(Insert(7, S, 60, b"k"))

    assert client.ok(update(attribute, 3, 1)) is status
    assert client.ask(Query(b"k")) == QueryReply(7, S, 60)


def test_the_document_keeps_counters_and_buffers_apart(document: Server) -> None:
    client = document.client()
    client.asks(Insert(7, S, 60, b"c"), Set(S, 60, b"b", b"v"))

    assert client.asks(Query(b"b"), Get(b"c")) == [REFUSED, REFUSED]


def test_the_released_server_answers_the_other_kind_with_nothing_in_it(released: Server) -> None:
    client = released.client()
    client.asks(Insert(7, S, 60, b"c"), Set(S, 60, b"b", b"v"), Query(b"c"), Get(b"b"))

    assert client.asks(Query(b"b"), Get(b"c")) == [QueryReply(0, S, 60), GetReply(S, 60, b"")]


def test_set_on_a_buffer_is_refused_by_the_document(document: Server) -> None:
    client = document.client()
    client.ok(Set(S, 60, b"k", b"old"))

    assert not client.ok(Set(H, 1, b"k", b"new"))
    assert client.ask(Get(b"k")) == GetReply(S, 60, b"old")


def test_set_on_a_buffer_overwrites_in_the_released_server(released: Server) -> None:
    client = released.client()
    client.asks(Set(S, 60, b"k", b"old"), Get(b"k"))

    assert client.ok(Set(H, 1, b"k", b"longer"))
    assert client.ask(Get(b"k")) == GetReply(H, 1, b"longer")


@pytest.mark.parametrize("value", [b"", b"new", b"longer"])
@pytest.mark.parametrize("ttl", [30, 60, 90])
def test_the_last_set_decides_size_and_expiry(released: Server, value: bytes, ttl: int) -> None:
    client = released.client()
    client.asks(Set(S, 60, b"k", b"old"), Set(S, ttl, b"k", value))
    size = client.ask(Info()).allocated_bytes_on_buffers
    released.clock.advance(ttl * SECOND - 1)
    before = client.ask(Get(b"k"))
    released.clock.advance(1)

    assert size == len(value)
    assert (before, client.ask(Get(b"k"))) == (GetReply(S, 0, value), REFUSED)
    assert client.ask(Info()).keys == 0


def test_sets_that_come_together_keep_their_own_expiry(server: Server, client: Client) -> None:
    together = [(S, 60), (S, 60), (S, 61), (H, 61), (H, 2), (S, 2)]
    client.asks(*(Set(unit, ttl, bytes([n]), b"v") for n, (unit, ttl) in enumerate(together)))
    server.clock.advance(SECOND)
    client.ask(Set(S, 2, b"later", b"v"))

    left = [client.ask(Get(bytes([n]))).ttl for n in range(6)]
    assert left == [59, 59, 60, 60, 1, 1]
    assert client.ask(Get(b"later")).ttl == 2


def test_an_unknown_ttl_type_is_refused_after_a_known_one(document: Server) -> None:
    client = document.client()
    answers = client.asks(*(Set(unit, 9, b"k%d" % unit, b"v") for unit in (S, 7, H, 0)))

    assert [answer == REFUSED for answer in answers] == [False, True, False, True]


def test_the_garbage_collector_looks_at_no_record(released: Server) -> None:
    client = released.client()
    client.asks(Insert(7, S, 60, b"c"), Query(b"c"), Set(S, 60, b"b", b"old"), Get(b"b"), Set(S, 90, b"b", b"new"))

    assert [gc.is_tracked(record) for record in released.service.state.store.records.values()] == [False, False]


def test_set_on_a_counter_is_refused(client: Client) -> None:
    client.ok(Insert(7, S, 60, b"k"))

    assert not client.ok(Set(H, 1, b"k", b"v"))
    assert client.ask(Query(b"k")) == QueryReply(7, S, 60)


@pytest.mark.parametrize("unit", [0, 7, 255])
def test_unknown_ttl_types_are_refused_by_the_document(document: Server, unit: int) -> None:
    client = document.client()

    assert client.asks(Insert(7, unit, 60, b"c"), Set(unit, 60, b"b", b"v"), Query(b"c"), Get(b"b")) == [REFUSED] * 4


@pytest.mark.parametrize("unit", [0, 7, 255])
def test_unknown_ttl_types_are_seconds_in_the_released_server(released: Server, unit: int) -> None:
    client = released.client()
    client.ok(Insert(7, unit, 60, b"k"))
    assert client.ok(update(Attribute.TTL, Change.INCREASE, 60))
    assert client.ask(Query(b"k")) == QueryReply(7, unit, 60)

    assert client.ok(update(Attribute.TTL, Change.PATCH, 60))
    assert client.ask(Query(b"k")) == REFUSED


def test_a_long_value_is_kept_whole_where_the_width_allows_it() -> None:
    client = Server("7.3.2", "uint32").client()
    value = bytes(range(256)) * 400
    client.ok(Set(S, 60, b"k", value))

    assert client.asks(Get(b"k"), Query(b"k"), Get(b"k"))[::2] == [GetReply(S, 60, value)] * 2


def test_two_keys_are_one_only_when_every_byte_is_the_same(client: Client) -> None:
    keys = [b"k", b"K", b"k\0", b"", b"\0", b"k" * 255, b"k" * 254]
    for number, key in enumerate(keys):
        assert client.ok(Insert(number, S, 60, key))

    assert [client.ask(Query(key)).quota for key in keys] == list(range(7))
