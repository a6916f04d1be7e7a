"""What the codec of every protocol offers; a protocol's own has more."""

from __future__ import annotations

from typing import Protocol

from wireproof.protocols.messages import Message
from wireproof.protocols.profile import Layout, Profile

__all__ = ["Codec"]


class Codec(Protocol):
    """Encodes the messages of one profile under one variant; shared by connections."""

    @property
    def profile(self) -> Profile:
        """The profile that is spoken."""

    def layout(self, message: type[Message]) -> Layout:
        """Return where the fields of a message lie; `KeyError` for none of the profile's."""

    def encode(self, message: Message) -> bytes:
        """Return the bytes of a message; raises `LocalProtocolError` for values that its layout cannot carry."""
