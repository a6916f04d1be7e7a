"""Both directions of a connection become messages with places, times, pairs and errors, however they are cut."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pytest

from tests.collector import no_collector
from tests.protocols.psrt.talking import CODEC as PSRT_CODEC
from tests.protocols.psrt.talking import DATA_SESSION, SESSION, TOKEN
from wireproof.protocols import LocalProtocolError, Message, Request, Role
from wireproof.protocols.dissect import Direction, Dissection, Frame
from wireproof.protocols.psrt import PROTOCOL as PSRT
from wireproof.protocols.psrt.replies import DatagramReply, GreetingReply, PushedMessage, Response, Token
from wireproof.protocols.psrt.requests import Bye, Datagram, Greeting, Login, Nop, PublishRepl, ReplData
from wireproof.protocols.throttr import OK, PROTOCOL, V710, V732, Codec
from wireproof.protocols.throttr.replies import PushedEvent, QueryReply
from wireproof.protocols.throttr.requests import Insert, Query, Subscribe, Whoami

CODEC, OLD = Codec.of(V732, "uint16"), Codec.of(V710, "uint16")
PUSH = PushedEvent(b"ch", b"hello")
PUSHED = len(CODEC.encode(PUSH))
Chunk = tuple[Role, bytes]


def throttr() -> Dissection:
    """Return a dissection of a throttr connection."""
    return Dissection(PROTOCOL.link, CODEC)


def psrt(link: str = "control") -> Dissection:
    """Return a dissection of a connection of that link."""
    return Dissection(PSRT.link_of(link), PSRT_CODEC)


@dataclass(frozen=True)
class Talk:
    """What was said, in its order: each message with the number of the request that it answers."""

    make: Callable[[], Dissection]
    encode: Callable[[Message], bytes]
    sent: Sequence[tuple[Role, Message, int | None]]

    @property
    def chunks(self) -> list[Chunk]:
        """The messages, each a chunk."""
        return [(sender, self.encode(message)) for sender, message, _ in self.sent]


def _talk(
    make: Callable[[], Dissection], encode: Callable[[Message], bytes], *sent: Message | tuple[Message, int]
) -> Talk:
    found: list[tuple[Role, Message, int | None]] = []
    for one in sent:
        message, answers = one if isinstance(one, tuple) else (one, None)
        found.append((Role.CLIENT if isinstance(message, Request) else Role.SERVER, message, answers))
    return Talk(make, encode, found)


GREETED = (Greeting(0), (GreetingReply(1), 0), Login(b"", b""), (Token(TOKEN), 1))
TALKS = {
    "throttr": _talk(
        throttr,
        CODEC.encode,
        Insert(7, 4, 60, b"key"),
        Query(b"key"),
        (OK, 0),
        PUSH,
        (QueryReply(7, 4, 60), 1),
        Subscribe(b"ch"),
        (OK, 2),
        PUSH,
    ),
    "psrt control": _talk(
        psrt,
        PSRT_CODEC.encode,
        *GREETED,
        PublishRepl(b"topic"),
        (Response(2), 2),
        ReplData(1, 2, b"message"),
        (Response(1), 3),
        Nop(),
        (Response(1), 4),
        Bye(),
    ),
    "psrt data": _talk(
        lambda: psrt("data"),
        PSRT_CODEC.encode,
        DATA_SESSION[0][0],
        (DATA_SESSION[0][1], 0),
        DATA_SESSION[1][0],
        (DATA_SESSION[1][1], 1),
        PushedMessage(127, b"topic", b"message"),
    ),
}
every_talk = pytest.mark.parametrize("talk", TALKS.values(), ids=TALKS.keys())


def dissect(dissection: Dissection, chunks: Iterable[Chunk]) -> list[Frame]:
    """Feed chunks, each at the time of its number."""
    return [frame for at, (sender, data) in enumerate(chunks) for frame in dissection.feed(sender, data, at)]


def bare(frames: Iterable[Frame]) -> list[tuple[Role, Message, tuple[int, int], Message | None]]:
    """Return frames without their times."""
    return [(one.sender, one.message, one.span, one.request and one.request.message) for one in frames]


def joined(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return chunks with those of one sender that follow one another made one."""
    found: list[Chunk] = []
    for sender, data in chunks:
        if found and found[-1][0] is sender:
            found[-1] = sender, found[-1][1] + data
        else:
            found.append((sender, data))
    return found


