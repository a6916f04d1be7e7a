"""What two messages of clients have in common though their bytes differ, and which socket a stream is."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.messages import Message
from wireproof.protocols.psrt.codec import Codec
from wireproof.protocols.psrt.enums import CONTROL_HEADER, DATA_HEADER, PROTOCOL_VERSION
from wireproof.protocols.psrt.profiles import V1
from wireproof.protocols.psrt.requests import Datagram, Sealed, Subscribe, Unsubscribe
from wireproof.protocols.psrt.sealing import OpeningError, open_sealed

__all__ = ["canonical", "link_of_stream", "parts", "unsealed"]


def link_of_stream(data: bytes) -> str | None:
    """Return the link whose greeting `data` begins, "" for anything that begins none, None for too few bytes."""
    if len(data) < len(DATA_HEADER) and CONTROL_HEADER.startswith(data[:1]):
        return None
    return "data" if data.startswith(DATA_HEADER) else ""


def canonical(message: Message) -> Message:
    """Return the message with one 00 between its topics and none at the ends (P9)."""
    if isinstance(message, Subscribe | Unsubscribe):
        return replace(message, topics=b"\0".join(filter(None, message.topics.split(b"\0"))))
    return message


def parts(message: Message) -> Sequence[Message]:
    """Return a request for each topic of a list."""
    if isinstance(message, Subscribe | Unsubscribe):
        return [type(message)(topic) for topic in message.topics.split(b"\0") if topic]
    return (message,)


def unsealed(message: Message, asked: Message) -> Message:
    """Return what a sealed datagram says as the datagram that was asked for, whose password is the key.

    What is not sealed, or not with that key, stays as it is.
    """
    if not isinstance(message, Sealed) or not isinstance(asked, Datagram):
        return message
    try:
        data = open_sealed(
            key=asked.password, nonce=message.nonce, encryption=message.encryption, sealed=message.sealed
        )
        content = Codec.of(V1, "standard").decode_content(data)
    except (OpeningError, MalformedFrameError):
        return message
    return Datagram(
        PROTOCOL_VERSION,
        message.encryption,
        message.login,
        asked.password,
        content.op,
        content.priority,
        content.topic,
        content.message,
    )
