"""Mutants of the Throttr server, each tied to the clauses it breaks, and its conforming variants.

One module for each group of clauses; each lists its own in `MUTANTS`. Those of fields are derived: `mutants.wire`.
"""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import by_name
from wireproof.mutants.throttr.server import (
    buffers,
    channels,
    concurrency,
    conforming,
    connections,
    expired,
    fairness,
    fragments,
    info,
    keys,
    listings,
    live,
    meeting,
    pushes,
    records,
    segments,
    subscriptions,
    survival,
    times,
    updates,
    waste,
)
from wireproof.mutants.throttr.server.mutant import ServerMutant

__all__ = ["DEMONSTRATION", "MUTANTS", "ServerMutant"]

DEMONSTRATION = keys.DEMONSTRATION
MUTANTS: Mapping[str, ServerMutant] = by_name(
    channels.MUTANTS,
    concurrency.MUTANTS,
    connections.MUTANTS,
    expired.MUTANTS,
    fairness.MUTANTS,
    fragments.MUTANTS,
    info.MUTANTS,
    keys.MUTANTS,
    listings.MUTANTS,
    live.MUTANTS,
    meeting.MUTANTS,
    buffers.MUTANTS,
    pushes.MUTANTS,
    records.MUTANTS,
    segments.MUTANTS,
    subscriptions.MUTANTS,
    survival.MUTANTS,
    times.MUTANTS,
    updates.MUTANTS,
    waste.MUTANTS,
    conforming.CONFORMING,
)
"""Name -> mutant or conforming variant, in the order of the groups."""
