"""T20: from its instant on a record is absent, whether or not the scheduler has come by."""

from __future__ import annotations

from tests.reference_server.throttr.simulated import SECOND, Client, Server
from wireproof.protocols.throttr import REFUSED, Attribute, Change, TTLType
from wireproof.protocols.throttr.replies import GetReply, QueryReply
from wireproof.protocols.throttr.requests import Get, Info, Insert, List, Purge, Query, Set, Stat, Stats, Update

S, H, NS = TTLType.SECONDS, TTLType.HOURS, TTLType.NANOSECONDS


def test_a_record_lives_until_its_instant_and_not_longer(server: Server, client: Client) -> None:
    client.asks(Insert(7, S, 2, b"c"), Set(S, 2, b"b", b"v"), Query(b"c"), Get(b"b"))
    server.wait(1.999999999)
    assert client.asks(Query(b"c"), Get(b"b")) == [QueryReply(7, S, 0), GetReply(S, 0, b"v")]

    server.wait(0.000000001)

    assert client.asks(Query(b"c"), Get(b"b")) == [REFUSED, REFUSED]


def late(server: Server, seconds: int) -> None:
    """Let `seconds` pass on the clock while nothing that is due runs, as on a busy machine."""
    server.clock._now_ns += seconds * SECOND


def test_an_expired_record_is_absent_even_if_nobody_removed_it(server: Server, client: Client) -> None:
    client.asks(Insert(7, S, 2, b"c"), Set(S, 2, b"b", b"v"), Query(b"c"), Get(b"b"))
    late(server, 2)

    requests = [Query(b"c"), Get(b"b"), Update(1, 0, 9, b"c"), Purge(b"c"), Stat(b"c")]

    assert client.asks(*requests) == [REFUSED] * 5
    assert client.asks(List(), Stats())[0].fragments == ()
    assert client.ask(Stats()).fragments == ()


def test_an_expired_record_is_in_no_count_even_if_nobody_removed_it(server: Server, client: Client) -> None:
    client.asks(Insert(7, S, 2, b"c"), Set(S, 2, b"b", b"v"), Insert(7, H, 2, b"far"))
    late(server, 2)

    info = client.ask(Info())

    assert (info.keys, info.counters, info.buffers) == (1, 1, 0)
    assert (info.allocated_bytes_on_counters, info.allocated_bytes_on_buffers) == (server.n, 0)


def test_the_key_of_an_expired_record_is_free_at_once(server: Server, client: Client) -> None:
    client.asks(Insert(7, S, 2, b"c"), Set(S, 2, b"b", b"v"))
    late(server, 2)

    assert client.ok(Set(S, 9, b"c", b"new"))
    assert client.ok(Insert(8, S, 9, b"b"))
    server.wait(1)
    assert client.asks(Get(b"c"), Query(b"b")) == [GetReply(S, 8, b"new"), QueryReply(8, S, 8)]


def test_a_record_under_the_key_of_a_purged_one_lives_its_own_time(server: Server, client: Client) -> None:
    client.asks(Insert(7, S, 2, b"k"), Purge(b"k"), Insert(8, S, 60, b"k"))
    server.wait(3)

    assert client.ask(Query(b"k")) == QueryReply(8, S, 57)


def test_moving_a_ttl_moves_the_expiry(server: Server, client: Client) -> None:
    client.asks(Insert(7, S, 2, b"later"), Insert(7, S, 60, b"sooner"))
    client.asks(Update(Attribute.TTL, Change.INCREASE, 9, b"later"), Update(1, Change.DECREASE, 58, b"sooner"))
    server.wait(3)

    assert client.asks(Query(b"later"), Query(b"sooner")) == [QueryReply(7, S, 8), REFUSED]


def test_a_decrease_to_now_or_below_ends_the_record(client: Client) -> None:
    for amount in (60, 61, 200):
        client.asks(Insert(7, S, 60, b"k"), Query(b"k"))

        assert client.ok(Update(Attribute.TTL, Change.DECREASE, amount, b"k"))
        assert client.asks(Query(b"k"), Purge(b"k")) == [REFUSED, REFUSED]


def test_a_ttl_of_zero_is_accepted_and_leaves_no_record(client: Client) -> None:
    assert client.ok(Insert(7, S, 0, b"c"))
    assert client.ok(Set(S, 0, b"b", b"v"))

    assert client.asks(Query(b"c"), Get(b"b"), Purge(b"c")) == [REFUSED] * 3
    assert client.ask(Info()).keys == 0


def test_products_of_amount_and_unit_never_wrap(server: Server, client: Client) -> None:
    client.ok(Insert(7, H, server.maximum, b"k"))
    server.wait(10)

    assert client.ask(Query(b"k")) == QueryReply(7, H, server.maximum - 1)


def test_a_remaining_ttl_beyond_the_width_is_echoed_modulo(server: Server, client: Client) -> None:
    client.asks(Insert(7, S, server.maximum, b"k"), Update(Attribute.TTL, Change.INCREASE, 9, b"k"))

    assert client.ask(Query(b"k")).ttl == 8


def test_a_time_point_beyond_64_bits_is_shown_as_the_largest() -> None:
    client = Server("7.1.0", "uint64").client()
    client.ok(Insert(7, H, (1 << 64) - 1, b"k"))

    assert client.ask(List()).fragments[0].rows[0].time_point == (1 << 64) - 1


def test_many_records_expire_in_the_same_instant(server: Server, client: Client) -> None:
    for number in range(300):
        client.ok(Insert(1, NS, 200, b"%d" % number))
    server.wait(1)

    assert client.ask(Info()).keys == 0
