"""Throttr's semantics: what a correct server does under each profile. Events in, bytes out, time passed in."""

from reference_server.throttr.document import DocumentModel
from reference_server.throttr.faults import DEMONSTRATION, FAULTS, Fault
from reference_server.throttr.faults.planted import PLANTED
from reference_server.throttr.model import ThrottrModel
from reference_server.throttr.rules import RULES, Rules
from reference_server.throttr.service import ThrottrService, create

__all__ = [
    "DEMONSTRATION",
    "FAULTS",
    "MODEL",
    "PLANTED",
    "RULES",
    "SERVER_MODEL",
    "Fault",
    "Rules",
    "ThrottrService",
    "create",
]

MODEL = ThrottrModel
"""(profile, variant) -> the sequential model of one key."""
SERVER_MODEL = DocumentModel
"""(profile, variant, tolerance_ns=, shared=) -> the model of a whole server."""
