"""The model of a whole Throttr server: dicts, linear scans, time as an argument, and no code of the handlers.

It is written from the documents and judges a server's answers. It accepts what the documents leave open; each such
place names the clause or erratum. It does not check metrics of records and channels, per-minute counts and bytes (T27,
T34, T46, T47), units and epochs of instants (T23, T24, T42), sizes of fragments and their first number (T22), and the
text of IP addresses (T25).
"""

from wireproof.reference_server.throttr.oracle.model import DocumentModel

__all__ = ["DocumentModel"]
