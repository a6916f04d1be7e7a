"""A small asyncio SDK for namechan: subscriptions with replay, iteration, answers to pings, publishing."""

from wireproof.protocols.namechan import Replay
from wireproof.protocols.namechan.replies import Message, Subscribed, Unsubscribed
from wireproof.reference_client.errors import (
    BadReplyError,
    BadRequestError,
    ClientError,
    ClosedError,
    DeadlineError,
    RefusedError,
    TooWideError,
    UnsupportedError,
)
from wireproof.reference_client.namechan.client import Client
from wireproof.reference_client.namechan.subscriptions import Subscription
from wireproof.reference_client.server_connection import Reconnect

__all__ = [
    "BadReplyError",
    "BadRequestError",
    "Client",
    "ClientError",
    "ClosedError",
    "DeadlineError",
    "Message",
    "Reconnect",
    "RefusedError",
    "Replay",
    "Subscribed",
    "Subscription",
    "TooWideError",
    "Unsubscribed",
    "UnsupportedError",
]
