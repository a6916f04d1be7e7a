"""PSRT's semantics: what a correct server does under each profile. Events in, bytes out, time passed in."""

from wireproof.reference_server.psrt.patch import Patch
from wireproof.reference_server.psrt.rules import RULES, Rules
from wireproof.reference_server.psrt.service import PsrtService, create

__all__ = ["RULES", "Patch", "PsrtService", "Rules", "create"]
