"""INFO, CONNECTIONS, CONNECTION, WHOAMI, LIST, STATS and STAT: what they count and how they are cut."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference_server.throttr.simulated import SECOND, Client, Server
from wireproof.protocols import Request
from wireproof.protocols.throttr import PROFILES, REFUSED, TTLType
from wireproof.protocols.throttr.replies import ListRow, StatReply, StatsRow
from wireproof.protocols.throttr.requests import (
    Channels,
    ConnectionById,
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
    Update,
    Whoami,
)
from wireproof.reference_server.service import Peer

S = TTLType.SECONDS


def rows(reply: Any) -> list[Any]:
    return [row for fragment in reply.fragments for row in fragment.rows]


def own_row(client: Client, server: Server) -> Any:
    by_id = ConnectionById in PROFILES[server.codec.profile.name].replies
    request: Request = ConnectionById(client.session.id) if by_id else ConnectionByIndex(0)
    return client.ask(request)


def example(request: type[Request]) -> Request:
    """A request of a class, its fields of the right type."""
    sample = {"key": b"k", "channel": b"ch", "payload": b"x", "value": 1, "id": bytes(16)}
    if request is Set:
        return Set(S, 60, b"b", b"v")
    return request(**{name: sample.get(name, 1) for name in request.__struct_fields__})


def plain_requests(server: Server) -> list[type[Request]]:
    return [request for request in PROFILES[server.codec.profile.name].replies if request is not Event]


def test_info_counts_every_request_by_its_type(server: Server, client: Client) -> None:
    kinds = plain_requests(server)
    for times, kind in enumerate(kinds, 1):
        client.asks(*[example(kind)] * times)

    info = client.ask(Info())

    expected = {kind.NAME.lower(): times for times, kind in enumerate(kinds, 1)}
    expected["info"] += 1
    assert {name: getattr(info, f"total_{name}") for name in expected} == expected
    assert info.total_requests == sum(expected.values())


def test_the_connection_row_counts_its_own_requests_by_type(server: Server, client: Client) -> None:
    other = server.client()
    kinds = plain_requests(server)
    for times, kind in enumerate(kinds, 1):
        client.asks(*[example(kind)] * times)
        other.ask(example(kind))

    row = own_row(client, server)

    expected = {kind.NAME.lower(): times for times, kind in enumerate(kinds, 1)}
    expected["connection"] += 1
    assert {name: getattr(row, f"{name}_requests") for name in expected} == expected


def test_what_is_asked_after_info_in_the_same_segment_is_not_in_it(client: Client) -> None:
    info = client.asks(Query(b"k"), Info(), Query(b"k"))[1]

    assert (info.total_query, info.total_info, info.total_requests) == (1, 1, 2)


def test_info_keeps_the_requests_of_closed_connections(server: Server, client: Client) -> None:
    other = server.client()
    other.asks(Query(b"k"), Query(b"k"))
    other.session.connection_lost()

    info = client.ask(Info())

    assert (info.total_query, info.connections) == (2, 1)


def test_per_minute_counts_are_those_of_the_last_full_minute(server: Server, client: Client) -> None:
    seen = []
    client.asks(Query(b"k"), Query(b"k"))
    seen.append(client.ask(Info()).query_per_minute)
    server.wait(60)
    seen.append(client.ask(Info()).query_per_minute)
    client.ask(Query(b"k"))
    server.wait(60)
    seen.append(client.ask(Info()).query_per_minute)
    server.wait(120)
    info = client.ask(Info())

    assert seen == [0, 2, 1]
    assert (info.query_per_minute, info.requests_per_minute, info.total_query) == (0, 0, 3)


def test_info_reports_time_and_records(server: Server, client: Client) -> None:
    start = server.clock.wall_ns()
    client.asks(Insert(1, S, 60, b"c"), Insert(1, S, 60, b"d"), Set(S, 60, b"b", b"value"))
    server.wait(5)

    info = client.ask(Info())

    assert (info.timestamp, info.running_since) == (start // SECOND + 5, start)
    assert (info.keys, info.counters, info.buffers) == (3, 2, 1)
    assert (info.allocated_bytes_on_counters, info.allocated_bytes_on_buffers) == (2 * server.n, 5)
    assert info.version.rstrip(b"\0").decode().startswith("wireproof")


def test_bytes_read_and_written_are_counted(server: Server, client: Client) -> None:
    other = server.client()
    other.send(b"\x02\x01k")
    client.send(b"\x02\x01k")
    other.session.connection_lost()

    info = client.ask(Info())

    gone = 0 if server.codec.profile.name == "7.3.2" else 1
    assert (info.total_read_bytes, info.total_write_bytes) == (3 + 1 + 3 * gone, 1 + gone)


@pytest.mark.parametrize(("profile", "expected"), [("7.1.0", (3, 1)), ("7.3.2", (0, 0))])
def test_bytes_per_minute_are_counted_by_the_document_only(profile: str, expected: tuple[int, int]) -> None:
    server = Server(profile)
    client = server.client()
    client.send(b"\x02\x01k")
    server.wait(60)

    info = client.ask(Info())

    assert (info.read_bytes_per_minute, info.write_bytes_per_minute) == expected


def test_every_open_connection_has_one_row_oldest_first(server: Server, client: Client) -> None:
    others = [server.client() for _ in range(20)]
    others.pop(3).session.connection_lost()

    found = rows(client.ask(Connections()))

    assert [row.id for row in found] == [one.session.id for one in [client, *others]]


def test_an_index_names_the_row_at_that_position(document: Server) -> None:
    clients = [document.client() for _ in range(12)]
    listed = rows(clients[0].ask(Connections()))

    by_index = [clients[0].ask(ConnectionByIndex(index)) for index in range(13)]

    assert [row.id for row in by_index[:12]] == [row.id for row in listed]
    assert by_index[12] == REFUSED


def test_an_id_names_its_row(released: Server) -> None:
    one, other = released.client(), released.client()

    assert one.ask(ConnectionById(other.ask(Whoami()).id)).id == other.session.id
    assert one.ask(ConnectionById(bytes(16))) == REFUSED


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        (Peer("tcp", "127.0.0.1", 65535), (0, 4, b"127.0.0.1", 65535)),
        (Peer("tcp", "2001:db8::8:800:200c:417a", 1), (0, 6, b"2001:db8::8:800:", 1)),
        (Peer("unix", "", 0), (1, 4, b"127.0.0.1", 13579)),
    ],
)
def test_the_row_says_where_the_peer_is(released: Server, peer: Peer, expected: tuple[int, int, bytes, int]) -> None:
    client = released.client(peer)
    row = own_row(client, released)

    assert (row.kind, row.ip_version, row.ip.rstrip(b"\0"), row.port) == expected
    assert (row.type, row.connected_at) == (0, released.clock.wall_ns())


def test_a_row_counts_bytes_and_payloads(server: Server, client: Client) -> None:
    other = server.client()
    client.ok(Subscribe(b"ch"))
    other.ok(Publish(b"ch", b"12345"))
    client.read()
    sent = len(server.codec.encode(Subscribe(b"ch")))

    row = own_row(client, server)
    assert row.received_bytes == 5
    assert row.read_bytes > sent
    assert row.write_bytes > 5
    assert row.published_bytes == 0


@pytest.mark.parametrize(("profile", "expected"), [("7.1.0", 5), ("7.3.2", 0)])
def test_published_bytes_grow_always_or_only_for_own_channels(profile: str, expected: int) -> None:
    server = Server(profile)
    client, other = server.client(), server.client()
    other.ok(Subscribe(b"ch"))
    client.ok(Publish(b"ch", b"12345"))
    before = own_row(client, server).published_bytes
    client.asks(Subscribe(b"ch"), Publish(b"ch", b"12345"))

    assert (before, own_row(client, server).published_bytes) == (expected, expected + 5)


def test_list_has_a_row_for_each_live_record(server: Server, client: Client) -> None:
    now = server.clock.wall_ns()
    client.asks(Insert(1, S, 60, b"c"), Set(TTLType.HOURS, 1, b"b", b"value"), Insert(1, S, 9, b"p"), Purge(b"p"))

    found = rows(client.ask(List()))

    hour = 3600 * SECOND
    expected = [ListRow(b"c", 0, S, now + 60 * SECOND, server.n), ListRow(b"b", 1, 6, now + hour, 5)]
    assert sorted(found, key=lambda row: row.key_type) == expected


WEIGHTS = {"7.1.0": 11, "7.3.2": 9}


def test_list_is_cut_where_the_profile_says(server: Server, client: Client) -> None:
    client.asks(*[Insert(1, S, 200, b"%08d" % n) for n in range(400)])

    fragments = client.ask(List()).fragments

    held = 2048 // (WEIGHTS[server.codec.profile.name] + server.n + 8)
    full, rest = divmod(400, held)
    assert [len(one.rows) for one in fragments] == [held] * full + ([rest] if rest else [])
    assert [one.fragment for one in fragments] == list(range(1, len(fragments) + 1))


def test_the_released_server_cuts_as_it_was_observed_to(released: Server) -> None:
    client = released.client()
    client.asks(*[Insert(1, S, 200, b"%08d" % n) for n in range(400)])
    others = [released.client() for _ in range(8)]
    others[0].asks(*[Subscribe(b"ch%06d" % n) for n in range(193)])

    cuts = [[len(one.rows) for one in client.ask(kind).fragments] for kind in (Stats(), Connections(), Channels())]

    assert cuts == [[49] * 8 + [8], [8, 1], [81, 81, 41]]


def test_stat_reports_the_state_before_itself(document: Server) -> None:
    client = document.client()
    client.asks(Insert(1, S, 600, b"k"), Query(b"k"), Query(b"k"), Update(0, 0, 1, b"k"), Update(0, 9, 1, b"k"))

    assert client.asks(Stat(b"k"), Stat(b"k")) == [StatReply(0, 0, 2, 2)] * 2


def test_the_document_counts_retrievals_as_reads(document: Server) -> None:
    client = document.client()
    client.asks(Insert(1, S, 600, b"k"), Set(S, 600, b"b", b"v"), List(), Stats(), Stat(b"k"), Get(b"k"), Query(b"b"))

    assert rows(client.ask(Stats())) == [StatsRow(b"k", 0, 0, 0, 1), StatsRow(b"b", 0, 0, 0, 1)]


def test_the_released_server_counts_touches_and_shows_them_at_the_minute(released: Server) -> None:
    client = released.client()
    client.asks(Insert(1, S, 600, b"k"), Query(b"k"), Query(b"k"), Update(0, 0, 1, b"k"), List(), Stats())
    within = client.ask(Stat(b"k"))
    released.wait(60)
    after = client.ask(Stat(b"k"))
    released.wait(120)

    assert (within, after) == (StatReply(0, 0, 0, 0), StatReply(6, 2, 6, 2))
    assert client.ask(Stat(b"k")) == StatReply(0, 0, 7, 2)


def test_each_set_that_stores_is_a_write_of_its_minute(released: Server) -> None:
    client = released.client()
    for _ in range(3):
        client.ask(Set(S, 600, b"k", b"v"))
        released.wait(30)

    assert client.ask(Stat(b"k")) == StatReply(0, 2, 0, 2)


def test_the_document_shows_the_last_full_minute_beside_live_totals(document: Server) -> None:
    client = document.client()
    client.asks(Insert(1, S, 600, b"k"), Query(b"k"), Query(b"k"))
    document.wait(60)
    client.ask(Query(b"k"))

    assert client.ask(Stat(b"k")) == StatReply(2, 1, 3, 1)


def test_requests_in_events_count_in_info_and_not_in_the_row(released: Server) -> None:
    client = released.client()
    event = Event(b"", released.codec.encode(Event(b"", released.codec.encode(Query(b"k")))))
    client.ask(event)

    info, row = client.ask(Info()), own_row(client, released)

    assert (info.total_query, info.total_requests) == (1, 4)
    assert row.query_requests == 0
