"""The semantics of a PSRT server under each profile: events in, bytes out, time as an argument."""

from wireproof.reference_server.psrt.patch import Patch
from wireproof.reference_server.psrt.rules import RULES, Rules
from wireproof.reference_server.psrt.service import PsrtService, create

__all__ = ["RULES", "Patch", "PsrtService", "Rules", "create"]
