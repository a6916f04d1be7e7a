"""The clause that an answer about one record breaks, by what the key holds."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute
from wireproof.protocols.throttr.requests import Update

__all__ = ["clause_of"]

CLAUSES: Mapping[tuple[str, str], str] = {
    ("INSERT", "nothing"): "INSERT-8", ("INSERT", "counter"): "INSERT-9", ("INSERT", "buffer"): "INSERT-10",
    ("INSERT", "expired"): "EXPIRY-9",
    ("QUERY", "nothing"): "QUERY-9", ("QUERY", "counter"): "QUERY-5", ("QUERY", "buffer"): "QUERY-11",
    ("QUERY", "expired"): "EXPIRY-1",
    ("UPDATE", "nothing"): "UPDATE-13", ("UPDATE", "counter"): "UPDATE-12", ("UPDATE", "buffer"): "UPDATE-24",
    ("UPDATE", "expired"): "EXPIRY-3",
    ("PURGE", "nothing"): "PURGE-7", ("PURGE", "counter"): "PURGE-5", ("PURGE", "buffer"): "PURGE-6",
    ("PURGE", "expired"): "EXPIRY-4",
    ("SET", "nothing"): "SET-12", ("SET", "counter"): "SET-20", ("SET", "buffer"): "SET-19",
    ("SET", "expired"): "EXPIRY-10",
    ("GET", "nothing"): "GET-10", ("GET", "counter"): "GET-12", ("GET", "buffer"): "GET-5",
    ("GET", "expired"): "EXPIRY-2",
    ("STAT", "nothing"): "STAT-10", ("STAT", "counter"): "STAT-9", ("STAT", "buffer"): "STAT-9",
    ("STAT", "expired"): "EXPIRY-5",
}  # fmt: skip
"""(request, kind of record under the key) -> the most specific clause."""
QUOTA_OF_A_BUFFER = "UPDATE-21"


def clause_of(request: Request, kind: str) -> str:
    """Return the clause that a wrong answer to `request` breaks, with `kind` under its key."""
    if isinstance(request, Update) and kind == "buffer" and request.attribute == Attribute.QUOTA:
        return f"THR-{QUOTA_OF_A_BUFFER}"
    return f"THR-{CLAUSES[request.NAME, kind]}"
