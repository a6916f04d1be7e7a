"""The semantics of a namechan server: events in, bytes out, time as an argument; messages on disk in SQLite."""

from wireproof.reference_server.namechan.rules import RULES, Rules
from wireproof.reference_server.namechan.service import NamechanService, create
from wireproof.reference_server.patch import Patch

__all__ = ["RULES", "NamechanService", "Patch", "Rules", "create"]
