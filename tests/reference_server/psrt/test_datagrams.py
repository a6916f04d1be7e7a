"""Datagrams, in clear and sealed: what is published, what is answered and what is met with silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference_server.psrt.account_files import KEYS, write
from tests.reference_server.psrt.simulated import DATAGRAM, Line, Server, pushed
from wireproof.protocols.psrt import seal

HEAD = bytes.fromhex("eeaa0100")
PUBLISH, QUIET = b"\x01", b"\x21"
OK, DENIED, ERROR = HEAD + b"\x01", HEAD + b"\xfe", HEAD + b"\xff"
NONCE = bytes(range(0x64, 0x70))


def plain(content: bytes, login: bytes = b"", password: bytes = b"") -> bytes:
    return HEAD + b"\0" + login + b"\0" + password + b"\0" + content


def sealed(content: bytes, login: bytes = b"user1", *, kind: int = 3, nonce: bytes = NONCE, key: bytes = b"") -> bytes:
    key = key or KEYS[login.decode() or "_"]
    return HEAD + bytes([kind]) + login + b"\0" + nonce + seal(key=key, nonce=nonce, encryption=kind, of=content)


@pytest.fixture(name="known")
def _known(tmp_path: Path) -> Server:
    return Server(**write(tmp_path))


@pytest.fixture(name="listener")
def _listener(known: Server) -> Line:
    return known.both("#")[1]


def test_a_datagram_is_published_and_answered(server: Server) -> None:
    data = server.both("#")[1]
    assert server.datagram(bytes.fromhex("eeaa0100 00 00 00 01 7f 74 00 6d")) == OK
    assert data.take() == pushed("t", b"m")


def test_one_that_wants_no_answer_is_published_too(server: Server) -> None:
    data = server.both("#")[1]
    assert server.datagram(plain(QUIET + b"\x09//a//b\0m\0n")) is None
    assert data.take() == pushed("a/b", b"m\0n", 9)


@pytest.mark.parametrize(
    ("datagram", "answer"),
    [
        (plain(PUBLISH + b"\x7ft\0", b"user1", b"secret"), OK),
        (plain(PUBLISH + b"\x7ft\0", b"user1", b"wrong"), DENIED),
        (plain(PUBLISH + b"\x7ft\0", b"user9", b"secret"), DENIED),
        (plain(PUBLISH + b"\x7ft\0", b"noacl", b"secret"), DENIED),
        (plain(PUBLISH + b"\x7fa/x\0", b"lim", b"secret"), OK),
        (plain(PUBLISH + b"\x7fa/x/y\0", b"lim", b"secret"), DENIED),
        (plain(PUBLISH + b"\x7f//a//x\0", b"lim", b"secret"), OK),
        (plain(PUBLISH + b"\x7f\xff\0m"), ERROR),
        (plain(PUBLISH + b"\x7fa+b\0m"), ERROR),
        (plain(PUBLISH + b"\x7f#\0m"), ERROR),
        (plain(PUBLISH + b"\x7fa/b/c/d/e\0m"), ERROR),
        (plain(PUBLISH + b"\x7fno end"), ERROR),
        (plain(PUBLISH + b"\x7fno end", b"user1", b"wrong"), DENIED),
        (plain(QUIET + b"\x7fa+b\0m"), None),
        (plain(QUIET + b"\x7fno end"), None),
        (plain(QUIET + b"\x7ft\0", b"user1", b"wrong"), None),
        (plain(b"\x02\x7ft\0m"), None),
        (plain(b"\x02\x7fno end"), None),
        (plain(PUBLISH + b"\x7f\0m"), None),
        (plain(PUBLISH + b"\x7ft\0m", b"us\xff"), None),
        (plain(PUBLISH + b"\x7ft\0m", b"user1", b"\xff"), None),
        (HEAD + b"\0user1\0secret", None),
        (HEAD + b"\0user1", None),
        (HEAD + b"\0", None),
        (HEAD, None),
        (b"\xee", None),
        (bytes.fromhex("eeab0100 00 0000 01 7f 7400"), None),
        (bytes.fromhex("eeaa0200 00 0000 01 7f 7400"), None),
        (bytes.fromhex("eeaa0101 00 0000 01 7f 7400"), None),
        (bytes.fromhex("eeaa0100 01 0000 01 7f 7400"), None),
        (bytes.fromhex("eeaa0100 04 0000 01 7f 7400"), None),
    ],
)
def test_datagrams_are_answered_as_the_facts_say(
    known: Server, listener: Line, datagram: bytes, answer: bytes | None
) -> None:
    assert known.datagram(datagram) == answer
    assert (listener.take() != b"") is (answer == OK)


def test_priority_zero_is_a_priority(document: Server) -> None:
    data = document.both("#")[1]
    assert document.datagram(plain(PUBLISH + b"\0t\0m")) == OK
    assert data.take() == pushed("t", b"m", 0)


def test_priority_zero_breaks_a_datagram_in_the_release(released: Server) -> None:
    data = released.both("#")[1]
    assert released.datagram(plain(PUBLISH + b"\0t\0m")) is None
    assert data.take() == b""


def of_size(size: int, op: bytes = PUBLISH) -> bytes:
    head = plain(op + b"\x7ft\0")
    return head + bytes(size - len(head))


def test_a_datagram_too_long_is_refused(document: Server) -> None:
    data = document.both("#")[1]
    assert document.datagram(of_size(DATAGRAM + 1)) == ERROR
    assert document.datagram(of_size(DATAGRAM + 1, QUIET)) is None
    assert data.take() == b""
    assert document.datagram(of_size(DATAGRAM)) == OK


def test_a_datagram_too_long_is_cut_in_the_release(released: Server) -> None:
    data = released.both("#")[1]
    assert released.datagram(of_size(DATAGRAM + 1)) == OK
    assert data.take() == pushed("t", of_size(DATAGRAM)[11:])


def test_the_vectors_of_the_facts(known: Server, listener: Line) -> None:
    for vector in (
        "eeaa010003 7573657231 00 6465666768696a6b6c6d6e6f 4964aa6614c92f4f81696feb6c45c1d6efdef20d71",
        "eeaa010002 7573657231 00 6465666768696a6b6c6d6e6f 1b1d3aa5b675764fa2be8e0890f851c33c529071e0",
    ):
        assert known.datagram(bytes.fromhex(vector)) == OK
        assert listener.take() == pushed("t", b"m")


@pytest.mark.parametrize(
    ("content", "login", "answer"),
    [
        (b"\x01\x7ft\0m", b"user1", OK),
        (b"\x01\x7ft\0m", b"", OK),
        (b"\x21\x7ft\0m", b"user1", None),
        (b"\x01\x7fa/x\0m", b"lim", OK),
        (b"\x01\x7fa/x/y\0m", b"lim", DENIED),
        (b"\x01\x7fno end", b"user1", ERROR),
        (b"\x21\x7fno end", b"user1", None),
        (b"\x01\x7fa/#\0m", b"user1", ERROR),
        (b"\x02\x7ft\0m", b"user1", None),
        (b"\x01\x7f\0m", b"user1", None),
        (b"\x01", b"user1", None),
        (b"", b"user1", None),
    ],
)
@pytest.mark.parametrize("kind", [2, 3])
def test_what_is_sealed_is_answered_as_in_clear(
    known: Server, kind: int, content: bytes, login: bytes, answer: bytes | None
) -> None:
    assert known.datagram(sealed(content, login, kind=kind)) == answer


def test_what_is_not_sealed_well_is_met_with_silence(known: Server, listener: Line) -> None:
    good = sealed(b"\x01\x7ft\0m")
    for bad in (
        good[:-1] + bytes([good[-1] ^ 1]),
        good[:-1],
        good[:30],
        good[:12],
        good[:11] + bytes([good[11] ^ 1]) + good[12:],
        HEAD + b"\x02" + good[5:],
        sealed(b"\x01\x7ft\0m", key=bytes(32)),
        sealed(b"\x01\x7ft\0m", b"user9", key=bytes(32)),
        sealed(b"\x01\x7ft\0m", b"ghost", key=bytes(32)),
        sealed(b"\x01\x7ft\0m", b"us\xff", key=bytes(32)),
        sealed(b"\x01\x7ft\0m", nonce=bytes(16)),
    ):
        assert known.datagram(bad) is None
    assert listener.take() == b""


def test_the_same_datagram_again_is_another_message(known: Server, listener: Line) -> None:
    again = sealed(b"\x01\x7ft\0m")
    assert [known.datagram(again), known.datagram(again)] == [OK, OK]
    assert listener.take() == pushed("t", b"m") * 2


def test_the_key_of_nobody_is_enough_where_nobody_may_log_in(tmp_path: Path) -> None:
    server = Server(**write(tmp_path), anonymous=False)
    assert server.datagram(plain(b"\x01\x7ft\0m")) == DENIED
    assert server.datagram(sealed(b"\x01\x7ft\0m", b"")) == OK


def test_clear_datagrams_are_taken_where_streams_must_be_secure() -> None:
    assert Server(allow_no_tls=False).datagram(plain(b"\x01\x7ft\0m")) == OK


def test_datagrams_are_traced_without_passwords(known: Server) -> None:
    known.datagram(plain(b"\x01\x7ft\0m", b"user1", b"secret"))
    known.datagram(plain(b"\x02\x7ft\0m"))
    detail = "\n".join(known.traced)
    assert "udp < DatagramReply(version=1, code=<ResponseCode.OK: 1>)" in detail
    assert "udp < nothing: unknown operation 02" in detail
    assert "secret" not in detail
