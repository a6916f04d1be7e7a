"""What the bytes mean: sans-IO codecs. No socket, clock, task, thread or random number in here."""

from wireproof.protocols.connection import NEED_DATA, Connection, EndOfStream, NeedData
from wireproof.protocols.errors import ErrorCode, LocalProtocolError, ProtocolError, RemoteProtocolError
from wireproof.protocols.messages import Message, Push, Reply, Request
from wireproof.protocols.profile import Layout, Profile, Variant
from wireproof.protocols.registry import Protocol, protocol, protocol_names
from wireproof.protocols.states import Role

__all__ = [
    "NEED_DATA",
    "Connection",
    "EndOfStream",
    "ErrorCode",
    "Layout",
    "LocalProtocolError",
    "Message",
    "NeedData",
    "Profile",
    "Protocol",
    "ProtocolError",
    "Push",
    "RemoteProtocolError",
    "Reply",
    "Request",
    "Role",
    "Variant",
    "protocol",
    "protocol_names",
]