@every_talk
def test_messages_have_their_place_their_time_and_their_request(talk: Talk) -> None:
    at, expected = dict.fromkeys(Role, 0), list[Frame]()
    requests: list[Frame] = []
    for number, (sender, message, answers) in enumerate(talk.sent):
        start, at[sender] = at[sender], at[sender] + len(talk.encode(message))
        request = None if answers is None else requests[answers]
        expected.append(Frame(sender, message, (start, at[sender]), number, request))
        requests += [expected[-1]] if sender is Role.CLIENT else []
    dissection = talk.make()

    assert dissect(dissection, talk.chunks) == expected
    for direction in (dissection.of_client, dissection.of_server):
        assert direction.frames == [one for one in expected if one.sender is direction.sender]
        assert (direction.size, direction.read, direction.buffered) == (at[direction.sender], at[direction.sender], 0)
        assert direction.is_whole


@every_talk
def test_how_the_bytes_are_cut_does_not_matter(talk: Talk) -> None:
    whole = bare(dissect(talk.make(), talk.chunks))
    turns = joined(talk.chunks)

    assert bare(dissect(talk.make(), [(one, bytes([byte])) for one, data in turns for byte in data])) == whole
    for number, (sender, data) in enumerate(turns):
        for cut in range(1, len(data)):
            halves = [(sender, data[:cut]), (sender, data[cut:])]
            assert bare(dissect(talk.make(), [*turns[:number], *halves, *turns[number + 1 :]])) == whole


@every_talk
def test_a_message_has_the_time_of_its_last_byte(talk: Talk) -> None:
    pieces = [(sender, bytes([byte])) for sender, data in talk.chunks for byte in data]
    lengths = [len(data) for _, data in talk.chunks]

    assert [one.at for one in dissect(talk.make(), pieces)] == [sum(lengths[: n + 1]) - 1 for n in range(len(lengths))]


@every_talk
def test_what_one_side_sent_is_read_alone_as_far_as_that_can_be_done(talk: Talk) -> None:
    requests = [data for sender, data in talk.chunks if sender is Role.CLIENT]
    dissection = talk.make()
    dissection.feed(Role.CLIENT, b"".join(requests))
    read = dissection.of_client.messages

    assert read == [message for sender, message, _ in talk.sent if sender is Role.CLIENT][: len(read)]
    assert len(read) == len(requests) or isinstance(read[-1], PublishRepl)


def test_a_request_that_waited_for_a_reply_keeps_its_own_time() -> None:
    dissection = psrt()
    dissect(dissection, TALKS["psrt control"].chunks[:4])
    data = PSRT_CODEC.encode(PublishRepl(b"t")) + PSRT_CODEC.encode(Nop())
    (asked,) = dissection.feed(Role.CLIENT, data, 10.0)
    answer, following = dissection.feed(Role.SERVER, PSRT_CODEC.encode(Response(0xFE)), 20.0)

    assert (asked.message, asked.at) == (PublishRepl(b"t"), 10.0)
    assert (answer.request, answer.at) == (asked, 20.0)
    assert (following.message, following.at) == (Nop(), 10.0)


def test_the_first_error_of_a_client_has_its_code_offset_and_clause_and_ends_its_direction() -> None:
    dissection = throttr()
    dissection.feed(Role.CLIENT, b"\x18\xff" + CODEC.encode(Query(b"k")))
    dissection.feed(Role.CLIENT, b"\x18")
    dissection.end(Role.CLIENT)
    error = dissection.of_client.error

    assert error is not None
    assert (error.code, error.offset, error.clause) == ("unknown_type", 1, V732.clauses[error.code])
    assert (dissection.of_client.messages, dissection.of_client.is_stopped) == ([Whoami()], True)
    assert (dissection.of_client.size, dissection.of_client.read, dissection.of_client.is_whole) == (6, 1, False)
    assert dissection.of_server.error is None
    assert [one.request for one in dissection.feed(Role.SERVER, b"\x01" + bytes(16))] == dissection.of_client.frames


