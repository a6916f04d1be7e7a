"""The table of a connection's states: every cell walked, absent moves refused, and the connections keep to it."""

from __future__ import annotations

import pytest

from tests.protocols.throttr.combos import CODECS
from wireproof.protocols import LocalProtocolError, Role
from wireproof.protocols.states import StateMachine
from wireproof.protocols.throttr import ClientConnection, ServerConnection, State
from wireproof.protocols.throttr.replies import PushedEvent, WhoamiReply
from wireproof.protocols.throttr.requests import Whoami
from wireproof.protocols.throttr.states import TABLE, Move

CELLS = [(role, state, move) for role in Role for state in State for move in Move]
NEW = CODECS["7.3.2-uint16"]


@pytest.mark.parametrize(("role", "state", "move"), CELLS)
def test_a_cell_is_followed_or_refused(role: Role, state: State, move: Move) -> None:
    machine = StateMachine(TABLE, role, state)
    following = TABLE.get((role, state), {}).get(move)

    if following is None:
        with pytest.raises(LocalProtocolError, match=f"^illegal_state: {role} in state {state} allows no {move}$"):
            machine.move(move)
        assert machine.state is state
    else:
        machine.move(move)
        assert machine.state is following


def test_nothing_moves_a_closed_connection_and_every_state_is_reached() -> None:
    reached = {state for moves in TABLE.values() for state in moves.values()}

    assert reached == set(State)
    assert not any(state is State.CLOSED for _, state in TABLE)


def test_a_client_that_ended_its_requests_still_reads_replies() -> None:
    client = ClientConnection(NEW)
    client.send(Whoami())
    client.end_requests()
    client.receive_data(b"\x01" + bytes(16))
    client.next_event()

    assert client.state is State.DRAINING
    assert client.pending == ()
    with pytest.raises(LocalProtocolError, match="client in state draining allows no request"):
        client.send(Whoami())


def test_the_end_of_the_servers_stream_closes_a_client() -> None:
    client = ClientConnection(NEW)
    client.receive_data(b"")
    client.next_event()

    assert client.state is State.CLOSED


def test_the_end_of_the_clients_stream_leaves_a_server_its_replies() -> None:
    server = ServerConnection(NEW)
    server.receive_data(b"\x18")
    server.receive_data(b"")
    server.next_event()
    server.next_event()

    assert server.state is State.DRAINING
    assert server.send_all([]) == b""
    server.end_replies()
    assert server.state is State.CLOSED


def test_what_answers_nothing_that_waits_leaves_it_waiting() -> None:
    server = ServerConnection(NEW)
    server.receive_data(b"\x18")
    assert server.next_event() == Whoami()

    server.follow(PushedEvent(b"c", b"p"))
    assert server.send(WhoamiReply(bytes(16))) == b"\x01" + bytes(16)
