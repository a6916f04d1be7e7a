"""Greeting, TLS, login, UNIX sockets: how a connection begins, and how it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference_server.psrt.account_files import write
from tests.reference_server.psrt.simulated import (
    ANONYMOUS,
    DATA_HELLO,
    HELLO,
    OK,
    SENT_DATA_HELLO,
    SENT_HELLO,
    TIMEOUT,
    Line,
    Server,
    login,
    publish,
    sized,
    subscribe,
)
from wireproof.reference_server.service import Peer

UNIX = Peer("unix", "", 0)


def test_a_session_in_one_segment(server: Server) -> None:
    line = server.line()
    answer = line.send(HELLO, ANONYMOUS, b"\0\0\xff")

    assert answer[:4] == SENT_HELLO
    assert (len(answer), answer[36:], line.closed) == (39, b"\x01\x01\x01", True)


def test_a_session_byte_by_byte(server: Server) -> None:
    line = server.line()
    answers = [line.send(bytes([byte])) for byte in HELLO + ANONYMOUS + b"\0" + subscribe("a") + publish("a", b"m")]

    assert answers[:3] == [b"", b"", SENT_HELLO]
    assert [len(one) for one in answers[3:8]] == [0, 0, 0, 0, 32]
    assert b"".join(answers[8:]) == OK * 3
    assert [place for place, one in enumerate(answers) if one] == [2, 7, 8, 14, 23]


def test_greetings_are_answered_with_one_write(server: Server) -> None:
    for hello, answers in ((HELLO, SENT_HELLO), (DATA_HELLO, SENT_DATA_HELLO)):
        line = server.line()
        line.session.data_received(hello)
        assert line.written == [answers]


@pytest.mark.parametrize("hello", ["eeac00", "000000", "abee00", "eeaa02", "eeaaff", "eeab02", "474554"])
def test_another_greeting_is_refused(server: Server, hello: str) -> None:
    assert server.line().refuses(bytes.fromhex(hello))


def test_a_greeting_is_judged_once_it_is_whole(server: Server) -> None:
    line = server.line()
    assert line.send(b"GE") == b""
    assert not line.closed
    assert line.refuses(b"T")


@pytest.mark.parametrize(
    "sent", [b"", b"\xee", b"\xee\xaa", HELLO, HELLO + ANONYMOUS[:4], DATA_HELLO, DATA_HELLO + bytes(20)]
)
def test_what_does_not_come_in_time_ends_the_connection(server: Server, sent: bytes) -> None:
    line = server.line()
    if sent:
        line.send(sent)
    server.wait(TIMEOUT - 0.001)
    assert not line.closed
    server.wait(0.001)
    assert line.closed
    assert line.take() == b""


class Tls:
    """What a transport with TLS does, seen from a session."""

    def __init__(self) -> None:
        self.first: list[bytes] = []

    @property
    def peer(self) -> Peer:
        return Peer("tcp", "127.0.0.1", 40000, self.first.append)


@pytest.mark.parametrize(("hello", "answers"), [(b"\xee\xaa\x01", SENT_HELLO), (b"\xee\xab\x01", SENT_DATA_HELLO)])
@pytest.mark.parametrize("cut", [0, 1, 2])
@pytest.mark.parametrize("early", [b"", b"\x16\x03", b"\x16\x03\x01 and more"])
def test_tls_begins_after_the_greeting_and_the_answer_is_inside(
    server: Server, hello: bytes, answers: bytes, cut: int, early: bytes
) -> None:
    order: list[tuple[str, bytes]] = []
    peer = Peer("tcp", "127.0.0.1", 40000, lambda first: order.append(("secured", first)))
    session = server.service.connect(peer, lambda data: order.append(("written", data)), lambda: None)
    for part in (hello[:cut], hello[cut:] + early):
        if part:
            session.data_received(part)

    assert order == [("secured", early), ("written", answers)]


def test_inside_tls_everything_is_as_outside(server: Server) -> None:
    tls = Tls()
    line = server.line(tls.peer)
    line.send(b"\xee\xaa\x01")
    assert len(line.send(ANONYMOUS)) == 32
    assert line.send(b"\0") == OK


@pytest.mark.parametrize("hello", ["eeaa01", "eeab01"])
def test_tls_is_refused_where_there_is_none(server: Server, hello: str) -> None:
    assert server.line().refuses(bytes.fromhex(hello))


@pytest.mark.parametrize("hello", [HELLO, DATA_HELLO])
def test_without_tls_nothing_goes_on_where_that_is_not_allowed(hello: bytes) -> None:
    server = Server(allow_no_tls=False)
    assert server.line().refuses(hello)
    assert server.line(Tls().peer).send(hello[:2] + b"\x01") != b""
    assert server.line(UNIX).send(hello) != b""


@pytest.fixture(name="known")
def _known(tmp_path: Path) -> Server:
    return Server(**write(tmp_path))


def test_who_is_known_gets_a_token_of_32_bytes_and_another_one_each_time(known: Server) -> None:
    tokens = {known.control(b"user1", b"secret").token for _ in range(3)}  # type: ignore[attr-defined]
    tokens.add(known.control().token)  # type: ignore[attr-defined]

    assert len(tokens) == 4
    assert {len(one) for one in tokens} == {32}


@pytest.mark.parametrize(
    "body",
    [
        b"user1\0wrong",
        b"user1\0",
        b"user9\0secret",
        b"user1secret",
        b"",
        b"user\xff\0secret",
        b"user1\0secre\xff",
        b"\0secret",
        b"noacl\0secret",
        b"user1\0secret\0",
        b"user1\0\0secret",
    ],
)
def test_who_is_not_known_gets_nothing(known: Server, body: bytes) -> None:
    line = known.line()
    line.send(HELLO)
    assert line.refuses(sized(body))


def test_without_a_name_nobody_is_known_where_that_is_not_allowed(tmp_path: Path) -> None:
    line = Server(**write(tmp_path), anonymous=False).line()
    line.send(HELLO)
    assert line.refuses(ANONYMOUS)


def test_a_login_too_long_is_refused_by_its_length(server: Server) -> None:
    line = server.line()
    line.send(HELLO)
    assert line.refuses((1025).to_bytes(4, "little"))


def test_the_longest_login_is_read(known: Server) -> None:
    line = known.line()
    line.send(HELLO)
    body = b"user1\0" + b"x" * 1018
    assert line.send(sized(body)[:-1]) == b""
    assert not line.closed
    assert line.refuses(b"x")


def unix_line(server: Server) -> Line:
    return server.line(UNIX)


@pytest.mark.parametrize("mode", [0, 1, 7, 255])
@pytest.mark.parametrize("body", [b"", b"\0", b"user1\0wrong", b"no end", b"\xff"])
def test_a_unix_socket_asks_for_nothing_and_allows_everything(known: Server, mode: int, body: bytes) -> None:
    line = unix_line(known)
    assert line.send(HELLO[:2] + bytes([mode])) == SENT_HELLO
    answer = line.send(sized(body), subscribe("#"), publish("any/thing", b"m"))
    assert (len(answer), answer[32:]) == (34, OK * 2)


def test_a_unix_socket_byte_by_byte(known: Server) -> None:
    line = unix_line(known)
    answers = b"".join(line.send(bytes([byte])) for byte in HELLO[:2] + b"\x09" + login(b"x", b"") + b"\0\0")
    assert (answers[:4], len(answers), answers[36:]) == (SENT_HELLO, 38, OK * 2)


def test_a_unix_data_socket_ignores_the_mode(known: Server) -> None:
    control = known.control(peer=UNIX)
    line = unix_line(known)
    assert line.send(b"\xee\xab\x05", control.token, b"\x05") == SENT_DATA_HELLO + OK  # type: ignore[attr-defined]


def test_a_unix_login_too_long_is_refused_by_its_length(known: Server) -> None:
    line = unix_line(known)
    line.send(HELLO)
    assert line.refuses((1025).to_bytes(4, "little"))
