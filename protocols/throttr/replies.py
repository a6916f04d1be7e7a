"""The replies and pushes of Throttr, each with its layout written once; facts: the "Response" sections and T1..T11.

Whether a status byte stands in front of a reply is the profile's business (T1, T2, T3): see `profiles`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from wireproof.protocols.fields import U8, U16, U32, U64, Flag, Nested, Raw, Repeated, Rows
from wireproof.protocols.messages import Message, Push, Reply
from wireproof.protocols.throttr.requests import BYTES, KEY, VALUE


class Status(Reply, frozen=True, gc=False):
    """One byte: 01 on success, 00 on failure."""

    NAME: ClassVar[str] = "STATUS"
    ok: Annotated[bool, Flag()]


class QueryReply(Reply, frozen=True, gc=False):
    """What QUERY found."""

    NAME: ClassVar[str] = "QUERY_REPLY"
    quota: Annotated[int, VALUE]
    ttl_type: Annotated[int, U8]
    ttl: Annotated[int, VALUE]


class GetReply(Reply, frozen=True, gc=False):
    """What GET found."""

    NAME: ClassVar[str] = "GET_REPLY"
    ttl_type: Annotated[int, U8]
    ttl: Annotated[int, VALUE]
    value: Annotated[bytes, BYTES]


class ListRow(Message, frozen=True, gc=False):
    """One record: 11 + N bytes, and its key at the end of the fragment (`time_point`: ns since the Unix epoch, T23)."""

    NAME: ClassVar[str] = "LIST_ROW"
    key: Annotated[bytes, KEY]
    key_type: Annotated[int, U8]
    ttl_type: Annotated[int, U8]
    time_point: Annotated[int, U64]
    bytes_used: Annotated[int, VALUE]


class ListFragment(Message, frozen=True, gc=False):
    """Some of the records; fragments are numbered from 1 (T22)."""

    NAME: ClassVar[str] = "LIST_FRAGMENT"
    fragment: Annotated[int, U64]
    rows: Annotated[tuple[ListRow, ...], Rows(ListRow, U64)]


class ListReply(Reply, frozen=True, gc=False):
    """Every record, in fragments."""

    NAME: ClassVar[str] = "LIST_REPLY"
    fragments: Annotated[tuple[ListFragment, ...], Repeated(ListFragment, U64)]


class InfoReply(Reply, frozen=True, gc=False):
    """52 counters of the instance and its version, 432 bytes (T1); order and names are the document's (T24: units)."""

    NAME: ClassVar[str] = "INFO_REPLY"
    timestamp: Annotated[int, U64]
    total_requests: Annotated[int, U64]
    requests_per_minute: Annotated[int, U64]
    total_insert: Annotated[int, U64]
    insert_per_minute: Annotated[int, U64]
    total_query: Annotated[int, U64]
    query_per_minute: Annotated[int, U64]
    total_update: Annotated[int, U64]
    update_per_minute: Annotated[int, U64]
    total_purge: Annotated[int, U64]
    purge_per_minute: Annotated[int, U64]
    total_get: Annotated[int, U64]
    get_per_minute: Annotated[int, U64]
    total_set: Annotated[int, U64]
    set_per_minute: Annotated[int, U64]
    total_list: Annotated[int, U64]
    list_per_minute: Annotated[int, U64]
    total_info: Annotated[int, U64]
    info_per_minute: Annotated[int, U64]
    total_stats: Annotated[int, U64]
    stats_per_minute: Annotated[int, U64]
    total_stat: Annotated[int, U64]
    stat_per_minute: Annotated[int, U64]
    total_subscribe: Annotated[int, U64]
    subscribe_per_minute: Annotated[int, U64]
    total_unsubscribe: Annotated[int, U64]
    unsubscribe_per_minute: Annotated[int, U64]
    total_publish: Annotated[int, U64]
    publish_per_minute: Annotated[int, U64]
    total_channel: Annotated[int, U64]
    channel_per_minute: Annotated[int, U64]
    total_channels: Annotated[int, U64]
    channels_per_minute: Annotated[int, U64]
    total_whoami: Annotated[int, U64]
    whoami_per_minute: Annotated[int, U64]
    total_connection: Annotated[int, U64]
    connection_per_minute: Annotated[int, U64]
    total_connections: Annotated[int, U64]
    connections_per_minute: Annotated[int, U64]
    total_read_bytes: Annotated[int, U64]
    read_bytes_per_minute: Annotated[int, U64]
    total_write_bytes: Annotated[int, U64]
    write_bytes_per_minute: Annotated[int, U64]
    keys: Annotated[int, U64]
    counters: Annotated[int, U64]
    buffers: Annotated[int, U64]
    allocated_bytes_on_counters: Annotated[int, U64]
    allocated_bytes_on_buffers: Annotated[int, U64]
    subscriptions: Annotated[int, U64]
    channels: Annotated[int, U64]
    running_since: Annotated[int, U64]
    connections: Annotated[int, U64]
    version: Annotated[bytes, Raw(16)]


class StatReply(Reply, frozen=True, gc=False):
    """The metrics of one record."""

    NAME: ClassVar[str] = "STAT_REPLY"
    reads_per_minute: Annotated[int, U64]
    writes_per_minute: Annotated[int, U64]
    total_reads: Annotated[int, U64]
    total_writes: Annotated[int, U64]


class StatsRow(Message, frozen=True, gc=False):
    """The metrics of one record: 33 bytes, and its key at the end of the fragment."""

    NAME: ClassVar[str] = "STATS_ROW"
    key: Annotated[bytes, KEY]
    reads_per_minute: Annotated[int, U64]
    writes_per_minute: Annotated[int, U64]
    total_reads: Annotated[int, U64]
    total_writes: Annotated[int, U64]


