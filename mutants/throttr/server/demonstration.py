"""The two faults that the demonstration shows beside the right servers."""

from __future__ import annotations

from wireproof.mutants.throttr.server.mutant import ServerMutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_found, with_request
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.requests import Query, Update

__all__ = ["MUTANTS"]


def _moves_nothing(request: Update, ask: Ask) -> Update:
    if request.attribute == Attribute.TTL:
        return changed(request, change=Change.INCREASE, value=0)
    return request


MUTANTS = (
    ServerMutant(
        name="quota-low-byte",
        clauses=("THR-QUERY-6",),
        description="QUERY answers only the low byte of the quota, the others as zero.",
        variants=("uint16", "uint32", "uint64"),
        handlers=with_found(Query, lambda reply, ask: changed(reply, quota=reply.quota & 0xFF)),
    ),
    ServerMutant(
        name="ttl-update-ignored",
        clauses=tuple(f"THR-UPDATE-{number}" for number in (25, 26, 27, 6, 7, 8, 30, 31, 32, 33)),
        description="UPDATE of a TTL is accepted and moves nothing.",
        handlers=with_request(Update, _moves_nothing),
    ),
)
