"""The part of a protocol's codec that fuzzing uses."""

from __future__ import annotations

from typing import Protocol

from wireproof.protocols import Message
from wireproof.protocols.profile import Layout, Profile

__all__ = ["CodecInterface"]


class CodecInterface(Protocol):
    """Encodes messages and describes their layouts under one profile and variant."""

    profile: Profile

    def __hash__(self) -> int: ...

    def encode(self, message: Message) -> bytes:
        """Return the bytes of a message. Raises `LocalProtocolError` if it cannot be encoded."""

    def layout(self, message: type[Message]) -> Layout:
        """Return the layout of a message class."""
