"""Bytes that break the protocol: one named error with its offset, whatever the segmentation, and nothing but it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.segmentations import client_waiting, deliver, drain, every_delivery, server
from tests.protocols.throttr.combos import CODECS, every_codec
from wireproof.fuzz.strategies import chunked, messages
from wireproof.protocols import NEED_DATA, LocalProtocolError, Message, ProtocolError, RemoteProtocolError, Request
from wireproof.protocols.throttr import ClientConnection, Codec, ServerConnection, State
from wireproof.protocols.throttr.requests import Channel, Channels, Connections, Get, List, Query, Stats, Whoami

HUGE = (1 << 64) - 1
NEW = CODECS["7.3.2-uint16"]
FRAGMENTED = [List(), Stats(), Connections(), Channels()]


def u64(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


@every_codec
def test_every_byte_that_is_no_request_type_is_unknown(codec: Codec) -> None:
    known = {codec.profile.leads[request][0] for request in codec.profile.replies}
    for byte in set(range(256)) - known:
        outcome = every_delivery(server(codec), b"\x18" + bytes([byte, 0, 0]))

        assert outcome.messages == [Whoami()]
        assert outcome.error == ("unknown_type", f"expected a request type, got {byte:02x}", 1)


@every_codec
@pytest.mark.parametrize("asked", FRAGMENTED, ids=lambda request: request.NAME)
@pytest.mark.parametrize("count", [HUGE, 1 << 63, 1 << 32])
def test_a_count_of_fragments_beyond_the_limit_is_refused_at_once(codec: Codec, asked: Request, count: int) -> None:
    lead = b"" if codec.is_bare(type(asked)) else b"\x01"
    outcome = every_delivery(client_waiting(codec, Query(b""), asked), b"\x00" + lead + u64(count) + u64(1, 1))
    least = len(lead) + 8 + count * 16

    assert outcome.error == ("frame_too_large", f"expected at most {1 << 26} bytes, got {least} announced", 1)


@every_codec
@pytest.mark.parametrize("asked", FRAGMENTED, ids=lambda request: request.NAME)
@pytest.mark.parametrize("count", [HUGE, 1 << 63, 1 << 32])
def test_a_count_of_rows_beyond_the_limit_is_refused_at_once(codec: Codec, asked: Request, count: int) -> None:
    lead = b"" if codec.is_bare(type(asked)) else b"\x01"
    outcome = every_delivery(client_waiting(codec, asked), lead + u64(2) + u64(1, 0) + u64(2, count) + bytes(64))

    assert outcome.error is not None
    assert outcome.error[0] == "frame_too_large"
    assert outcome.error[2] == 0


@every_codec
@pytest.mark.parametrize("count", [HUGE, 1 << 63, 1 << 32])
def test_a_count_of_subscribers_beyond_the_limit_is_refused_at_once(codec: Codec, count: int) -> None:
    outcome = every_delivery(client_waiting(codec, Channel(b"c")), b"\x01" + u64(count) + bytes(64))

    assert outcome.error is not None
    assert outcome.error[0] == "frame_too_large"


def test_a_size_beyond_the_limit_is_refused_before_its_bytes_come() -> None:
    codec = CODECS["7.3.2-uint64"]
    outcome = every_delivery(client_waiting(codec, Get(b"k"), max_frame=1024), b"\x01\x04" + u64(60, 1 << 63))

    assert outcome.error == ("frame_too_large", f"expected at most 1024 bytes, got {18 + (1 << 63)} announced", 0)


@pytest.mark.parametrize("width", ["uint16", "uint32", "uint64"])
def test_a_request_of_exactly_the_limit_is_read_and_one_byte_more_is_not(width: str) -> None:
    codec = CODECS[f"7.3.2-{width}"]
    size = codec.variant.sizes["value"]
    head = b"\x13\x01" + (1024 - 3 - size).to_bytes(size, "little") + b"c"
    longer = b"\x13\x02" + (1024 - 3 - size).to_bytes(size, "little") + b"cc"

    assert len(every_delivery(server(codec, max_frame=1024), head + bytes(1024 - len(head))).messages) == 1
    outcome = every_delivery(server(codec, max_frame=1024), longer + bytes(1025 - len(longer)))
    assert outcome.error == ("frame_too_large", "expected at most 1024 bytes, got 1025 announced", 0)


@pytest.mark.parametrize("rows", [4, 20, 40])
def test_names_that_carry_a_fragment_beyond_the_limit_are_refused(rows: int) -> None:
    fixed = (b"\xff" + bytes(12)) * rows
    stream = b"\x01" + u64(1) + u64(1, rows) + fixed + bytes(255 * rows)
    codec = CODECS["7.3.2-uint16"]
    outcome = every_delivery(client_waiting(codec, List(), max_frame=1024), stream)
    announced = len(stream)

    assert outcome.error == ("frame_too_large", f"expected at most 1024 bytes, got {announced} announced", 0)


def test_rows_that_carry_a_fragment_beyond_the_limit_are_refused_whether_their_names_came_or_not() -> None:
    stream = b"\x01" + u64(1) + u64(1, 100) + (b"\x09" + bytes(12)) * 100 + bytes(900)
    outcome = every_delivery(client_waiting(NEW, List(), max_frame=1024), stream)

    assert outcome.error == ("frame_too_large", f"expected at most 1024 bytes, got {25 + 1300} announced", 0)


@every_codec
@given(data=st.data())
@settings(max_examples=5)
def test_a_stream_cut_within_a_request_is_truncated_there(codec: Codec, data: st.DataObject) -> None:
    kinds = [kind for kind in codec.profile.replies if codec.layout(kind).fields]
    request = data.draw(st.sampled_from(kinds).flatmap(lambda kind: messages(codec, kind)))
    whole = codec.encode(request)
    cut = data.draw(st.integers(1, len(whole) - 1))
    outcome = every_delivery(server(codec), b"\x18" + whole[:cut], trailing=b"")

    assert outcome.error == ("truncated", f"the stream ended {cut} bytes into a frame", 1)


def test_after_an_error_the_same_error_is_raised_and_bytes_are_dropped() -> None:
    connection = ServerConnection(NEW)
    connection.receive_data(b"\x18\xff" + bytes(100))
    assert drain_until_error(connection) == [Whoami()]
    connection.receive_data(b"\x18" * 10_000)

    for _ in range(2):
        with pytest.raises(RemoteProtocolError, match=r"^unknown_type at byte 1: .* got ff \[THR"):
            connection.next_event()
    assert connection.buffered == 0
    assert connection.state is State.FAILED


def drain_until_error(connection: ServerConnection) -> list[Message]:
    found = []
    with pytest.raises(RemoteProtocolError):  # noqa: PT012
        while (event := connection.next_event()) is not NEED_DATA:
            found.append(event)
    return found  # type: ignore[return-value]


def test_an_error_does_not_grow_by_being_raised_again() -> None:
    connection = ServerConnection(NEW)
    connection.receive_data(b"\xff")
    depths = []
    for _ in range(3):
        with pytest.raises(RemoteProtocolError) as caught:
            connection.next_event()
        depths.append(len(caught.traceback))

    assert depths[1] == depths[2]


def test_a_failed_client_sends_nothing() -> None:
    client = ClientConnection(NEW)
    client.receive_data(b"\x01")
    with pytest.raises(RemoteProtocolError):
        client.next_event()

    with pytest.raises(LocalProtocolError, match="client in state failed allows no request"):
        client.send(Whoami())


@every_codec
@pytest.mark.parametrize("role", ["server", "client"])
@given(data=st.data())
@settings(max_examples=15)
def test_random_bytes_cause_nothing_but_protocol_errors(codec: Codec, role: str, data: st.DataObject) -> None:
    noise = st.binary(max_size=200) | st.lists(st.sampled_from([0, 1, 2, 3, 5, 0x13, 0x19]), max_size=60).map(bytes)
    stream = data.draw(noise)
    kinds = data.draw(st.lists(st.sampled_from(list(codec.profile.replies)), max_size=6))
    requests = [data.draw(messages(codec, kind)) for kind in kinds]
    make = server(codec, max_frame=1024) if role == "server" else client_waiting(codec, *requests, max_frame=1024)
    outcome = deliver(make(), [stream])

    assert deliver(make(), data.draw(chunked(stream))) == outcome
    assert deliver(make(), [bytes([byte]) for byte in stream]) == outcome


@every_codec
@given(data=st.data())
@settings(max_examples=10)
def test_a_damaged_request_causes_nothing_but_protocol_errors(codec: Codec, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(codec.profile.replies)))
    wire = bytearray(codec.encode(data.draw(messages(codec, kind))))
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    outcome = deliver(ServerConnection(codec, max_frame=1024), [bytes(wire)])

    assert deliver(ServerConnection(codec, max_frame=1024), data.draw(chunked(bytes(wire)))) == outcome


@pytest.mark.parametrize("data", [bytearray(b"\x02\x01k"), memoryview(b"\x02\x01k")], ids=["bytearray", "memoryview"])
def test_any_kind_of_bytes_is_received_and_copied(data: bytearray | memoryview) -> None:
    connection = ServerConnection(NEW)
    connection.receive_data(data)
    if isinstance(data, bytearray):
        data[:] = b"\xff\xff\xff"
    ((event, _),) = drain(connection)

    assert event == Query(b"k")
    assert type(event.key) is bytes


@pytest.mark.parametrize("data", ["\x18", 5, None, [24]])
def test_what_is_not_bytes_is_not_received(data: object) -> None:
    with pytest.raises(LocalProtocolError, match=r"bad_value: data: expected bytes"):
        ServerConnection(NEW).receive_data(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"\x18", b""])
def test_nothing_is_received_after_the_end(data: bytes) -> None:
    connection = ServerConnection(NEW)
    connection.receive_data(b"")

    with pytest.raises(LocalProtocolError, match="illegal_state: received data after the end"):
        connection.receive_data(data)


def test_the_end_is_reported_once() -> None:
    connection = ServerConnection(NEW)
    connection.receive_data(b"")

    assert len(drain(connection)) == 1
    assert connection.next_event() is NEED_DATA


@pytest.mark.parametrize("limit", [1023, 0, -1, None, "4096", 4096.0])
def test_a_frame_limit_below_the_longest_plain_frame_is_refused(limit: object) -> None:
    with pytest.raises(ProtocolError, match="max_frame: expected at least 1024"):
        ServerConnection(NEW, max_frame=limit)  # type: ignore[arg-type]
