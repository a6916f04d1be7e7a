"""The codec of one profile and variant, as far as all protocols share it; a protocol's own has more."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Self

from wireproof.protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError
from wireproof.protocols.frames import Decoder, Encoder, FrameContext
from wireproof.protocols.messages import Message

if TYPE_CHECKING:
    from wireproof.protocols.profile import Layout, Profile, Variant

__all__ = ["Codec", "decode_whole"]


class Codec:
    """Everything needed to read and write the bytes of one profile and variant; immutable, shared by connections."""

    encoders: dict[type[Message], Encoder]

    def __init__(self, profile: Profile, variant: Variant) -> None:
        self.profile = profile
        self.variant = variant

    @classmethod
    @cache
    def of(cls, profile: Profile, variant: str) -> Self:
        """Return the codec of `profile` and the variant of that name; `KeyError` when there is no such variant."""
        return cls(profile, profile.variants[variant])

    def layout(self, message: type[Message]) -> Layout:
        """Return how `message` lies on the wire here; `KeyError` for none of the profile's."""
        return self.profile.layout(message, self.variant)

    def encode(self, message: Message) -> bytes:
        """Return the bytes of `message`; `LocalProtocolError` when the profile has no such one or it does not fit."""
        try:
            encode = self.encoders[type(message)]
        except KeyError:
            raise self.no_such(message, "message") from None
        return encode(message)

    def other_forms(self, message: Message) -> Mapping[str, bytes]:
        """Return name -> bytes that every server reads as a request, though no client has a reason to write them."""
        return {}

    def no_such(self, message: object, kind: str) -> LocalProtocolError:
        """Return the error for what is not a `kind` of this profile."""
        detail = f"profile {self.profile.name} has no {kind} {type(message).__name__}"
        return LocalProtocolError(ErrorCode.UNEXPECTED_MESSAGE, detail)


def decode_whole(decode: Decoder, kind: type[Message], data: bytes) -> Message:
    """Return the one message of class `kind` that `data` is; raises `MalformedFrameError`."""
    message, stop = decode(data, 0, len(data), FrameContext(len(data)))
    if message is None or stop != len(data):
        code = ErrorCode.TRUNCATED if message is None else ErrorCode.LYING_LENGTH
        raise MalformedFrameError(code, f"{kind.NAME}: expected {stop} bytes, got {len(data)}", min(stop, len(data)))
    found: Message = message
    return found
