"""The options that only servers of one protocol have, as data; the command line is built from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

__all__ = ["Option", "chosen"]

KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "whole": ((int,), "a whole number"),
    "seconds": ((int, float), "seconds"),
    "switch": ((bool,), "True or False"),
    "file": ((Path, str, type(None)), "a path"),
    "folder": ((Path, str, type(None)), "a path"),
    "texts": ((tuple,), "texts"),
}
"""Kind -> (the Python types of its values, their description in messages)."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a server."""

    name: str
    """`max_topic_depth`; on the command line `--max-topic-depth`."""
    kind: Literal["whole", "seconds", "switch", "file", "folder", "texts"]
    """`texts` may be given several times."""
    default: Any
    help: str
    """Its description, one sentence."""
    least: float = 0
    """The smallest number that is allowed."""

    def check(self, value: object) -> None:
        """Raises ValueError if this option does not allow `value`."""
        types, expected = KINDS[self.kind]
        if not isinstance(value, types) or (isinstance(value, bool) and self.kind != "switch"):
            raise ValueError(f"option {self.name}: expected {expected}, got {value!r}")
        if isinstance(value, int | float) and not value >= self.least:
            raise ValueError(f"option {self.name}: expected at least {self.least}, got {value!r}")


def chosen(protocol: str, known: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every option, given or default. Raises ValueError for an unknown name or a bad value."""
    by_name = {option.name: option for option in known}
    for name, value in given.items():
        if name not in by_name:
            names = ", ".join(by_name) or "none"
            raise ValueError(f"unknown option {name!r} of a {protocol} server: expected one of: {names}")
        by_name[name].check(value)
    return {name: given.get(name, option.default) for name, option in by_name.items()}
