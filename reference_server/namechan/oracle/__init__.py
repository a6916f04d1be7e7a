"""The model of a whole namechan server: what the document and its errata allow, apart from the handlers."""

from wireproof.reference_server.namechan.oracle.model import DocumentModel

__all__ = ["DocumentModel"]
