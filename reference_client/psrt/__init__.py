"""A small asyncio SDK for PSRT: control and data socket, TLS, pings, replication, datagrams, encrypted or not."""

from wireproof.protocols.psrt import Encryption, ResponseCode
from wireproof.protocols.psrt.enums import DatagramOperation
from wireproof.reference_client.errors import (
    AccessError,
    BadReplyError,
    BadRequestError,
    ClientError,
    ClosedError,
    DeadlineError,
    RefusedError,
    TooLongError,
    TooWideError,
    UntrustedError,
)
from wireproof.reference_client.psrt.client import Client
from wireproof.reference_client.psrt.session import Message
from wireproof.reference_client.server_connection import Reconnect

__all__ = [
    "AccessError",
    "BadReplyError",
    "BadRequestError",
    "Client",
    "ClientError",
    "ClosedError",
    "DatagramOperation",
    "DeadlineError",
    "Encryption",
    "Message",
    "Reconnect",
    "RefusedError",
    "ResponseCode",
    "TooLongError",
    "TooWideError",
    "UntrustedError",
]
