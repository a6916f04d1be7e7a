"""From the bytes of a request to the function that answers it.

Requests about one record are decoded directly into the call that answers them (`run`), without a message object.
All others, and those whose answer may be long, are decoded to messages and go to their handlers.
"""

from __future__ import annotations

from wireproof.protocols.throttr import Codec
from wireproof.reference_server.throttr.state import Calls, Handlers

__all__ = ["Dispatch"]


class Dispatch:
    """The functions that answer the requests of one server."""

    __slots__ = ("decode", "handlers", "is_bare", "run")

    def __init__(self, codec: Codec, handlers: Handlers, calls: Calls) -> None:
        self.handlers = handlers
        self.decode = codec.decode_request
        self.run = codec.run(calls)
        """Answers requests as long as their answers are known to be short."""
        self.is_bare = [False] * 256
        """Type byte -> whether the answer has no status byte."""
        for request in codec.bare:
            self.is_bare[codec.profile.leads[request][0]] = True
