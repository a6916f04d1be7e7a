"""A small asyncio SDK for PSRT: control and data socket, TLS, pings, replication, datagrams in clear and sealed."""

from protocols.psrt import Encryption, ResponseCode
from protocols.psrt.enums import DatagramOperation
from reference_client.errors import (
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
from reference_client.line import Reconnect
from reference_client.psrt.client import Client
from reference_client.psrt.session import Message

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
