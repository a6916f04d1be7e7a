"""SDKs that depart from the reference on purpose, each tied to the clauses it breaks; each module lists its own."""

from __future__ import annotations

from collections.abc import Mapping

from reference_client.deviation import Deviation, by_name
from reference_client.psrt.faults import answers, control, data, requests

__all__ = ["FAULTS"]

FAULTS: Mapping[str, Deviation] = by_name(control.FAULTS, answers.FAULTS, data.FAULTS, requests.FAULTS)
"""Name -> fault, in the order of the modules."""