class StatsFragment(Message, frozen=True, gc=False):
    """The metrics of some of the records."""

    NAME: ClassVar[str] = "STATS_FRAGMENT"
    fragment: Annotated[int, U64]
    rows: Annotated[tuple[StatsRow, ...], Rows(StatsRow, U64)]


class StatsReply(Reply, frozen=True, gc=False):
    """The metrics of every record, in fragments."""

    NAME: ClassVar[str] = "STATS_REPLY"
    fragments: Annotated[tuple[StatsFragment, ...], Repeated(StatsFragment, U64)]


class ConnectionRow(Reply, frozen=True, gc=False):
    """One connection: 235 bytes, 237 with `type` and `kind` in 7.3.2 (T6).

    It is the reply of CONNECTION and a row of CONNECTIONS.
    `ip` is ASCII text, zero padded (T25); `connected_at` is ns since the Unix epoch.
    """

    NAME: ClassVar[str] = "CONNECTION_ROW"
    id: Annotated[bytes, Raw(16)]
    type: Annotated[int, U8]
    kind: Annotated[int, U8]
    ip_version: Annotated[int, U8]
    ip: Annotated[bytes, Raw(16)]
    port: Annotated[int, U16]
    connected_at: Annotated[int, U64]
    read_bytes: Annotated[int, U64]
    write_bytes: Annotated[int, U64]
    published_bytes: Annotated[int, U64]
    received_bytes: Annotated[int, U64]
    allocated_bytes: Annotated[int, U64]
    consumed_bytes: Annotated[int, U64]
    insert_requests: Annotated[int, U64]
    set_requests: Annotated[int, U64]
    query_requests: Annotated[int, U64]
    get_requests: Annotated[int, U64]
    update_requests: Annotated[int, U64]
    purge_requests: Annotated[int, U64]
    list_requests: Annotated[int, U64]
    info_requests: Annotated[int, U64]
    stat_requests: Annotated[int, U64]
    stats_requests: Annotated[int, U64]
    publish_requests: Annotated[int, U64]
    subscribe_requests: Annotated[int, U64]
    unsubscribe_requests: Annotated[int, U64]
    connections_requests: Annotated[int, U64]
    connection_requests: Annotated[int, U64]
    channels_requests: Annotated[int, U64]
    channel_requests: Annotated[int, U64]
    whoami_requests: Annotated[int, U64]


class ConnectionsFragment(Message, frozen=True, gc=False):
    """Some of the connections."""

    NAME: ClassVar[str] = "CONNECTIONS_FRAGMENT"
    fragment: Annotated[int, U64]
    rows: Annotated[tuple[ConnectionRow, ...], Rows(ConnectionRow, U64)]


class ConnectionsReply(Reply, frozen=True, gc=False):
    """Every open connection, in fragments."""

    NAME: ClassVar[str] = "CONNECTIONS_REPLY"
    fragments: Annotated[tuple[ConnectionsFragment, ...], Repeated(ConnectionsFragment, U64)]


class ChannelsRow(Message, frozen=True, gc=False):
    """One channel: 21 bytes, 25 in 7.3.2 (T7), and its name at the end of the fragment."""

    NAME: ClassVar[str] = "CHANNELS_ROW"
    channel: Annotated[bytes, KEY]
    read_bytes: Annotated[int, U64]
    write_bytes: Annotated[int, U64]
    subscribed_connections: Annotated[int, U32]


class ChannelsFragment(Message, frozen=True, gc=False):
    """Some of the channels."""

    NAME: ClassVar[str] = "CHANNELS_FRAGMENT"
    fragment: Annotated[int, U64]
    rows: Annotated[tuple[ChannelsRow, ...], Rows(ChannelsRow, U64)]


class ChannelsReply(Reply, frozen=True, gc=False):
    """Every channel with subscribers, in fragments."""

    NAME: ClassVar[str] = "CHANNELS_REPLY"
    fragments: Annotated[tuple[ChannelsFragment, ...], Repeated(ChannelsFragment, U64)]


class Subscriber(Message, frozen=True, gc=False):
    """One subscription: 40 bytes (T9). `subscribed_at`: ns since the Unix epoch."""

    NAME: ClassVar[str] = "SUBSCRIBER"
    connection_id: Annotated[bytes, Raw(16)]
    subscribed_at: Annotated[int, U64]
    read_bytes: Annotated[int, U64]
    write_bytes: Annotated[int, U64]


class ChannelReply(Reply, frozen=True, gc=False):
    """The subscribers of one channel, their number in 8 bytes (T8)."""

    NAME: ClassVar[str] = "CHANNEL_REPLY"
    subscribers: Annotated[tuple[Subscriber, ...], Rows(Subscriber, U64)]


class WhoamiReply(Reply, frozen=True, gc=False):
    """The id of the connection that asked (T3)."""

    NAME: ClassVar[str] = "WHOAMI_REPLY"
    id: Annotated[bytes, Raw(16)]


class EventReply(Reply, frozen=True, gc=False):
    """01, then the reply of the request that the EVENT carried (7.3.2, T36)."""

    NAME: ClassVar[str] = "EVENT_REPLY"
    reply: Annotated[Reply, Nested()]


class PushedMessage(Push, frozen=True, gc=False):
    """A payload pushed to a subscriber (7.1.0, T11): no channel on the wire."""

    NAME: ClassVar[str] = "MESSAGE"
    payload: Annotated[bytes, BYTES]


class PushedEvent(Push, frozen=True, gc=False):
    """A payload pushed to a subscriber (7.3.2, T11): an EVENT frame."""

    NAME: ClassVar[str] = "PUSHED_EVENT"
    channel: Annotated[bytes, KEY]
    payload: Annotated[bytes, BYTES]
