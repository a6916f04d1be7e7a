"""A small asyncio SDK for Throttr: every request, both profiles, all widths."""

from protocols.throttr import Attribute, Change, KeyType, TTLType
from reference_client.errors import (
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
from reference_client.line import Reconnect
from reference_client.throttr.batch import Batch
from reference_client.throttr.client import Client
from reference_client.throttr.subscriptions import Message, Subscription

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
