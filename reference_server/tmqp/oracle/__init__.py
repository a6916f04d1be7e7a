"""The model of a whole TMQP server: dicts, lists and linear scans, time as an argument, and no code of the handlers.

It is written from the document, its errata and clauses. What releases do otherwise it follows as well, in a server that
others use; of the server it shares the names of these differences alone (`rules.py`, data). Every message that a client
must get is expected from the instant at which its cause is written, replies too: they are found by their ids, in any
order. Messages of one queue come to one consumer in their order.

It follows the routers of a configuration file, the tokens that it refuses and the clients that it denies the
operations of administrators, where that file is known. It does not follow TLS, node links, routers whose turn or
receivers are not known, and tokens that a server asks for: from the first of these on it accepts everything. Where
the instant of a time-out is uncertain, it accepts everything about that queue from then on. In a server that others
use, only what the document requires is judged, and what it leaves open about a queue (whose turn it is after members
changed, what a change of state to BROADCAST or CACHE does to stored messages; in a release, whether a pull that was
served in full loses one more) makes that queue uncertain, too.
"""

from wireproof.reference_server.tmqp.oracle.model import DocumentModel
from wireproof.reference_server.tmqp.oracle.reader import READERS, TEXTS

__all__ = ["READERS", "TEXTS", "DocumentModel"]
