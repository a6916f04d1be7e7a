"""What the connections of one case ask, and in which order it is written: drawn from the case's seed, nothing else.

The same spec gives the same requests on any machine. docs/writing-cases.md tells what each key means.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.protocols import Request

FLOWS = ("waves", "stream")
MOST = {"connections": 64, "requests": 10_000, "depth": 1_000, "keys": 1_000}
"""Bounds that keep a mistake in a case from filling the machine."""


class Workload:
    """The requests of one `concurrent` step."""

    def __init__(self, symbols: Symbols, spec: Mapping[str, Any]) -> None:
        self._symbols = symbols
        self.connections = self._number(spec, "connections")
        self.requests = self._number(spec, "requests")
        self.depth = self._number(spec, "depth")
        self.keys = self._number(spec, "keys")
        self.flow = symbols.filled(spec.get("flow", FLOWS[0]))
        if self.flow not in FLOWS:
            raise SymbolError(f"concurrent.flow: expected {' or '.join(FLOWS)}, got {self.flow!r}")
        self.random = random.Random(f"wireproof {symbols.integer(spec.get('seed', 1), 'seed')}")
        self._draw: Mapping[str, Any] = spec.get("draw", {})
        self._mix = [one for item in spec["of"] for one in self._weighed(item)]
        self._begin: Sequence[Any] = spec.get("begin", ())
        self._end: Sequence[Any] = spec.get("end", ())
        self._made = 0

    def _number(self, spec: Mapping[str, Any], name: str) -> int:
        number = self._symbols.integer(spec.get(name, 1), name)
        if not 1 <= number <= MOST[name]:
            raise SymbolError(f"concurrent.{name}: expected 1 to {MOST[name]}, got {number}")
        return number

    def _weighed(self, item: Any) -> list[Any]:
        """Return a message, or the one of `{times: 3, of: M}` as often as it says."""
        if isinstance(item, dict) and "times" in item:
            return [item["of"]] * self._symbols.integer(item["times"])
        return [item]

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

    def _made_of(self, spec: Any, key: int, by: int) -> Request:
        self._made += 1
        drawn = {name: self._drawn(one) for name, one in self._draw.items()}
        self._symbols.variables.update(drawn, key=key, by=by, n=self._made)
        message = self._symbols.message(spec)
        if not isinstance(message, Request):
            raise SymbolError(f"concurrent: expected requests, got {message.NAME}")
        return message

    def _drawn(self, spec: Any) -> Any:
        match spec:
            case {"between": [first, last]}:
                low, high = self._symbols.integer(first), self._symbols.integer(last)
                if low <= high:
                    return low + self._below(high - low + 1)
            case {"one_of": [*choices]} if choices:
                return self._one_of(choices)
        raise SymbolError(f"concurrent.draw: expected {{between: [1, 9]}} or {{one_of: [...]}}, got {spec!r}")

    def _one_of(self, choices: Sequence[Any]) -> Any:
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
