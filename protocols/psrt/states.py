"""The states of PSRT's sockets, as tables (see `wireproof.protocols.states`); both sides follow the same ones.

A client moves as it sends, a server as it reads; `WAITING` is the reply OK_WAITING, which turns what is read next.
"""

from __future__ import annotations

from enum import StrEnum

from wireproof.protocols.states import Role


class State(StrEnum):
    """Where a socket stands."""

    NEW = "new"
    SECURING = "securing"
    GREETED = "greeted"
    OPEN = "open"
    REPLICATING = "replicating"
    ENDING = "ending"
    CLOSED = "closed"
    FAILED = "failed"


class Move(StrEnum):
    """What moves it."""

    GREETING = "greeting"
    GREETING_TLS = "greeting that asks for TLS"
    SECURED = "secured"
    LOGIN = "login"
    OPERATION = "operation"
    WAITING = "OK_WAITING"
    REPL_DATA = "data of a replication"
    BYE = "bye"
    REPLY = "reply"
    PUSH = "push"
    END_OF_REQUESTS = "end of requests"
    END_OF_REPLIES = "end of replies"
    FAILURE = "failure"


_ENDS = {
    Move.END_OF_REQUESTS: State.ENDING,
    Move.END_OF_REPLIES: State.CLOSED,
    Move.FAILURE: State.FAILED,
}
_NEW = {Move.GREETING: State.GREETED, Move.GREETING_TLS: State.SECURING, **_ENDS}
_ENDING = {
    Move.REPLY: State.ENDING,
    Move.PUSH: State.ENDING,
    Move.END_OF_REPLIES: State.CLOSED,
    Move.FAILURE: State.FAILED,
}
_FAILED = {Move.REPLY: State.FAILED, Move.END_OF_REPLIES: State.CLOSED}


def _staying(state: State) -> dict[Move, State]:
    return {Move.REPLY: state, **_ENDS}


_CONTROL = {
    State.NEW: _NEW,
    State.SECURING: {Move.SECURED: State.GREETED, **_ENDS},
    State.GREETED: {Move.LOGIN: State.OPEN, **_staying(State.GREETED)},
    State.OPEN: {
        Move.OPERATION: State.OPEN,
        Move.WAITING: State.REPLICATING,
        Move.BYE: State.ENDING,
        **_staying(State.OPEN),
    },
    State.REPLICATING: {Move.REPL_DATA: State.OPEN, **_staying(State.REPLICATING)},
    State.ENDING: _ENDING,
    State.FAILED: _FAILED,
}
_DATA = {
    State.NEW: _NEW,
    State.SECURING: {Move.SECURED: State.GREETED, **_ENDS},
    State.GREETED: {Move.LOGIN: State.OPEN, **_staying(State.GREETED)},
    State.OPEN: {Move.PUSH: State.OPEN, **_staying(State.OPEN)},
    State.ENDING: _ENDING,
    State.FAILED: _FAILED,
}
CONTROL_TABLE = {(role, state): moves for role in Role for state, moves in _CONTROL.items()}
DATA_TABLE = {(role, state): moves for role in Role for state, moves in _DATA.items()}
"""The token is the login of a data socket."""
