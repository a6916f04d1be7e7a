"""What happened on many connections at once: operations, each with the instants it was sent and answered.

Instants are places in the trace, so they say exactly what the harness saw: an operation whose answer was read before
another one was sent came before it. Requests of one connection about one key act in the order they were sent.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wireproof.protocols import Message, Request

NEVER = sys.maxsize
"""The instant of an answer that did not come."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One request and its answer."""

    number: int
    """In order of sending, from 0; unique in its history."""
    connection: str
    request: Request
    invoked: int
    reply: Message | None = None
    """None: no answer came, so it may have happened or not."""
    returned: int = NEVER
    may: bool = False
    """True: take it as one that happened with this answer, or did not happen."""

    def overlaps(self, other: Operation) -> bool:
        """Say whether neither was answered before the other was sent."""
        return self.invoked <= other.returned and other.invoked <= self.returned


class History:
    """Collects operations while they are under way."""

    def __init__(self) -> None:
        self._made: list[Operation] = []
        self._waiting: dict[str, deque[int]] = {}

    def sent(self, connection: str, requests: Sequence[Request], at: int) -> None:
        """Note requests of one connection, in order, sent at the instant `at`."""
        for request in requests:
            self._waiting.setdefault(connection, deque()).append(len(self._made))
            self._made.append(Operation(len(self._made), connection, request, at))

    def answered(self, connection: str, reply: Message, at: int) -> None:
        """Note the answer to the oldest request that waits on a connection."""
        number = self._waiting[connection].popleft()
        self._made[number] = replace(self._made[number], reply=reply, returned=at)

    def under_way(self, connection: str) -> int:
        """Return how many requests of a connection have no answer yet."""
        return len(self._waiting.get(connection, ()))

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What was asked so far, in order of sending."""
        return tuple(self._made)


def by_connection(operations: Sequence[Operation]) -> dict[str, list[Operation]]:
    """Return the operations of each connection, in the order they were sent."""
    chains: dict[str, list[Operation]] = {}
    for one in operations:
        chains.setdefault(one.connection, []).append(one)
    return chains
