"""The model of a whole PSRT server: dicts, linear scans, time as an argument, and no code of the handlers.

It is written from the document, its errata and clauses, and judges a server's answers, its pushes and its ends.
It does not follow TLS, UNIX sockets, requests that come in parts, readers that are too slow, and reloaded accounts.
"""

from wireproof.reference_server.psrt.oracle.model import DocumentModel

__all__ = ["DocumentModel"]
