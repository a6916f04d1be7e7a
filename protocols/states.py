"""The state machine as a table `{(role, state): {event: next state}}`; a move that is absent is illegal.

The table is data: documents draw it, tests walk every cell, fuzzers pick from it. Each protocol has its own states.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Generic, TypeVar

from wireproof.protocols.errors import ErrorCode, LocalProtocolError


class Role(StrEnum):
    """Which side of the connection a codec speaks for."""

    CLIENT = "client"
    SERVER = "server"


StateT = TypeVar("StateT", bound=Enum)
EventT = TypeVar("EventT", bound=Enum)


class StateMachine(Generic[StateT, EventT]):
    """One side's position in a table."""

    __slots__ = ("_moves", "_table", "role", "state")

    def __init__(self, table: Mapping[tuple[Role, StateT], Mapping[EventT, StateT]], role: Role, start: StateT) -> None:
        self._table = table
        self.role = role
        self._enter(start)

    def move(self, event: EventT) -> None:
        """Follow `event`; `LocalProtocolError` (illegal_state) where the table has no such move."""
        following = self._moves.get(event)
        if following is None:
            raise LocalProtocolError(
                ErrorCode.ILLEGAL_STATE, f"{self.role} in state {self.state.value} allows no {event.value}"
            )
        if following is not self.state:
            self._enter(following)

    def _enter(self, state: StateT) -> None:
        self.state = state
        self._moves = self._table.get((self.role, state), {})