def test_a_reply_before_the_last_byte_of_its_request_is_the_servers_error() -> None:
    dissection = throttr()
    dissection.feed(Role.CLIENT, CODEC.encode(Query(b"k"))[:-1])
    dissection.feed(Role.SERVER, b"\x00")
    error = dissection.of_server.error

    assert error is not None
    assert (error.code, error.offset, dissection.of_client.error) == ("unexpected_message", 0, None)
    assert dissection.feed(Role.CLIENT, b"k")[0].message == Query(b"k")


@pytest.mark.parametrize("sender", Role)
def test_a_stream_that_ends_inside_a_message_is_truncated(sender: Role) -> None:
    dissection = throttr()
    dissection.feed(Role.CLIENT, CODEC.encode(Query(b"k")))
    dissection.feed(sender, b"\x01")
    dissection.end(sender)
    error = dissection.direction(sender).error

    assert error is not None
    assert error.code == "truncated"


@pytest.mark.parametrize("sender", Role)
def test_nothing_comes_after_an_end_and_no_bytes_are_none(sender: Role) -> None:
    dissection = throttr()

    assert dissection.feed(sender, b"") == []
    dissection.end(sender)
    assert dissection.direction(sender).is_whole
    with pytest.raises(LocalProtocolError, match="after the end"):
        dissection.feed(sender, b"\x18")
    assert dissection.direction(sender).size == 0


def test_the_remainder_is_buffered() -> None:
    dissection = throttr()
    data = CODEC.encode(Query(b"key"))
    dissection.feed(Role.CLIENT, data + data[:-1])

    assert (dissection.of_client.read, dissection.of_client.buffered) == (len(data), len(data) - 1)
    assert not dissection.of_client.is_whole


def test_requests_that_wait_and_pairs_are_listed() -> None:
    dissection = throttr()
    first, second = Query(b"a"), Query(b"b")
    dissection.feed(Role.CLIENT, CODEC.encode(first) + CODEC.encode(second))
    dissection.feed(Role.SERVER, CODEC.encode(PUSH) + b"\x00")

    assert (dissection.requests, dissection.pending) == ([first, second], (second,))
    assert [(request.message, reply.span) for request, reply in dissection.pairs] == [(first, (PUSHED, PUSHED + 1))]
    assert dissection.settled


def test_a_byte_that_may_lead_a_push_or_a_reply_is_noted() -> None:
    dissection = Dissection(PROTOCOL.link, OLD)
    dissection.feed(Role.CLIENT, OLD.encode(Query(b"k")) + OLD.encode(Whoami()))

    assert dissection.ambiguous_at is None
    dissection.feed(Role.SERVER, b"\x00" + b"\x03" * 16)
    assert dissection.ambiguous_at == 1


def test_a_request_noted_by_hand_is_answered_and_has_no_bytes() -> None:
    dissection = throttr()
    dissection.of_client.stop()
    dissection.feed(Role.CLIENT, b"\x99\x99")
    dissection.await_reply(Query(b"k"), 3.0)
    (reply,) = dissection.feed(Role.SERVER, b"\x00")

    assert reply.request == Frame(Role.CLIENT, Query(b"k"), (2, 2), 3.0)
    assert dissection.of_client.frames == []


def test_a_reply_noted_by_hand_decides_how_the_next_request_is_read() -> None:
    dissection = psrt()
    dissection.feed(Role.CLIENT, PSRT_CODEC.encode(Greeting(0)))
    dissection.note_reply(GreetingReply(0))
    dissection.note_reply(GreetingReply(0))
    (login,) = dissection.feed(Role.CLIENT, PSRT_CODEC.encode(Login(b"u", b"p")))

    assert login.message == Login(b"u", b"p")
    assert dissection.of_server.frames == []


def test_requests_are_read_up_to_the_first_that_does_not_count() -> None:
    dissection = Dissection(PROTOCOL.link, CODEC, counts=lambda frame: frame.message != Whoami())
    data = CODEC.encode(Query(b"k")) + CODEC.encode(Whoami()) + CODEC.encode(Query(b"k"))
    dissection.feed(Role.CLIENT, data)

    assert dissection.of_client.messages == [Query(b"k"), Whoami()]
    assert dissection.pending == (Query(b"k"),)


