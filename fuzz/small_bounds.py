"""A server whose limits short conversations reach, and that does in many turns what it usually does in one.

What happens only beyond a limit, a chunk or a cache is never met by a fuzzer whose conversations stay below them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from wireproof.fuzz.invariants.scheduler_invariants import small_steps
from wireproof.reference_server.registry import SERVICES, portions_of

__all__ = ["small_portions"]


@contextmanager
def small_portions(protocol: str) -> Iterator[None]:
    """Let servers of a protocol, and their scheduler, do little at a time for the duration of the context."""
    usual: list[tuple[Any, str, int]] = []
    try:
        for module, name, size in _places(portions_of(protocol), SERVICES[protocol]):
            usual.append((module, name, getattr(module, name)))
            setattr(module, name, size)
        with small_steps():
            yield
    finally:
        for module, name, size in usual:
            setattr(module, name, size)


def _places(portions: Mapping[str, int], package: str) -> Iterator[tuple[Any, str, int]]:
    for where, size in portions.items():
        module, _, name = where.rpartition(".")
        yield import_module(f"{package}.{module}"), name, size
