"""From a request's bytes to what answers it, by type byte.

Requests about one record are decoded straight into the call that answers them (`steps`): no message is made of them.
All others, and those whose answer may be long, become messages and go to their handlers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocols.frames import Decoder, FrameContext
from protocols.throttr import Codec
from reference_server.throttr.state import Calls, Handlers, NotShortError

__all__ = ["Dispatch"]


class Dispatch:
    """How one server answers."""

    __slots__ = ("decode", "handlers", "is_bare", "steps")

    def __init__(self, codec: Codec, handlers: Handlers, calls: Calls) -> None:
        self.handlers: Mapping[type[Any], Any] = handlers
        self.decode = codec.decode_request
        self.steps: list[Decoder] = codec.calling(calls, otherwise=_not_short)
        """By type byte: decoders that give the answer; `NotShortError`, nothing done, where a message is needed."""
        self.is_bare = [False] * 256
        """By type byte: whether the answer has no status byte."""
        for request in codec.bare:
            self.is_bare[codec.profile.leads[request][0]] = True


def _not_short(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Any, int]:
    raise NotShortError
