"""The semantics of a TMQP server under each profile: events in, bytes out, time as an argument."""

from wireproof.reference_server.tmqp.oracle import READERS, TEXTS, DocumentModel
from wireproof.reference_server.tmqp.oracle.linked import LinkedServers
from wireproof.reference_server.tmqp.patch import Patch
from wireproof.reference_server.tmqp.rules import RULES, Rules
from wireproof.reference_server.tmqp.service import TmqpService

__all__ = ["LINKED_SERVERS", "READERS", "RULES", "SERVER_MODEL", "TEXTS", "Patch", "Rules", "TmqpService", "create"]

SERVER_MODEL = DocumentModel
"""(profile, variant, tolerance_ns=, shared=, options=) -> the model of a whole server; of the profile `doc` only."""
LINKED_SERVERS = LinkedServers
"""(make, advance, profile=, variant=) -> servers that are linked, beside others that are not."""
create = TmqpService.create
