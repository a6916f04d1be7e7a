"""The states of a connection, as a table (see `wireproof.protocols.states`); both sides follow the same one.

A client moves as it sends, a server as it reads. What a server answers never decides how what follows is read.
"""

from __future__ import annotations

from enum import StrEnum

from wireproof.protocols.states import Role


class State(StrEnum):
    """Where a connection stands."""

    NEW = "new"
    GREETED = "greeted"
    OPEN = "open"
    ENDING = "ending"
    CLOSED = "closed"
    FAILED = "failed"


class Move(StrEnum):
    """What moves it."""

    VERSION = "version"
    LINE = "line"
    END_OF_REQUESTS = "end of requests"
    END_OF_REPLIES = "end of replies"
    FAILURE = "failure"


_ENDS = {Move.END_OF_REQUESTS: State.ENDING, Move.END_OF_REPLIES: State.CLOSED, Move.FAILURE: State.FAILED}
_MOVES = {
    State.NEW: {Move.VERSION: State.GREETED, **_ENDS},
    State.GREETED: {Move.LINE: State.OPEN, **_ENDS},
    State.OPEN: {Move.LINE: State.OPEN, **_ENDS},
    State.ENDING: {Move.END_OF_REPLIES: State.CLOSED, Move.FAILURE: State.FAILED},
    State.FAILED: {Move.END_OF_REPLIES: State.CLOSED},
}
TABLE = {(role, state): moves for role in Role for state, moves in _MOVES.items()}
HOOK_TABLE = {(role, state): {Move.LINE: State.OPEN, **moves} if state is State.NEW else moves
              for (role, state), moves in TABLE.items()}  # fmt: skip
"""At the hook there is no version."""
