"""The requests of Throttr, each with its layout written once; facts: section "Request types" and T4, T5, T11, T36."""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import U8, U32, Blob, Raw, UInt
from wireproof.protocols.messages import Request

VALUE = UInt("value")
"""A dynamic field: as wide as the variant's value ("Dynamic Value Size")."""
KEY = Blob(U8)
"""A key or channel name, its size in one byte."""
BYTES = Blob(VALUE)
"""A value or payload, its size in a dynamic field."""


class Insert(Request, frozen=True, gc=False):
    """Adds a counter."""

    NAME: ClassVar[str] = "INSERT"
    quota: Annotated[int, VALUE]
    ttl_type: Annotated[int, U8]
    ttl: Annotated[int, VALUE]
    key: Annotated[bytes, KEY]


class Query(Request, frozen=True, gc=False):
    """Retrieves a counter."""

    NAME: ClassVar[str] = "QUERY"
    key: Annotated[bytes, KEY]


class Update(Request, frozen=True, gc=False):
    """Modifies the quota of a counter or the TTL of a record."""

    NAME: ClassVar[str] = "UPDATE"
    attribute: Annotated[int, U8]
    change: Annotated[int, U8]
    value: Annotated[int, VALUE]
    key: Annotated[bytes, KEY]


class Purge(Request, frozen=True, gc=False):
    """Removes a record."""

    NAME: ClassVar[str] = "PURGE"
    key: Annotated[bytes, KEY]


class Set(Request, frozen=True, gc=False):
    """Adds a buffer. The size of its value is one byte in the document, dynamic in 7.3.2 (T4)."""

    NAME: ClassVar[str] = "SET"
    ttl_type: Annotated[int, U8]
    ttl: Annotated[int, VALUE]
    key: Annotated[bytes, KEY]
    value: Annotated[bytes, Blob(U8)]


class Get(Request, frozen=True, gc=False):
    """Retrieves a buffer."""

    NAME: ClassVar[str] = "GET"
    key: Annotated[bytes, KEY]


class List(Request, frozen=True, gc=False):
    """Lists every record."""

    NAME: ClassVar[str] = "LIST"


class Info(Request, frozen=True, gc=False):
    """Asks for the counters of the instance."""

    NAME: ClassVar[str] = "INFO"


class Stat(Request, frozen=True, gc=False):
    """Asks for the metrics of one record."""

    NAME: ClassVar[str] = "STAT"
    key: Annotated[bytes, KEY]


class Stats(Request, frozen=True, gc=False):
    """Asks for the metrics of every record."""

    NAME: ClassVar[str] = "STATS"


class Subscribe(Request, frozen=True, gc=False):
    """Starts a subscription."""

    NAME: ClassVar[str] = "SUBSCRIBE"
    channel: Annotated[bytes, KEY]


class Unsubscribe(Request, frozen=True, gc=False):
    """Finishes a subscription."""

    NAME: ClassVar[str] = "UNSUBSCRIBE"
    channel: Annotated[bytes, KEY]


class Publish(Request, frozen=True, gc=False):
    """Sends a payload to the subscribers of a channel."""

    NAME: ClassVar[str] = "PUBLISH"
    channel: Annotated[bytes, KEY]
    payload: Annotated[bytes, BYTES]


class Connections(Request, frozen=True, gc=False):
    """Lists the open connections."""

    NAME: ClassVar[str] = "CONNECTIONS"


class ConnectionByIndex(Request, frozen=True, gc=False):
    """Asks for one connection, by its position in what CONNECTIONS lists (7.1.0, T5)."""

    NAME: ClassVar[str] = "CONNECTION"
    index: Annotated[int, U32]


class ConnectionById(Request, frozen=True, gc=False):
    """Asks for one connection, by its id (7.3.2, T5)."""

    NAME: ClassVar[str] = "CONNECTION"
    id: Annotated[bytes, Raw(16)]


class Channels(Request, frozen=True, gc=False):
    """Lists the channels that have subscribers."""

    NAME: ClassVar[str] = "CHANNELS"


class Channel(Request, frozen=True, gc=False):
    """Asks for the subscribers of one channel."""

    NAME: ClassVar[str] = "CHANNEL"
    channel: Annotated[bytes, KEY]


class Whoami(Request, frozen=True, gc=False):
    """Asks for the id of the connection it is sent on."""

    NAME: ClassVar[str] = "WHOAMI"


class Event(Request, frozen=True, gc=False):
    """Carries one whole request in its payload (7.3.2, T36). The same frame, from the server, is a push (T11)."""

    NAME: ClassVar[str] = "EVENT"
    channel: Annotated[bytes, KEY]
    payload: Annotated[bytes, BYTES]
