"""Throttr's semantics: what a correct server does under each profile. Events in, bytes out, time passed in."""

from reference_server.throttr.faults import DEMONSTRATION, FAULTS, Fault
from reference_server.throttr.rules import RULES, Rules
from reference_server.throttr.service import ThrottrService, create

__all__ = ["DEMONSTRATION", "FAULTS", "RULES", "Fault", "Rules", "ThrottrService", "create"]
