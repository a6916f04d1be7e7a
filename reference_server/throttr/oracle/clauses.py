"""The clause that an answer about one record breaks, by what the key holds."""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute, Change
from wireproof.protocols.throttr.requests import Update

__all__ = ["OTHERS", "READ", "clause_of", "left_by"]

OTHERS = {"INSERT": "RECORD-3", "SET": "RECORD-3", "UPDATE": "UPDATE-37", "PURGE": "PURGE-9"}
"""Request that was accepted -> the clause that says which records it leaves alone."""
READ = {"QUERY": "QUERY-10", "GET": "GET-11", "STAT": "STAT-11"}
"""Request that changes nothing -> the clause that says so."""

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
QUOTA, TTL = "quota", "TTL"
LEFT: Mapping[tuple[str, str], str] = {
    ("INSERT", "content"): "INSERT-2", ("INSERT", "type"): "INSERT-3", ("INSERT", "ttl"): "INSERT-4",
    ("INSERT", "gone"): "INSERT-8",
    ("SET", "content"): "SET-12", ("SET", "type"): "SET-2", ("SET", "ttl"): "SET-3", ("SET", "gone"): "SET-12",
    (QUOTA, "type"): "UPDATE-22", (QUOTA, "ttl"): "UPDATE-22", (QUOTA, "gone"): "UPDATE-22",
    (QUOTA, "still there"): "UPDATE-22",
    (f"{QUOTA} {Change.PATCH}", "content"): "UPDATE-14", (f"{QUOTA} {Change.INCREASE}", "content"): "UPDATE-15",
    (f"{QUOTA} {Change.DECREASE}", "content"): "UPDATE-16",
    (TTL, "type"): "UPDATE-29", (f"{TTL} counter", "content"): "UPDATE-23", (f"{TTL} buffer", "content"): "UPDATE-24",
    (f"{TTL} {Change.PATCH}", "ttl"): "UPDATE-25", (f"{TTL} {Change.INCREASE}", "ttl"): "UPDATE-26",
    (f"{TTL} {Change.DECREASE}", "ttl"): "UPDATE-27", (TTL, "gone"): "UPDATE-30", (TTL, "still there"): "UPDATE-32",
    ("PURGE counter", "still there"): "PURGE-5", ("PURGE buffer", "still there"): "PURGE-6",
}  # fmt: skip
"""(request that was accepted, what is not as it should have left it) -> the clause that says how it leaves it."""


def clause_of(request: Request, kind: str) -> str:
    """Return the clause that a wrong answer to `request` breaks, with `kind` under its key."""
    if isinstance(request, Update) and kind == "buffer" and request.attribute == Attribute.QUOTA:
        return f"THR-{QUOTA_OF_A_BUFFER}"
    return f"THR-{CLAUSES[request.NAME, kind]}"


def left_by(changed: Request, kind: str, differs: str) -> str:
    """Return the clause of what an accepted request leaves of a key that held `kind`; "" if none says it."""
    names = [f"{changed.NAME} {kind}", changed.NAME]
    if changed.NAME == "SET" and kind == "buffer":
        return "THR-SET-19"
    if isinstance(changed, Update):
        attribute = QUOTA if changed.attribute == Attribute.QUOTA else TTL
        names = [f"{attribute} {changed.change}", f"{attribute} {kind}", attribute]
    return next((f"THR-{LEFT[name, differs]}" for name in names if (name, differs) in LEFT), "")
