"""The sockets of plays give the answers of the driver for cases, whatever the peer does."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.actions import Action, Open, Read, Shut, Write
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.player.connections import ActionGenerator
from wireproof.fuzz.live import direct_sockets
from wireproof.fuzz.live.direct_sockets import DirectSockets
from wireproof.fuzz.live.execution import PROBE

Peer = Callable[[socket.socket], None]


def echo_once(sock: socket.socket) -> None:
    sock.sendall(sock.recv(100))
    sock.recv(1)


def end(sock: socket.socket) -> None:
    sock.sendall(b"bye")


def answer_an_end(sock: socket.socket) -> None:
    while sock.recv(100):
        pass
    sock.sendall(b"last")


def say_nothing(sock: socket.socket) -> None:
    sock.recv(1)
    sock.recv(1)


def take_nothing(sock: socket.socket) -> None:
    time.sleep(0.6)


@contextmanager
def listening(peer: Peer) -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    sock, _ = server.accept()
                except OSError:
                    return
                with sock, suppress(OSError):
                    peer(sock)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Address("tcp", "127.0.0.1", server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def asking(actions: list[Action], answers: list[tuple[Kind, bytes]]) -> ActionGenerator[None]:
    for action in actions:
        answer = yield action
        answers.append((answer.kind, b"" if answer.kind is Kind.OPENED else answer.data))


@pytest.mark.parametrize(
    ("peer", "actions"),
    [
        (echo_once, [Open("a"), Write("a", b"1"), Read("a", 2.0), Shut("a", "close")]),
        (end, [Open("a"), Read("a", 2.0), Read("a", 2.0), Shut("a", "close")]),
        (answer_an_end, [Open("a"), Write("a", b"1"), Shut("a", "half"), Read("a", 2.0), Read("a", 2.0)]),
        (say_nothing, [Open("a"), Write("a", b"1"), Read("a", 0.05), Read("a", 0.0), Shut("a", "reset")]),
        (echo_once, [Open("a", unread=True), Write("a", b"12"), Read("a", 2.0), Shut("a", "close")]),
    ],
)
def test_answers_are_those_of_the_driver_for_cases(peer: Peer, actions: list[Action]) -> None:
    direct, usual = list[tuple[Kind, bytes]](), list[tuple[Kind, bytes]]()
    with listening(peer) as address:
        sockets = DirectSockets(address)
        sockets.begin(2.0)
        direct += [
            (answer.kind, b"" if answer.kind is Kind.OPENED else answer.data)
            for answer in map(sockets.perform, actions)
        ]
        sockets.close()
        asyncio.run(SocketDriver(address, timeout=2.0).perform(asking(actions, usual)))

    assert direct == usual


def test_nobody_listens() -> None:
    with listening(end) as address:
        pass
    sockets = DirectSockets(address)
    sockets.begin(1.0)

    assert sockets.perform(Open("a")).kind is Kind.RESET


def send_without_end(sock: socket.socket) -> None:
    while True:
        sock.sendall(bytes(65536))


def test_what_one_play_receives_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_sockets, "MOST", 4 << 20)
    monkeypatch.setattr(direct_sockets, "MOST_PIECES", 2)
    with listening(send_without_end) as address:
        sockets = DirectSockets(address)
        sockets.begin(2.0)
        sockets.perform(Open("a"))
        answers = [sockets.perform(Read("a", 1.0))]
        while answers[-1].kind is Kind.RECEIVED and len(answers) < 10_000:  # one read brings now more, now less
            answers.append(sockets.perform(Read("a", 1.0)))
        sockets.perform(Shut("a", "reset"))
        sockets.perform(Open(PROBE))
        probed = sockets.perform(Read(PROBE, 1.0))
        sockets.begin(2.0)
        sockets.perform(Open("a"))
        again = sockets.perform(Read("a", 1.0))
        sockets.close()

    assert probed.kind is Kind.RECEIVED
    assert 4 << 20 <= sum(len(one.data) for one in answers if one.kind is Kind.RECEIVED) < 6 << 20
    assert (answers[-1].kind, answers[-1].data) == (
        Kind.SILENT, b"more than 4 MiB came in one play: nothing more is read",
    )  # fmt: skip
    assert again.kind is Kind.RECEIVED


def test_a_target_that_does_not_read_is_not_waited_for_beyond_the_deadline() -> None:
    with listening(take_nothing) as address:
        sockets = DirectSockets(address)
        sockets.begin(0.2)
        sockets.perform(Open("a"))
        answer = sockets.perform(Write("a", bytes(32 << 20)))
        sockets.close()

    assert (answer.kind, answer.data) == (Kind.SILENT, b"the target stopped reading")
    assert answer.now < 3
