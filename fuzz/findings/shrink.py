"""Reduces an input while it still fails: delta debugging over items, then over bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["fewer", "smaller"]

Item = TypeVar("Item")


def fewer(items: Sequence[Item], holds: Callable[[Sequence[Item]], bool], *, tries: int = 2000) -> list[Item]:
    """Return a part of `items`, in order, for which `holds` is true and from which no item can be removed (ddmin).

    `holds(items)` must be true. After `tries` calls the best result so far is returned.
    """
    kept, left = list(items), tries
    width = len(kept)
    while width:
        at, shrunk = 0, False
        while at < len(kept):
            if left <= 0:
                return kept
            left -= 1
            without = kept[:at] + kept[at + width :]
            if holds(without):
                kept, shrunk = without, True
            else:
                at += width
        if not shrunk:
            width //= 2
    return kept


def smaller(data: bytes, holds: Callable[[bytes], bool], *, tries: int = 2000) -> bytes:
    """Return bytes for which `holds` is true: fewer of them, and zeros where the value does not matter.

    A zero may be a size, after which fewer bytes are enough: so both are tried until nothing changes.
    """
    spent = 0

    def counted(candidate: Sequence[int]) -> bool:
        nonlocal spent
        spent += 1
        return holds(bytes(candidate))

    kept = list(data)
    while spent < tries:
        before = kept
        kept = fewer(kept, counted, tries=tries - spent)
        for at, byte in enumerate(kept):
            if byte and spent < tries:
                candidate = [*kept[:at], 0, *kept[at + 1 :]]
                if counted(candidate):
                    kept = candidate
        if kept == before:
            break
    return bytes(kept)
