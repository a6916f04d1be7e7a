"""Servers that depart from the reference on purpose: wrong ones, each tied to the clauses it breaks, and legal ones.

One module for each group of clauses; each lists its own in `FAULTS` (or `VARIETIES`).
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_server.deviation import by_name
from reference_server.throttr.faults import (
    channel,
    channels,
    concurrency,
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
    varieties,
    waste,
    whoami,
    width,
)
from reference_server.throttr.faults.fault import Fault

__all__ = ["DEMONSTRATION", "FAULTS", "Fault"]

DEMONSTRATION = tuple(one.name for one in demonstration.FAULTS)


FAULTS: Mapping[str, Fault] = by_name(
    channel.FAULTS,
    channels.FAULTS,
    concurrency.FAULTS,
    connection.FAULTS,
    connection_totals.FAULTS,
    connections.FAULTS,
    deliveries.FAULTS,
    demonstration.FAULTS,
    expired.FAULTS,
    expiry.FAULTS,
    fairness.FAULTS,
    fragments.FAULTS,
    framing.FAULTS,
    get.FAULTS,
    info.FAULTS,
    info_totals.FAULTS,
    insert.FAULTS,
    keys.FAULTS,
    listings.FAULTS,
    live.FAULTS,
    metrics.FAULTS,
    publish.FAULTS,
    purge.FAULTS,
    push_times.FAULTS,
    pushes.FAULTS,
    query.FAULTS,
    record.FAULTS,
    rows.FAULTS,
    segments.FAULTS,
    set.FAULTS,
    set_values.FAULTS,
    stat.FAULTS,
    subscriptions.FAULTS,
    survival.FAULTS,
    ttl.FAULTS,
    unsubscribe.FAULTS,
    update.FAULTS,
    update_quota.FAULTS,
    update_ttl.FAULTS,
    waste.FAULTS,
    whoami.FAULTS,
    width.FAULTS,
    readings.VARIETIES,
    varieties.VARIETIES,
)
"""Name -> fault or legal variety, in the order of the groups."""
