"""The two faults that the demonstration shows beside the right servers."""

from __future__ import annotations

from protocols.throttr import Attribute, Change
from protocols.throttr.requests import Query, Update
from reference_server.throttr.faults.fault import Fault
from reference_server.throttr.faults.patches import Ask, changed, with_found, with_request

__all__ = ["FAULTS"]


def _moves_nothing(request: Update, ask: Ask) -> Update:
    if request.attribute == Attribute.TTL:
        return changed(request, change=Change.INCREASE, value=0)
    return request


FAULTS = (
    Fault(
        name="quota-low-byte",
        clauses=("THR-QUERY-6",),
        told="QUERY answers only the low byte of the quota, the others as zero.",
        variants=("uint16", "uint32", "uint64"),
        handlers=with_found(Query, lambda reply, ask: changed(reply, quota=reply.quota & 0xFF)),
    ),
    Fault(
        name="ttl-update-ignored",
        clauses=tuple(f"THR-UPDATE-{number}" for number in (25, 26, 27, 6, 7, 8, 30, 31, 32, 33)),
        told="UPDATE of a TTL is accepted and moves nothing.",
        handlers=with_request(Update, _moves_nothing),
    ),
)
