"""What the connections of one case ask, and in which order it is written: drawn from the case's seed, nothing else.

The same spec gives the same requests on any machine. docs/writing-cases.md explains each key.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

from wireproof.conformance.suite.steps import Asked, DrawBetween, DrawOneOf, Mix
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.values import MessageTimes, Number, Scalar, SymbolicMessage
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import Request

Choice = TypeVar("Choice")
FLOWS = ("waves", "stream")
MOST = {"connections": 64, "requests": 10_000, "depth": 1_000, "keys": 1_000}
"""Bounds that keep a mistake in a case from filling the machine."""


class Workload:
    """The requests of one `concurrent` step."""

    def __init__(self, symbols: Symbols, spec: Mix) -> None:
        """Raises `SymbolError` for a number beyond the bounds."""
        self._symbols = symbols
        self.connections = self._number(spec.connections, "connections")
        self.requests = self._number(spec.requests, "requests")
        self.depth = self._number(spec.depth, "depth")
        self.keys = self._number(spec.keys, "keys")
        self.flow = symbols.filled(spec.flow)
        if self.flow not in FLOWS:
            raise SymbolError(f"concurrent.flow: expected {' or '.join(FLOWS)}, got {self.flow!r}")
        self.random = random.Random(f"wireproof {symbols.integer(spec.seed, 'seed')}")
        self._draw = spec.draw
        self._mix = self._by_weight(spec.of)
        self._begin = self._by_weight(spec.begin)
        self._end = self._by_weight(spec.end)
        self._made = 0

    def _number(self, spec: Number, name: str) -> int:
        number = self._symbols.integer(spec, name)
        if not 1 <= number <= MOST[name]:
            raise SymbolError(f"concurrent.{name}: expected 1 to {MOST[name]}, got {number}")
        return number

    def _by_weight(self, asked: Sequence[Asked]) -> list[SymbolicMessage]:
        """Return the messages, those of `{times: 3, of: M}` as often as it says."""
        found = list[SymbolicMessage]()
        for one in asked:
            of, times = (one.of, self._symbols.integer(one.times)) if isinstance(one, MessageTimes) else (one, 1)
            if not isinstance(of, SymbolicMessage):
                raise SymbolError(f"concurrent: expected requests, got {as_written(of)!r}")
            found += [of] * times
        return found

    def alone(self) -> Iterator[Request]:
        """Yield requests on a key of their own (`key` is 0), to be asked on one connection."""
        yield from (self._made_of(one, 0, 0) for one in self._begin)
        yield from (self._made_of(self._one_of(self._mix), 0, 0) for _ in range(self.requests))
        yield from (self._made_of(one, 0, 0) for one in self._end)

    def begin(self) -> Iterator[Request]:
        """Yield what is asked of each key before all others."""
        yield from (self._made_of(one, key, 0) for key in range(1, self.keys + 1) for one in self._begin)

    def end(self, by: int) -> list[Request]:
        """Return what connection `by` asks of each key after all others."""
        return [self._made_of(one, key, by) for key in range(1, self.keys + 1) for one in self._end]

    def burst(self, by: int, number: int) -> list[Request]:
        """Return the next requests of connection `by`."""
        return [self._made_of(self._one_of(self._mix), 1 + self._below(self.keys), by) for _ in range(number)]

    def _made_of(self, spec: SymbolicMessage, key: int, by: int) -> Request:
        self._made += 1
        drawn = {name: self._drawn(one) for name, one in self._draw.items()}
        self._symbols.variables.update(drawn, key=key, by=by, n=self._made)
        message = self._symbols.message(spec)
        if not isinstance(message, Request):
            raise SymbolError(f"concurrent: expected requests, got {message.NAME}")
        return message

    def _drawn(self, spec: DrawBetween | DrawOneOf) -> Scalar:
        match spec:
            case DrawBetween((first, last)):
                low, high = self._symbols.integer(first), self._symbols.integer(last)
                if low <= high:
                    return low + self._below(high - low + 1)
            case DrawOneOf(choices) if choices:
                return self._one_of(choices)
        raise SymbolError(
            f"concurrent.draw: expected {{between: [1, 9]}} or {{one_of: [...]}}, got {as_written(spec)!r}"
        )

    def _one_of(self, choices: Sequence[Choice]) -> Choice:
        return choices[self._below(len(choices))]

    def _below(self, number: int) -> int:
        """Return a random number below `number`, the same in every version of Python."""
        return int(self.random.random() * number)

    def shuffled(self, names: Sequence[int]) -> list[int]:
        """Return the same in a random order."""
        left = list(names)
        return [left.pop(self._below(len(left))) for _ in range(len(left))]

    def share(self, most: int) -> int:
        """Return how many of at most `most` requests leave in one write."""
        return 1 + self._below(min(most, 4))
