"""Both sides of a connection in use: right ones pass, and each kind of wrong call is found."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.parser_input import Endpoint, combinations
from wireproof.protocols import EndOfStream, LocalProtocolError, protocol_names
from wireproof.protocols.buffer import Buffer
from wireproof.protocols.psrt.connection import PsrtServer
from wireproof.protocols.throttr.connection import ClientConnection, ServerConnection
from wireproof.protocols.throttr.states import Move, State

Wrong = Callable[..., Any]
send_all, await_replies = ServerConnection.send_all, ClientConnection._await_replies


def _played(endpoint: Endpoint, number: int = 60) -> None:
    drawn = Random(7)
    for _ in range(number):
        endpoint.check_dialogue(bytes(3) + drawn.randbytes(48))


@pytest.mark.parametrize("name", protocol_names())
def test_right_sides_understand_each_other(name: str) -> None:
    for endpoint in combinations(name):
        _played(endpoint, 12)


def _sends_after_the_end(self: Any, messages: Any) -> bytes:
    return b"\1" if self._machine.state is State.CLOSED else send_all(self, messages)


def _takes_any_reply(self: Any, messages: Any) -> bytes:
    if self._machine.state is State.CLOSED:
        self._machine.move(Move.REPLY)
    return b"".join(map(self.codec.encode, messages))


def _counts_none(self: Any) -> EndOfStream:
    self._machine.move(Move.END_OF_REQUESTS)
    return EndOfStream(0)


def _does_not_move(self: Any) -> EndOfStream:
    return EndOfStream(len(self._pending))


def _keeps_what_it_refused(self: Any, requests: Any) -> None:
    self._pending.extend(self.codec.answered(requests))
    self._machine.move(Move.REQUEST)


def _reads_one_twice(self: Any, message: Any) -> None:
    self._pending.append(message)
    self._buffer.at = 0


def _puts_back_in_reverse(self: Any, messages: Any) -> bytes:
    waiting = tuple(self._pending)
    try:
        return send_all(self, messages)
    except LocalProtocolError:
        self._pending = deque(reversed(waiting))
        raise


def _asked_where_the_frame_begins(self: Any, requests: Any) -> None:
    buffered, self._buffer = self._buffer, Buffer()
    await_replies(self, requests)
    self._buffer = buffered


@pytest.mark.parametrize(
    ("side", "name", "wrong", "oracle"),
    [
        (ServerConnection, "send_all", _puts_back_in_reverse, "a refused message changes nothing"),
        (ClientConnection, "_await_replies", _asked_where_the_frame_begins, "what is sent is read|only named errors"),
        (ServerConnection, "send_all", _sends_after_the_end, "nothing is sent after the end"),
        (ServerConnection, "send_all", _takes_any_reply, "a reply out of turn is refused"),
        (ServerConnection, "_end_of_stream", _counts_none, "an end is reported once"),
        (ClientConnection, "_await_replies", _keeps_what_it_refused, "a refused message changes nothing"),
        (ServerConnection, "_accept", _reads_one_twice, "what is sent is read"),
        (ClientConnection, "_end_of_stream", _does_not_move, "nothing is sent after the end"),
    ],
)
def test_a_wrong_side_is_found(
    monkeypatch: pytest.MonkeyPatch, side: type, name: str, wrong: Wrong, oracle: str
) -> None:
    endpoint = next(one for one in combinations("throttr") if not one.is_client)
    _played(endpoint, 1)  # its examples are read here, by sides that are right
    monkeypatch.setattr(side, name, wrong)
    with pytest.raises(InvariantError, match=oracle):
        _played(endpoint, 300)


def test_what_is_read_before_the_answer_that_decides_what_it_is_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoints = [one for one in combinations("psrt") if not one.is_client and one.link_name in ("", "control")]
    for endpoint in endpoints:
        _played(endpoint, 1)
    monkeypatch.setattr(PsrtServer, "_replicates", lambda self: False)

    def play_all() -> None:
        for endpoint in endpoints:
            _played(endpoint, 100)

    with pytest.raises(InvariantError, match=r"PUBLISH_REPL.*and what follows it"):
        play_all()
