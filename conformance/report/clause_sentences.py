"""The sentence of a clause, for readers who do not know its id by heart."""

from __future__ import annotations

from wireproof.conformance.suite.cases import CaseError, load_suite
from wireproof.protocols import protocol_names

__all__ = ["sentence_of"]


def sentence_of(protocol: str, clause: str | None) -> str:
    """Return what a clause says, on one line; "" for a protocol or clause that this version does not know."""
    if protocol not in protocol_names():
        return ""
    try:
        found = load_suite(protocol).clauses.get(clause or "")
    except CaseError:  # whoever shows a run must not fail for a case that somebody is writing
        return ""
    return " ".join(found.text.split()) if found else ""
