"""A message of a queue, and an acknowledgement that is waited for; both have a due instant for the scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wireproof.protocols.tmqp.replies import QueueMessage
from wireproof.protocols.tmqp.requests import Produce

if TYPE_CHECKING:
    from wireproof.reference_server.scheduler import Bucket
    from wireproof.reference_server.tmqp.client import Client
    from wireproof.reference_server.tmqp.headers import Headers
    from wireproof.reference_server.tmqp.queue import Queue

__all__ = ["Awaited", "StoredMessage"]

OVERHEAD = 512
"""Bytes that a message costs beside its parts, about."""


class StoredMessage(msgspec.Struct, eq=False, gc=False):
    """A message that was accepted for a queue; not seen by the garbage collector, which would look at each of many."""

    frame: Produce
    queue: Queue
    producer: Client
    source: bytes
    ttl: int
    is_asked_for: bool
    """Whether the producer waits for an acknowledgement."""
    asks: bool | None = None
    """Whether consumers must acknowledge it, and its source is what they see, once that is decided (E60)."""
    produced_ns: int = 0
    """When its queue took it: its time-out begins then, also where it is put back."""
    put_backs: int = 0
    awaited: int = 0
    """Consumers whose acknowledgement is waited for."""
    size: int = 0
    due: int = 0
    bucket: Bucket | None = None

    def __post_init__(self) -> None:
        """Count the bytes."""
        frame = self.frame
        self.size = OVERHEAD + len(frame.payload)
        if frame.headers:
            self.size += sum(len(one.name) + len(one.value) for one in frame.headers)

    @property
    def priority(self) -> int:
        """1 for high priority."""
        return self.frame.high_priority

    @property
    def id(self) -> bytes:
        """The id, given or made."""
        return self.frame.id

    def delivered(self, *, first: bool, headers: Headers = ()) -> QueueMessage:
        """Return what a consumer gets; `first`: it is the first that gets it (E19)."""
        frame, hides = self.frame, self.asks is None and self.queue.settings.hide_names
        return QueueMessage(
            int(first),
            frame.high_priority,
            frame.pending_response,
            int(self.queue.requests_ack if self.asks is None else self.asks),
            self.ttl,
            frame.id,
            b"" if hides else self.source,
            frame.target,
            frame.content_type,
            (*frame.headers, *headers),
            frame.payload,
        )


class Awaited(msgspec.Struct, eq=False, gc=False):
    """The acknowledgement of one consumer for one message."""

    message: StoredMessage
    client: Client
    then: Awaited | None = None
    """The next one with the same id that the client was sent meanwhile (E66)."""
    due: int = 0
    bucket: Bucket | None = None
