"""The semantics of a PSRT server under each profile: events in, bytes out, time as an argument."""

from wireproof.reference_server.patch import Patch
from wireproof.reference_server.psrt.oracle import DocumentModel
from wireproof.reference_server.psrt.rules import RULES, Rules
from wireproof.reference_server.psrt.service import PsrtService

__all__ = ["RULES", "SERVER_MODEL", "Patch", "PsrtService", "Rules", "create"]

SERVER_MODEL = DocumentModel
"""(profile, variant, tolerance_ns=, shared=, options=) -> the model of a whole server."""
create = PsrtService.create
