"""The semantics of a Throttr server under each profile: events in, bytes out, time as an argument."""

from wireproof.reference_server.patch import Patch
from wireproof.reference_server.throttr.model import ThrottrModel
from wireproof.reference_server.throttr.oracle import DocumentModel
from wireproof.reference_server.throttr.rules import RULES, Rules
from wireproof.reference_server.throttr.service import ThrottrService

__all__ = [
    "MODEL",
    "RULES",
    "SERVER_MODEL",
    "Patch",
    "Rules",
    "ThrottrService",
    "create",
]

MODEL = ThrottrModel
"""(profile, variant) -> the sequential model of one key."""
SERVER_MODEL = DocumentModel
"""(profile, variant, tolerance_ns=, shared=) -> the model of a whole server."""
create = ThrottrService.create
