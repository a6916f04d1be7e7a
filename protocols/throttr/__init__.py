"""Throttr: binary requests answered in order on one stream; facts and errata T1.. in the project's clause list."""

from wireproof.protocols.changes import xor
from wireproof.protocols.links import Link
from wireproof.protocols.registry import Protocol
from wireproof.protocols.sdk_traits import SdkTraits
from wireproof.protocols.throttr.codec import OK, REFUSED, Codec
from wireproof.protocols.throttr.connection import ClientConnection, ServerConnection
from wireproof.protocols.throttr.enums import Attribute, Change, KeyType, RequestType, TTLType
from wireproof.protocols.throttr.masks import MASKED, NAMED_BY, TIME_LEFT, own_names
from wireproof.protocols.throttr.profiles import PROFILES, V710, V732
from wireproof.protocols.throttr.requests import Query
from wireproof.protocols.throttr.states import State

PROTOCOL = Protocol(
    name="throttr",
    profiles=PROFILES,
    default_profile="7.1.0",
    default_variant="uint16",
    default_port=9000,
    aliases={"ok": ("STATUS", {"ok": True}), "refused": ("STATUS", {"ok": False})},
    codec=Codec.of,
    links={
        "stream": Link(
            client=ClientConnection,
            server=ServerConnection,
            sync_request=lambda: Query(b"\0wireproof barrier"),
            noop=lambda key: (Query(key), REFUSED),
        )
    },
    functions={"xor": xor},
    names={"ttl_type": TTLType, "attribute": Attribute, "change": Change, "key_type": KeyType},
    counted_with_noops=frozenset(
        {"query_requests", "total_query", "query_per_minute", "total_requests", "requests_per_minute"}
        | {"read_bytes", "total_read_bytes", "read_bytes_per_minute"}
        | {"write_bytes", "total_write_bytes", "write_bytes_per_minute"}
    ),
    time_moves=frozenset({"keys", "counters", "buffers", "allocated_bytes_on_counters", "allocated_bytes_on_buffers"}),
    masked=MASKED,
    named_by=NAMED_BY,
    own_names=own_names,
    time_left=TIME_LEFT,
    sdk=SdkTraits(
        connect_fields={"timeout": "seconds"}, order_clause="THR-ROBUSTNESS-25", whole_clause="THR-FRAMING-3"
    ),
)

__all__ = [
    "OK",
    "PROFILES",
    "PROTOCOL",
    "REFUSED",
    "V710",
    "V732",
    "Attribute",
    "Change",
    "ClientConnection",
    "Codec",
    "KeyType",
    "RequestType",
    "ServerConnection",
    "State",
    "TTLType",
]
