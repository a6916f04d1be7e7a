"""Every request of Throttr as a method; a subclass sends it at once or collects it in a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from wireproof.protocols.messages import Reply, Request
from wireproof.protocols.throttr import replies, requests
from wireproof.protocols.throttr.enums import Attribute, Change, TTLType
from wireproof.reference_client.errors import BadRequestError, RefusedError

__all__ = ["Commands"]

T = TypeVar("T")
ReplyT = TypeVar("ReplyT", bound=Reply)


class Commands(ABC):
    """The requests. Keys, channels and values are bytes; a value that does not fit raises before anything is sent."""

    @abstractmethod
    def _do(self, request: Request, shape: Callable[[Reply], T]) -> Awaitable[T]:
        """Send `request`; the result is `shape(reply)`."""

    def insert(self, key: bytes, *, quota: int, ttl: int, ttl_type: int = TTLType.SECONDS) -> Awaitable[bool]:
        """Add a counter; False if the key is taken."""
        return self._do(requests.Insert(quota, ttl_type, ttl, key), _ok)

    def query(self, key: bytes) -> Awaitable[replies.QueryReply | None]:
        """Return quota and TTL of a counter; None if there is none."""
        return self._do(requests.Query(key), _found(replies.QueryReply))

    def update(self, key: bytes, *, attribute: int, change: int, value: int) -> Awaitable[bool]:
        """Change the quota of a counter or the TTL of a record (see `Attribute`, `Change`); False if impossible."""
        return self._do(requests.Update(attribute, change, value, key), _ok)

    def increase(self, key: bytes, quota: int) -> Awaitable[bool]:
        """Add to the quota of a counter."""
        return self.update(key, attribute=Attribute.QUOTA, change=Change.INCREASE, value=quota)

    def decrease(self, key: bytes, quota: int) -> Awaitable[bool]:
        """Subtract from the quota of a counter; False if it is too small."""
        return self.update(key, attribute=Attribute.QUOTA, change=Change.DECREASE, value=quota)

    def purge(self, key: bytes) -> Awaitable[bool]:
        """Remove a record; False if there is none."""
        return self._do(requests.Purge(key), _ok)

    def set(self, key: bytes, value: bytes, *, ttl: int, ttl_type: int = TTLType.SECONDS) -> Awaitable[bool]:
        """Store a buffer; False if the server refuses it."""
        return self._do(requests.Set(ttl_type, ttl, key, value), _ok)

    def get(self, key: bytes) -> Awaitable[replies.GetReply | None]:
        """Return value and TTL of a buffer; None if there is none."""
        return self._do(requests.Get(key), _found(replies.GetReply))

    def list(self) -> Awaitable[tuple[replies.ListRow, ...]]:
        """Return a row for every record."""
        return self._do(requests.List(), _rows)

    def info(self) -> Awaitable[replies.InfoReply]:
        """Return the counters of the instance."""
        return self._do(requests.Info(), _given(replies.InfoReply))

    def stat(self, key: bytes) -> Awaitable[replies.StatReply | None]:
        """Return the metrics of a record; None if there is none."""
        return self._do(requests.Stat(key), _found(replies.StatReply))

    def stats(self) -> Awaitable[tuple[replies.StatsRow, ...]]:
        """Return the metrics of every record."""
        return self._do(requests.Stats(), _rows)

    def connections(self) -> Awaitable[tuple[replies.ConnectionRow, ...]]:
        """Return a row for every open connection."""
        return self._do(requests.Connections(), _rows)

    def connection(
        self, *, index: int | None = None, id: bytes | None = None
    ) -> Awaitable[replies.ConnectionRow | None]:
        """Return one connection, by `index` in profile 7.1.0 and by `id` since 7.3.2; None if there is none.

        Raises `BadRequestError` unless the profile's own argument is given.
        """
        request: Request
        if index is not None and id is None:
            request = requests.ConnectionByIndex(index)
        elif id is not None and index is None:
            request = requests.ConnectionById(id)
        else:
            raise BadRequestError("CONNECTION: expected either index or id")
        return self._do(request, _found(replies.ConnectionRow))

    def channels(self) -> Awaitable[tuple[replies.ChannelsRow, ...]]:
        """Return a row for every channel that has subscribers."""
        return self._do(requests.Channels(), _rows)

    def channel(self, channel: bytes) -> Awaitable[tuple[replies.Subscriber, ...] | None]:
        """Return the subscribers of a channel; None if it has none."""
        return self._do(requests.Channel(channel), _subscribers)

    def whoami(self) -> Awaitable[bytes]:
        """Return the id of this connection, 16 bytes."""
        return self._do(requests.Whoami(), lambda reply: _given(replies.WhoamiReply)(reply).id)

    def publish(self, channel: bytes, payload: bytes) -> Awaitable[bool]:
        """Send a payload to the subscribers of a channel; False if it has none."""
        return self._do(requests.Publish(channel, payload), _ok)

    def subscribe(self, channel: bytes) -> Awaitable[bool]:
        """Subscribe this connection to a channel; `Client.subscription` also iterates over its messages."""
        return self._do(requests.Subscribe(channel), _ok)

    def unsubscribe(self, channel: bytes) -> Awaitable[bool]:
        """Remove the subscription; False if there is none."""
        return self._do(requests.Unsubscribe(channel), _ok)

    def event(self, channel: bytes, payload: bytes) -> Awaitable[Reply | None]:
        """Send one whole request in the payload of an EVENT (7.3.2); return its reply, None if it is refused."""
        return self._do(requests.Event(channel, payload), lambda reply: getattr(reply, "reply", None))


def _ok(reply: Reply) -> bool:
    return cast(replies.Status, reply).ok


def _found(kind: type[ReplyT]) -> Callable[[Reply], ReplyT | None]:
    return lambda reply: reply if isinstance(reply, kind) else None


def _given(kind: type[ReplyT]) -> Callable[[Reply], ReplyT]:
    def shape(reply: Reply) -> ReplyT:
        """Raises `RefusedError` if the server refuses."""
        if not isinstance(reply, kind):
            raise RefusedError(f"expected {kind.NAME}, the server answered 00", reply)
        return reply

    return shape


def _rows(reply: Any) -> tuple[Any, ...]:
    """Return the rows of all fragments, in order."""
    if isinstance(reply, replies.Status):
        raise RefusedError("expected rows, the server answered 00", reply)
    return tuple(row for fragment in reply.fragments for row in fragment.rows)


def _subscribers(reply: Reply) -> tuple[replies.Subscriber, ...] | None:
    return reply.subscribers if isinstance(reply, replies.ChannelReply) else None
