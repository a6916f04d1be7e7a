"""A model of the document for a whole Throttr server: dicts, linear scans, time as an argument; no handler is in it.

It is written from the documents, to be held against a server's answers. What they leave open it accepts: each place
names the clause or erratum. Never looked at: metrics of records and channels, per-minute counts, bytes (T27, T34, T46,
T47), units and epochs of instants (T23, T24, T42), sizes of fragments and their first number (T22), IP texts (T25).
"""

from wireproof.reference_server.throttr.oracle.model import DocumentModel

__all__ = ["DocumentModel"]
