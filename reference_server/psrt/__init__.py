"""PSRT's semantics: what a correct server does under each profile. Events in, bytes out, time passed in."""

from reference_server.psrt.faults import DEMONSTRATION, FAULTS, Fault
from reference_server.psrt.faults.planted import PLANTED
from reference_server.psrt.rules import RULES, Rules
from reference_server.psrt.service import PsrtService, create

__all__ = ["DEMONSTRATION", "FAULTS", "PLANTED", "RULES", "Fault", "PsrtService", "Rules", "create"]
