"""Servers that depart from the reference on purpose: wrong ones, each tied to the clauses it breaks, and legal ones.

One module for each group of clauses; each lists its own in `FAULTS` (or `VARIETIES`).
"""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.mutant import by_name
from wireproof.mutants.throttr.server import (
    channel,
    channels,
    concurrency,
    conforming,
    connection,
    connection_totals,
    connections,
    deliveries,
    demonstration,
    expired,
    expiry,
    fairness,
    fragments,
    framing,
    get,
    info,
    info_totals,
    insert,
    keys,
    listings,
    live,
    metrics,
    publish,
    purge,
    push_times,
    pushes,
    query,
    readings,
    record,
    rows,
    segments,
    set,
    set_values,
    stat,
    subscriptions,
    survival,
    ttl,
    unsubscribe,
    update,
    update_quota,
    update_ttl,
    waste,
    whoami,
    width,
)
from wireproof.mutants.throttr.server.mutant import ServerMutant

__all__ = ["DEMONSTRATION", "MUTANTS", "ServerMutant"]

DEMONSTRATION = tuple(one.name for one in demonstration.MUTANTS)


MUTANTS: Mapping[str, ServerMutant] = by_name(
    channel.MUTANTS,
    channels.MUTANTS,
    concurrency.MUTANTS,
    connection.MUTANTS,
    connection_totals.MUTANTS,
    connections.MUTANTS,
    deliveries.MUTANTS,
    demonstration.MUTANTS,
    expired.MUTANTS,
    expiry.MUTANTS,
    fairness.MUTANTS,
    fragments.MUTANTS,
    framing.MUTANTS,
    get.MUTANTS,
    info.MUTANTS,
    info_totals.MUTANTS,
    insert.MUTANTS,
    keys.MUTANTS,
    listings.MUTANTS,
    live.MUTANTS,
    metrics.MUTANTS,
    publish.MUTANTS,
    purge.MUTANTS,
    push_times.MUTANTS,
    pushes.MUTANTS,
    query.MUTANTS,
    record.MUTANTS,
    rows.MUTANTS,
    segments.MUTANTS,
    set.MUTANTS,
    set_values.MUTANTS,
    stat.MUTANTS,
    subscriptions.MUTANTS,
    survival.MUTANTS,
    ttl.MUTANTS,
    unsubscribe.MUTANTS,
    update.MUTANTS,
    update_quota.MUTANTS,
    update_ttl.MUTANTS,
    waste.MUTANTS,
    whoami.MUTANTS,
    width.MUTANTS,
    readings.CONFORMING,
    conforming.CONFORMING,
)
"""Name -> fault or legal variety, in the order of the groups."""
