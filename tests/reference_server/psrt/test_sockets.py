"""PSRT over real loopback sockets: TLS, datagrams, a UNIX socket and a reader that does not read."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from tests.reference_server.parrot import client_context
from tests.reference_server.psrt import account_files
from tests.reference_server.psrt.simulated import (
    ANONYMOUS,
    DATA_HELLO,
    HELLO,
    OK,
    SENT_DATA_HELLO,
    SENT_HELLO,
    login,
    publish,
    pushed,
    sized,
    subscribe,
)
from tests.reference_server.serving import LOOPS, PATIENCE, served
from wireproof.protocols.psrt import PROFILES
from wireproof.reference_server.certificates import self_signed
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.psrt import create
from wireproof.reference_server.server import Endpoints
from wireproof.reference_server.service import Limits, Service, seeded_ids

Serve = Callable[..., list[str]]


@pytest.fixture(params=LOOPS, name="serving")
def _serving(request: pytest.FixtureRequest) -> Serve:
    def serving(play: Callable[[list[str]], None], *, limits: Limits | None = None, **given: Any) -> list[str]:
        places = {name: given.pop(name) for name in ("udp", "unix", "tls") if name in given}

        def make(clock: Clock) -> Service:
            return create(
                PROFILES["1"],
                "standard",
                clock=clock,
                ids=seeded_ids(7),
                limits=limits or Limits(),
                options=given,
            )

        return served(request.param, make, Endpoints(**places), play, limits)

    return serving


def connected(address: str) -> socket.socket:
    scheme, _, place = address.partition("://")
    if scheme == "unix":
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE)
        sock.connect(place)
        return sock
    host, port = place.rsplit(":", 1)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if scheme == "udp" else socket.SOCK_STREAM)
    sock.settimeout(PATIENCE)
    sock.connect((host, int(port)))
    return sock


def read(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := sock.recv(size - len(data))):
        data += more
    return data


def ask(sock: socket.socket, data: bytes, size: int) -> bytes:
    sock.sendall(data)
    return read(sock, size)


def logged_in(address: str) -> tuple[socket.socket, bytes]:
    sock = connected(address)
    answer = ask(sock, HELLO + ANONYMOUS, 36)
    assert answer[:4] == SENT_HELLO
    return sock, answer[4:]


def test_both_sockets_a_message_a_beacon_and_the_end(serving: Serve) -> None:
    def play(addresses: list[str]) -> None:
        control, token = logged_in(addresses[0])
        with control, connected(addresses[0]) as data:
            assert ask(data, DATA_HELLO + token + b"\1", 5) == SENT_DATA_HELLO + OK
            assert ask(control, subscribe("a") + publish("a", b"m"), 2) == OK * 2
            assert read(data, len(pushed("a", b"m"))) == pushed("a", b"m")
            assert read(data, 1) == b"\0"
            assert ask(control, b"\xff", 10) == OK
            assert data.recv(10) == b""

    serving(play)


def test_a_control_socket_inside_tls_and_a_data_socket_outside(serving: Serve, tmp_path: Path) -> None:
    files = self_signed(tmp_path)

    def play(addresses: list[str]) -> None:
        with ExitStack() as stack:
            plain = stack.enter_context(connected(addresses[0]))
            plain.sendall(HELLO[:2] + b"\1")
            control = stack.enter_context(client_context(files[0]).wrap_socket(plain, server_hostname="localhost"))
            assert control.recv(100) == SENT_HELLO
            token = ask(control, ANONYMOUS, 32)
            data = stack.enter_context(connected(addresses[0]))
            assert ask(data, DATA_HELLO + token + b"\xff", 5) == SENT_DATA_HELLO + OK
            assert ask(control, subscribe("a") + publish("a", b"m"), 2) == OK * 2
            assert read(data, len(pushed("a", b"m"))) == pushed("a", b"m")
            other = client_context(files[0])
            other.maximum_version = ssl.TLSVersion.TLSv1_2
            second = stack.enter_context(connected(addresses[0]))
            second.sendall(DATA_HELLO[:2] + b"\1")
            inside = stack.enter_context(other.wrap_socket(second, server_hostname="localhost"))
            assert ask(inside, token + b"\xff", 5) == SENT_DATA_HELLO + b"\xff"
            assert inside.recv(1) == b""

    serving(play, tls=files)


def test_passwords_that_are_checked_delay_nobody(
    serving: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, correct = threading.Event(), threading.Event(), bcrypt.checkpw

    def slow(password: bytes, stored: bytes) -> bool:
        begun.set()
        assert go_on.wait(PATIENCE)
        return correct(password, stored)

    def play(addresses: list[str]) -> None:
        good, _ = logged_in(addresses[0])
        with good, connected(addresses[0]) as other, connected(addresses[0]) as bad, connected(addresses[1]) as udp:
            other.sendall(HELLO + login(b"user1", b"secret") + subscribe("a"))
            bad.sendall(HELLO + login(b"lim", b"wrong"))
            udp.send(bytes.fromhex("eeaa010000") + b"user1\0wrong\0" + bytes.fromhex("017f74006d"))
            assert begun.wait(PATIENCE)
            assert ask(good, subscribe("b"), 1) == OK
            assert read(other, 4) == read(bad, 4) == SENT_HELLO
            go_on.set()
            assert len(read(other, 32)) == 32
            assert read(other, 1) == OK
            assert bad.recv(1) == b""
            assert udp.recv(100) == bytes.fromhex("eeaa0100fe")

    monkeypatch.setattr(bcrypt, "checkpw", slow)
    serving(play, udp=True, **account_files.write(tmp_path))


def test_a_server_that_stops_checks_no_more_passwords(
    serving: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, checked = threading.Event(), threading.Event(), []

    def slow(password: bytes, stored: bytes) -> bool:
        begun.set()
        checked.append(password)
        return not go_on.wait(0.5)

    def play(addresses: list[str]) -> None:
        with ExitStack() as stack:
            for number in range(50):
                sock = stack.enter_context(connected(addresses[0]))
                sock.sendall(HELLO + login(b"user1", b"wrong%d" % number))
                assert read(sock, 4) == SENT_HELLO
            assert begun.wait(PATIENCE)

    monkeypatch.setattr(bcrypt, "checkpw", slow)
    serving(play, **account_files.write(tmp_path))
    go_on.set()
    assert len(checked) < 50


def test_a_datagram_reaches_a_data_socket(serving: Serve) -> None:
    def play(addresses: list[str]) -> None:
        control, token = logged_in(addresses[0])
        with control, connected(addresses[0]) as data, connected(addresses[1]) as udp:
            assert ask(data, DATA_HELLO + token + b"\xff", 5) == SENT_DATA_HELLO + OK
            assert ask(control, subscribe("t"), 1) == OK
            udp.send(bytes.fromhex("eeaa0100000000217f7400"))
            udp.send(bytes.fromhex("eeaa0100000000017f74006d"))
            assert udp.recv(100) == bytes.fromhex("eeaa010001")
            assert read(data, len(pushed("t") + pushed("t", b"m"))) == pushed("t") + pushed("t", b"m")
            udp.send(bytes.fromhex("eeaa0100000000017f7400") + bytes(5000))
            assert udp.recv(100) == bytes.fromhex("eeaa0100ff")

    serving(play, udp=True)


def test_a_unix_socket_asks_for_nothing(serving: Serve, tmp_path: Path) -> None:
    def play(addresses: list[str]) -> None:
        with connected(addresses[1]) as control:
            answer = ask(control, HELLO[:2] + b"\x07" + sized(b"whoever") + b"\0", 37)
            assert (answer[:4], answer[36:]) == (SENT_HELLO, OK)

    serving(play, unix=tmp_path / "socket.sock", anonymous=False)


@pytest.mark.parametrize(("limit", "queue"), [(Limits().push_limit, 8), (800_000, 1024)], ids=["messages", "bytes"])
def test_a_reader_that_does_not_read_is_cut_and_may_come_again(serving: Serve, limit: int, queue: int) -> None:
    def play(addresses: list[str]) -> None:
        control, token = logged_in(addresses[0])
        message = publish("a", bytes(100_000))
        with control, connected(addresses[0]) as slow, connected(addresses[0]) as data:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            assert ask(slow, DATA_HELLO + token + b"\xff", 5) == SENT_DATA_HELLO + OK
            assert ask(control, subscribe("a"), 1) == OK
            again = DATA_HELLO + token + b"\xff"
            for _ in range(200):
                assert ask(control, message, 1) == OK
            assert ask(data, again, 5) == SENT_DATA_HELLO + OK
            assert ask(control, message, 1) == OK
            assert read(data, len(message)) == message

    serving(play, limits=Limits(linger=0.05, push_limit=limit), data_queue=queue)
