"""The model of a whole namechan server, and a second reader: the document and its errata, apart from the handlers."""

from wireproof.reference_server.namechan.oracle.model import DocumentModel
from wireproof.reference_server.namechan.oracle.reader import READERS
from wireproof.reference_server.namechan.oracle.reader_texts import TEXTS

__all__ = ["READERS", "TEXTS", "DocumentModel"]
