"""A register for tests of the checker: requests are what they say, no protocol is needed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from wireproof.conformance.player.concurrency.history import NEVER, Operation

READ = "read"


class Register:
    """A number that begins as 0; `("add", n)` answers the new number, `("write", n)` `ok`, `read` the number."""

    initial: Hashable = 0

    def key(self, request: Any) -> bytes:
        return b"k"

    def step(self, state: Any, request: Any, reply: Any) -> tuple[Hashable, ...]:
        if request == READ:
            return (state,) if reply in (None, state) else ()
        verb, number = request
        then = number if verb == "write" else state + number
        shown = "ok" if verb == "write" else then
        return (then,) if reply in (None, shown) else ()

    def reads(self, request: Any, reply: Any) -> bool:
        return bool(request == READ)

    def expires_at_once(self, state: Hashable, request: Any) -> bool:
        return False

    def may_be_seen_again(self, state: Hashable, request: Any, reply: Any, within_ns: int) -> bool:
        return False

    def describe(self, state: Hashable) -> str:
        return f"register {state}"


def op(number: int, connection: str, request: Any, reply: Any, invoked: int, returned: int = NEVER) -> Operation:
    """Return an operation on the register."""
    return Operation(number, connection, request, invoked, reply, returned)


def history(*rows: tuple[str, Any, Any, int, int]) -> list[Operation]:
    """Return operations of `(connection, request, reply, invoked, returned)`, in order of sending."""
    return [op(number, *row) for number, row in enumerate(rows)]


def brute_force(operations: list[Operation]) -> bool:
    """Say whether an order exists, by trying all."""
    model = Register()

    def explained(left: list[Operation], state: Hashable) -> bool:
        if all(one.reply is None or one.may for one in left):
            return True
        return any(
            explained([other for other in left if other is not one], then)
            for one in left
            if not any(_before(other, one) for other in left if other is not one)
            for then in (*model.step(state, one.request, one.reply), *([state] if one.may else []))
        )

    return explained(operations, model.initial)


def _before(first: Operation, second: Operation) -> bool:
    """Say whether `first` must come first: it was answered before, or its connection sent it before."""
    same = first.connection == second.connection and first.number < second.number
    return same or first.returned < second.invoked
