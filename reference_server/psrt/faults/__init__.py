"""Servers that depart from the reference on purpose: wrong ones, each tied to the clauses it breaks, and legal ones.

One module for each theme; each lists its own in `FAULTS` (or `VARIETIES`).
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_server.deviation import by_name
from reference_server.psrt.faults import (
    data_sockets,
    datagrams,
    flow,
    greetings,
    limits,
    live,
    logins,
    messages,
    operations,
    publishing,
    replication,
    rights,
    sealing,
    subscribing,
    times,
    tls,
    topics,
    varieties,
)
from reference_server.psrt.faults.fault import Fault

__all__ = ["DEMONSTRATION", "FAULTS", "Fault"]


FAULTS: Mapping[str, Fault] = by_name(
    greetings.FAULTS,
    logins.FAULTS,
    operations.FAULTS,
    subscribing.FAULTS,
    publishing.FAULTS,
    data_sockets.FAULTS,
    messages.FAULTS,
    topics.FAULTS,
    rights.FAULTS,
    limits.FAULTS,
    times.FAULTS,
    replication.FAULTS,
    datagrams.FAULTS,
    sealing.FAULTS,
    tls.FAULTS,
    flow.FAULTS,
    live.FAULTS,
    varieties.VARIETIES,
)
"""Name -> fault or legal variety, in the order of the groups."""
DEMONSTRATION = ("subscribe-answered-for-each", "hash-matches-its-parent")
"""The names of the faults that the demonstration shows."""
