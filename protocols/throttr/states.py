"""The states of a Throttr connection, as a table (see `wireproof.protocols.states`).

There is no handshake: it starts open.

A side that has sent or seen the end of the requests is draining: replies still due go out, no request may follow.
The server's side moves for what changes its state; requests, replies and pushes leave it where it is.
"""

from __future__ import annotations

from enum import StrEnum

from wireproof.protocols.states import Role


class State(StrEnum):
    """Where a connection stands."""

    OPEN = "open"
    DRAINING = "draining"
    CLOSED = "closed"
    FAILED = "failed"


class Move(StrEnum):
    """What moves it."""

    REQUEST = "request"
    REPLY = "reply"
    PUSH = "push"
    END_OF_REQUESTS = "end of requests"
    END_OF_REPLIES = "end of replies"
    FAILURE = "failure"


_OPEN = {
    Move.REQUEST: State.OPEN,
    Move.REPLY: State.OPEN,
    Move.PUSH: State.OPEN,
    Move.END_OF_REQUESTS: State.DRAINING,
    Move.END_OF_REPLIES: State.CLOSED,
    Move.FAILURE: State.FAILED,
}
_DRAINING = {
    Move.REPLY: State.DRAINING,
    Move.PUSH: State.DRAINING,
    Move.END_OF_REPLIES: State.CLOSED,
    Move.FAILURE: State.FAILED,
}
TABLE = {(role, state): moves for role in Role for state, moves in ((State.OPEN, _OPEN), (State.DRAINING, _DRAINING))}
TABLE[Role.SERVER, State.FAILED] = {
    Move.REPLY: State.FAILED,
    Move.PUSH: State.FAILED,
    Move.END_OF_REPLIES: State.CLOSED,
}
"""A server that can frame no more requests still answers those it could (THR-ROBUSTNESS-13)."""
