"""SDKs that depart from the reference on purpose, each tied to the clauses it breaks; each module lists its own."""

from __future__ import annotations

from collections.abc import Mapping

from reference_client.deviation import Deviation
from reference_client.throttr.faults import endings, refusals, replies, requests, streams

__all__ = ["FAULTS"]


def _by_name(*groups: tuple[Deviation, ...]) -> Mapping[str, Deviation]:
    found: dict[str, Deviation] = {}
    for one in (each for group in groups for each in group):
        if one.name in found:
            raise ValueError(f"two faults are called {one.name!r}")
        found[one.name] = one
    return found


FAULTS = _by_name(requests.FAULTS, refusals.FAULTS, replies.FAULTS, streams.FAULTS, endings.FAULTS)
"""Name -> fault, in the order of the modules."""
