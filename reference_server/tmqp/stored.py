"""A message of a queue, and an acknowledgement that is waited for; both have a due instant for the scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


class StoredMessage:
    """A message that was accepted for a queue."""

    __slots__ = (
        "bucket",
        "due",
        "frame",
        "is_asked_for",
        "priority",
        "producer",
        "put_backs",
        "queue",
        "size",
        "source",
        "ttl",
    )

    def __init__(self, frame: Produce, queue: Queue, producer: Client, source: bytes, ttl: int) -> None:
        self.frame, self.queue, self.producer, self.source, self.ttl = frame, queue, producer, source, ttl
        self.priority = bool(frame.high_priority)
        self.is_asked_for = bool(frame.pending_ack)
        """Whether the producer waits for an acknowledgement."""
        self.put_backs = 0
        self.size = OVERHEAD + len(frame.payload) + sum(len(one.name) + len(one.value) for one in frame.headers)
        self.due = 0
        self.bucket: Bucket | None = None

    @property
    def id(self) -> bytes:
        """The id, given or made."""
        return self.frame.id

    def delivered(self, *, first: bool, headers: Headers = ()) -> QueueMessage:
        """Return what a consumer gets; `first`: it is the first that gets it (E19)."""
        frame = self.frame
        return QueueMessage(
            int(first),
            frame.high_priority,
            frame.pending_response,
            int(self.queue.requests_ack),
            self.ttl,
            frame.id,
            b"" if self.queue.settings.hide_names else self.source,
            frame.target,
            frame.content_type,
            (*frame.headers, *headers),
            frame.payload,
        )


class Awaited:
    """The acknowledgement of one consumer for one message."""

    __slots__ = ("bucket", "client", "due", "message")

    def __init__(self, message: StoredMessage, client: Client) -> None:
        self.message, self.client = message, client
        self.due = 0
        self.bucket: Bucket | None = None
