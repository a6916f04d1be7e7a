"""The semantics of a TMQP server under each profile: events in, bytes out, time as an argument."""

from wireproof.reference_server.tmqp.oracle import READERS, TEXTS, DocumentModel
from wireproof.reference_server.tmqp.patch import Patch
from wireproof.reference_server.tmqp.rules import RULES, Rules
from wireproof.reference_server.tmqp.service import TmqpService

__all__ = ["READERS", "RULES", "SERVER_MODEL", "TEXTS", "Patch", "Rules", "TmqpService", "create"]

SERVER_MODEL = DocumentModel
"""(profile, variant, tolerance_ns=, shared=, options=) -> the model of a whole server; of the profile `doc` only."""
create = TmqpService.create
