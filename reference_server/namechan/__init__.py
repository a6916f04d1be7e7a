"""The semantics of a namechan server: events in, bytes out, time as an argument; messages on disk in SQLite."""

from wireproof.reference_server.namechan.oracle import READERS, TEXTS, DocumentModel
from wireproof.reference_server.namechan.rules import RULES, Rules
from wireproof.reference_server.namechan.service import NamechanService
from wireproof.reference_server.patch import Patch

__all__ = ["READERS", "RULES", "SERVER_MODEL", "TEXTS", "NamechanService", "Patch", "Rules", "create"]

SERVER_MODEL = DocumentModel
create = NamechanService.create
