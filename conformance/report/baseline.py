"""A baseline: the failures a project knows of. They do not fail a run, and a baseline that is out of date says so.

The file holds one case id a line; blank lines and `#` comments are ignored. A case fails when it fails under any of the
deliveries it was played under.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wireproof.conformance.model.verdict import GREEN, Level, Verdict
from wireproof.conformance.verdict.records import Record


class BaselineError(ValueError):
    """Raised when a baseline cannot be read; it names the file."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a run shows against a baseline."""

    new: tuple[str, ...]
    """Cases that fail and are not in it."""
    stale: tuple[str, ...]
    """Cases in it that were played and pass, or that no longer exist."""


def read_baseline(path: Path) -> frozenset[str]:
    """Return the case ids of the file; `BaselineError` when it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BaselineError(f"cannot read the baseline {path}: {error}") from None
    return frozenset(text for line in lines if (text := line.split("#")[0].strip()))


def failing(records: Iterable[Record]) -> list[Record]:
    """Return the records that make a run red: MUST or SHOULD, not green, not the harness's own fault."""
    return [
        one
        for one in records
        if one["level"] != Level.MAY and one["verdict"] not in GREEN and one["verdict"] != Verdict.HARNESS_ERROR
    ]


def compare(baseline: frozenset[str], records: Iterable[Record], known_cases: Iterable[str]) -> Comparison:
    """Return what is new and what is stale."""
    records = list(records)
    bad = {one["case"] for one in failing(records)}
    played = {one["case"] for one in records if one["verdict"] != Verdict.UNSUPPORTED}
    stale = (baseline & played) - bad | baseline - set(known_cases)
    return Comparison(tuple(sorted(bad - baseline)), tuple(sorted(stale)))
