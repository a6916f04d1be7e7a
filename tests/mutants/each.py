"""One test over all mutants of a protocol: thousands of tests of a millisecond each cost more than what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar


class Named(Protocol):
    @property
    def name(self) -> str: ...


NamedT = TypeVar("NamedT", bound=Named)


def check_each(mutants: Iterable[NamedT], check: Callable[[NamedT], None]) -> None:
    """Check every mutant; those that fail are named together, the first with what it raised."""
    failed: dict[str, Exception] = {}
    for one in mutants:
        try:
            check(one)
        except Exception as error:
            failed[one.name] = error
    if failed:
        raise AssertionError(f"{len(failed)} failed: {', '.join(failed)}") from next(iter(failed.values()))
