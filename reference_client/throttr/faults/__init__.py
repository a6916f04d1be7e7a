"""SDKs that depart from the reference on purpose, each tied to the clauses it breaks; each module lists its own."""

from __future__ import annotations

from collections.abc import Mapping

from reference_client.deviation import Deviation, by_name
from reference_client.throttr.faults import endings, refusals, replies, requests, streams

__all__ = ["FAULTS"]


FAULTS: Mapping[str, Deviation] = by_name(
    requests.FAULTS, refusals.FAULTS, replies.FAULTS, streams.FAULTS, endings.FAULTS
)
"""Name -> fault, in the order of the modules."""
