"""Mutants of the PSRT server, each with the clauses that it breaks, and conforming variants, which break none.

One module for each theme; each lists its own in `MUTANTS` (or `CONFORMING`).
"""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import by_name
from wireproof.mutants.psrt.server import (
    conforming,
    data_sockets,
    datagrams,
    flow,
    greetings,
    limits,
    live,
    logins,
    messages,
    neighbours,
    operations,
    publishing,
    replication,
    rights,
    sealing,
    subscribing,
    times,
    tls,
    topics,
    walked,
    waste,
)
from wireproof.mutants.psrt.server.mutant import ServerMutant

__all__ = ["DEMONSTRATION", "MUTANTS", "ServerMutant"]


MUTANTS: Mapping[str, ServerMutant] = by_name(
    greetings.MUTANTS,
    logins.MUTANTS,
    operations.MUTANTS,
    subscribing.MUTANTS,
    publishing.MUTANTS,
    data_sockets.MUTANTS,
    messages.MUTANTS,
    topics.MUTANTS,
    rights.MUTANTS,
    limits.MUTANTS,
    times.MUTANTS,
    replication.MUTANTS,
    datagrams.MUTANTS,
    sealing.MUTANTS,
    tls.MUTANTS,
    flow.MUTANTS,
    neighbours.MUTANTS,
    walked.MUTANTS,
    live.MUTANTS,
    waste.MUTANTS,
    conforming.CONFORMING,
)
"""Name -> mutant or conforming variant, in the order of the groups."""
DEMONSTRATION = ("subscribe-answered-for-each", "hash-matches-its-parent")
"""The names of the mutants that the demonstration shows."""
