"""Servers that depart from the reference on purpose: wrong ones, each tied to the clauses it breaks, and legal ones."""

from __future__ import annotations

from collections.abc import Mapping

from reference_server.psrt.faults.fault import Fault

__all__ = ["DEMONSTRATION", "FAULTS", "Fault"]

FAULTS: Mapping[str, Fault] = {}
"""Name -> fault or legal variety."""
DEMONSTRATION: tuple[str, ...] = ()
"""The names of the faults that the demonstration shows."""
