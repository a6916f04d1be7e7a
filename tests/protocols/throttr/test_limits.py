"""What is kept is bounded and what is done is linear in the bytes, counted, not timed."""

from __future__ import annotations

import pytest

from tests.protocols.segmentations import client_waiting, deliver
from tests.protocols.throttr.combos import CODECS
from wireproof.protocols import NEED_DATA, RemoteProtocolError, protocol
from wireproof.protocols.buffer import Buffer
from wireproof.protocols.throttr import ClientConnection, Codec, ServerConnection
from wireproof.protocols.throttr.replies import EventReply, ListFragment, ListReply, ListRow
from wireproof.protocols.throttr.requests import Event, List, Publish

NEW = CODECS["7.3.2-uint16"]
LIMIT = 4096


class CountingBuffer(Buffer):
    """Counts the bytes it copies."""

    __slots__ = ("copied",)

    def __init__(self) -> None:
        self.copied = 0
        super().__init__()

    def feed(self, chunk: bytes) -> None:
        self.copied += len(chunk)
        super().feed(chunk)

    def want(self, need: int) -> None:
        self.copied += self.end - self.at + len(self.gathered)
        super().want(need)

    def _open(self, data: bytes) -> None:
        self.copied += len(data)
        super()._open(data)


def counting(client: ClientConnection) -> CountingBuffer:
    client._buffer = CountingBuffer()
    return client._buffer


def long_list(fragments: int) -> ListReply:
    rows = tuple(ListRow(b"key-%02d" % index, 0, 4, 0, 2) for index in range(10))
    return ListReply(tuple(ListFragment(index + 1, rows) for index in range(fragments)))


@pytest.mark.parametrize("depth", [0, 3])
@pytest.mark.parametrize("fragments", [20, 200])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_reply_of_many_fragments_costs_a_few_copies_of_its_bytes(fragments: int, size: int, depth: int) -> None:
    request, reply = List(), long_list(fragments)
    for _ in range(depth):
        request, reply = Event(b"", NEW.encode(request)), EventReply(reply)  # type: ignore[assignment]
    client, stream = client_waiting(NEW, request)(), NEW.encode(reply)
    buffer = counting(client)  # type: ignore[arg-type]
    outcome = deliver(client, [stream[at : at + size] for at in range(0, len(stream), size)])

    assert outcome.messages == [reply]
    assert buffer.copied <= 4 * len(stream) + 8 * max(size, 32)


def test_a_fragment_is_measured_once_however_the_bytes_come(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = 0
    codec = Codec(NEW.profile, NEW.variant)
    client, stream = ClientConnection(codec), NEW.encode(long_list(50))
    client.send(List())
    refill = client._refill

    def counted() -> bool:
        nonlocal measured
        before = client._context.left
        opened = refill()
        measured += before - client._context.left if before > client._context.left >= 0 else 0
        return opened

    monkeypatch.setattr(client, "_refill", counted)
    deliver(client, [bytes([byte]) for byte in stream])

    assert measured == 50


@pytest.mark.parametrize("size", [1, 100, 3000])
def test_what_is_kept_never_exceeds_the_limit_and_one_chunk(size: int) -> None:
    stream = NEW.encode(Publish(b"c", bytes(LIMIT - 5))) * 3 + NEW.encode(Publish(b"c", bytes(LIMIT)))
    connection, most = ServerConnection(NEW, max_frame=LIMIT), 0
    with pytest.raises(RemoteProtocolError):  # noqa: PT012
        for at in range(0, len(stream), size):
            connection.receive_data(stream[at : at + size])
            while connection.next_event() is not NEED_DATA:
                pass
            most = max(most, connection.buffered)

    assert most <= LIMIT + size
    assert connection.buffered == 0


def test_a_lying_count_makes_nothing_be_kept_but_what_came() -> None:
    client = client_waiting(NEW, List())()
    head = b"\x01" + (3_000_000).to_bytes(8, "little")
    client.receive_data(head)

    assert client.next_event() is NEED_DATA
    assert client.buffered == len(head)


def test_the_limit_holds_for_the_reply_inside_an_event() -> None:
    payload = b"\x01" * 3 + NEW.encode(long_list(20))
    event = Event(b"", NEW.encode(Event(b"", NEW.encode(Event(b"", NEW.encode(List()))))))
    exact = client_waiting(NEW, event, max_frame=len(payload))()
    tight = client_waiting(NEW, event, max_frame=len(payload) - 1)
    outcomes = [deliver(tight(), [payload]), deliver(tight(), [bytes([byte]) for byte in payload])]

    assert len(deliver(exact, [payload]).messages) == 1
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].error is not None
    assert outcomes[0].error[0] == "frame_too_large"


def test_chunks_that_come_before_events_are_read_are_joined_at_a_linear_cost() -> None:
    connection = ServerConnection(NEW)
    connection._buffer = buffer = CountingBuffer()
    stream = NEW.encode(Publish(b"c", b"hello")) * 200
    for byte in stream:
        connection.receive_data(bytes([byte]))

    assert len(connection.next_requests()) == 200
    assert buffer.copied <= 4 * len(stream)


def test_bytes_received_are_distinguished_from_bytes_decoded() -> None:
    connection = protocol("throttr").link.server(NEW)
    connection.receive_data(b"\x18\x18\x02\x05")
    connection.next_event()

    assert (connection.received, connection.buffered) == (1, 3)
