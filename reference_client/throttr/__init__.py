"""A small asyncio SDK for Throttr: every request, both profiles, all widths."""

from wireproof.protocols.throttr import Attribute, Change, KeyType, TTLType
from wireproof.reference_client.errors import (
    BadReplyError,
    BadRequestError,
    ClientError,
    ClosedError,
    DeadlineError,
    RefusedError,
    TooLongError,
    TooWideError,
    UnsupportedError,
)
from wireproof.reference_client.server_connection import Reconnect
from wireproof.reference_client.throttr.batch import Batch
from wireproof.reference_client.throttr.client import Client
from wireproof.reference_client.throttr.subscriptions import Message, Subscription

__all__ = [
    "Attribute",
    "BadReplyError",
    "BadRequestError",
    "Batch",
    "Change",
    "Client",
    "ClientError",
    "ClosedError",
    "DeadlineError",
    "KeyType",
    "Message",
    "Reconnect",
    "RefusedError",
    "Subscription",
    "TTLType",
    "TooLongError",
    "TooWideError",
    "UnsupportedError",
]