def test_messages_may_be_read_one_by_one() -> None:
    dissection = throttr()
    dissection.receive(Role.CLIENT, CODEC.encode(Query(b"k")) * 2)
    dissection.receive(Role.SERVER, b"\x00")
    read = [dissection.next_frame() for _ in range(4)]

    assert [one and one.sender for one in read] == [Role.CLIENT, Role.CLIENT, Role.SERVER, None]


def test_what_follows_a_switch_to_tls_is_read_where_the_plain_bytes_ended() -> None:
    dissection, greeting = psrt(), PSRT_CODEC.encode(Greeting(1))
    assert dissection.feed(Role.CLIENT, greeting + b"\x16\x03\x01", 1.0)[0].message == Greeting(1)
    assert dissection.start_tls() == b"\x16\x03\x01"
    dissection.feed(Role.SERVER, PSRT_CODEC.encode(GreetingReply(1)), 2.0)
    (login,) = dissection.feed(Role.CLIENT, PSRT_CODEC.encode(Login(b"", b"")), 3.0)

    assert dissection.of_server.frames[0].request == dissection.of_client.frames[0]
    assert (login.span[0], login.at) == (len(greeting), 3.0)
    assert dissection.of_client.is_whole


def test_a_switch_that_the_protocol_does_not_make_is_refused() -> None:
    dissection = psrt()
    dissection.feed(Role.CLIENT, PSRT_CODEC.encode(Greeting(0)))

    with pytest.raises(LocalProtocolError):
        dissection.start_tls()


def test_a_link_that_knows_no_tls_keeps_what_it_has() -> None:
    dissection, data = throttr(), CODEC.encode(Query(b"k"))
    dissection.feed(Role.CLIENT, data[:2], 1.0)

    assert dissection.start_tls() == b""
    assert [one.span for one in dissection.feed(Role.CLIENT, data[2:], 2.0)] == [(0, len(data))]


def test_a_broken_datagram_breaks_no_other_and_the_first_error_stays() -> None:
    dissection, good = psrt("datagram"), Datagram(1, 0, b"", b"", 1, 127, b"t", b"m")
    answer = PSRT_CODEC.encode(DatagramReply(1, 1))
    for data in (b"\x00", b"\x00\x00", PSRT_CODEC.encode(good)):
        dissection.feed(Role.CLIENT, data)
    first, second = (dissection.feed(Role.SERVER, answer)[0] for _ in range(2))
    error = dissection.of_client.error

    assert dissection.of_client.messages == [good]
    assert (first.request, second.request) == (dissection.of_client.frames[0], None)
    assert error is not None
    assert error.offset == 0
    assert not dissection.of_client.is_whole


def test_a_request_that_no_client_may_send_there_leaves_replies_without_pairs() -> None:
    dissection = psrt()
    dissect(dissection, TALKS["psrt control"].chunks[:4])
    dissection.end(Role.SERVER)
    dissection.feed(Role.CLIENT, PSRT_CODEC.encode(Nop()))

    assert not dissection.is_paired
    assert SESSION[0][0] == dissection.of_client.messages[0]


def test_what_was_read_is_not_kept_for_times() -> None:
    """Linear cost: a chunk is forgotten once all of its bytes are part of messages."""
    direction = throttr().of_client
    for at in range(1000):
        direction.feed(b"\x18", at)
        direction.frame(direction.next_message() or Whoami(), None)

    assert kept(direction) <= 1


def kept(direction: Direction) -> int:
    """Return how many chunks are remembered."""
    return len(direction._chunks)


def test_what_was_read_before_an_error_is_freed_with_the_dissection() -> None:
    """The error referred to the calls that raised it, and they to everything: hundreds of megabytes in a campaign."""
    dissection = throttr()
    list(dissection.feed(Role.CLIENT, CODEC.encode(Whoami()) + b"\xff"))
    assert dissection.of_client.error is not None
    seen = weakref.ref(dissection)

    with no_collector():
        del dissection
        assert seen() is None


def test_tls_is_followed_only_where_the_protocol_switches() -> None:
    dissection, spoken = throttr(), V710
    dissection.follow_tls()

    (frame,) = dissection.feed(Role.CLIENT, Codec.of(spoken, "uint16").encode(Query(b"k")))
    assert frame.message == Query(b"k")
