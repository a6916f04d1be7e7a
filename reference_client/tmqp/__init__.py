"""A small asyncio SDK for TMQP: channels, queues, pulls, acknowledgements, direct messages, events, routers."""

from wireproof.protocols.tmqp import Header, QueueStatus, ResultCode
from wireproof.protocols.tmqp.bodies import ChannelOptions, QueueOptions
from wireproof.protocols.tmqp.replies import Confirmation, DirectMessage, Notification, QueueMessage, Response
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
    UnsupportedError,
    UntrustedError,
)
from wireproof.reference_client.server_connection import Reconnect
from wireproof.reference_client.tmqp.client import Client

__all__ = [
    "AccessError",
    "BadReplyError",
    "BadRequestError",
    "ChannelOptions",
    "Client",
    "ClientError",
    "ClosedError",
    "Confirmation",
    "DeadlineError",
    "DirectMessage",
    "Header",
    "Notification",
    "QueueMessage",
    "QueueOptions",
    "QueueStatus",
    "Reconnect",
    "RefusedError",
    "Response",
    "ResultCode",
    "TooLongError",
    "TooWideError",
    "UnsupportedError",
    "UntrustedError",
]
