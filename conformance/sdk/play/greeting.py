"""The greeting of an SDK that connects again: what it asked before it was connected the first time, once more.

No document forbids an SDK to ask by itself who it is, or to log in, on each connection it makes. So what it asked on
its first one may come first on a later one, too, and is answered in the same way. The case begins after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from wireproof.protocols import Message, Role
from wireproof.protocols.codec import Codec
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.links import Link

__all__ = ["GreetingAgain"]


class GreetingAgain:
    """What may come first on one stream. Sans-IO."""

    def __init__(self, link: Link, codec: Codec, asked: Sequence[Message], own: frozenset[type[Message]]) -> None:
        """`asked`: the requests of the first greeting; those of types in `own` may differ in their fields."""
        self._left = list(asked)
        self._own = own
        self._codec = codec
        self._dissection = Dissection(link, codec)
        self._held = b""
        self._read = 0

    @property
    def is_over(self) -> bool:
        """Whether all that comes now is the case's."""
        return not self._left

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """Take what came; return what of it belongs to the greeting, and what is the case's.

        Bytes of a message that is not whole are held back, as long as they may be a greeting.
        """
        if self.is_over:
            return b"", data
        self._held += data
        end = 0
        for frame in self._dissection.feed(Role.CLIENT, data):
            if not self._left or not self._fits(frame.message):
                self._left = []
                break
            end = frame.span[1] - self._read
            del self._left[0]
        greeting, rest = self._held[:end], self._held[end:]
        self._read += end
        if self._dissection.of_client.error is not None or not self._may_begin(rest):
            self._left = []
        self._held = b"" if self.is_over else rest
        return greeting, rest if self.is_over else b""

    def answered(self, data: bytes) -> None:
        """Take what was written in answer: it may decide how the next request is read."""
        if not self.is_over:
            self._dissection.feed(Role.SERVER, data)

    def _may_begin(self, data: bytes) -> bool:
        """Say whether bytes may be the beginning of the next request of the greeting."""
        if not data or not self._left or type(self._left[0]) in self._own:
            return True
        return self._codec.encode(self._left[0]).startswith(data)

    def _fits(self, message: Message) -> bool:
        expected = self._left[0]
        return message == expected or (type(message) is type(expected) and type(message) in self._own)
