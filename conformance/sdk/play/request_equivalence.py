"""Whether what an SDK sent says what it was asked to say, in whatever bytes the protocol allows for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from wireproof.protocols import Message
from wireproof.protocols.codec import Codec
from wireproof.protocols.messages import Request
from wireproof.protocols.registry import Protocol
from wireproof.protocols.sdk_traits import SdkTraits

__all__ = ["Alike", "RequestEquivalence", "are_interleaved", "is_missing"]

Asked = TypeVar("Asked", bound=Message)
Alike = Callable[[Sequence[Message]], bool | None]
Among = Mapping[str, Sequence[str]]
"""Field that an SDK chooses -> the values, as text, of which it must have one."""
ANY: Among = {}


class RequestEquivalence:
    """Compares for one play."""

    def __init__(self, spoken: Protocol, codec: Codec) -> None:
        self._spoken, self._codec = spoken, codec
        self._seen: dict[str, set[bytes]] = {}

    def written(self, requests: Sequence[Request], *, sealed: bool) -> bytes:
        """Return the bytes that are expected; none where only what they say can be."""
        return b"" if sealed else b"".join(self._codec.encode(one) for one in requests)

    def alike(self, requests: Sequence[Request], ignored: Sequence[str], among: Among = ANY) -> Alike | None:
        """Return what compares messages with `requests` by what they say; None where there is one way to write them."""
        known, plain = self._spoken.sdk, SdkTraits
        is_exact = known.canonical is plain.canonical and known.unsealed is plain.unsealed
        is_exact |= all(type(one) in known.fixed for one in requests)
        if is_exact and not any(self._free(one, ignored) for one in requests):
            return None

        def compare(messages: Sequence[Message]) -> bool | None:
            pairs = zip(messages, requests, strict=False)
            if len(messages) > len(requests) or not all(self._same(one, other, ignored, among) for one, other in pairs):
                return False
            return True if len(messages) == len(requests) else None

        return compare

    def without(self, left: Sequence[Message], came: Sequence[Message]) -> list[Message] | None:
        """Return what of `left` is still expected after messages that came; None where one of them is not in it."""
        rest = self.apart(left)
        for one in self.apart(came):
            found = next((other for other in rest if self._same(one, other, ())), None)
            if found is None:
                return None
            rest.remove(found)
        return rest

    def apart(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages, what one says of several things as a message for each."""
        return [part for one in messages for part in self._spoken.sdk.parts(one)]

    def _same(self, came: Message, asked: Message, ignored: Sequence[str], among: Among = ANY) -> bool:
        opened = self._spoken.sdk.unsealed(came, asked)
        asked = self._filled(asked, opened, ignored, among)
        return self._spoken.sdk.canonical(opened) == self._spoken.sdk.canonical(asked)

    def filled(
        self, requests: Sequence[Request], came: Sequence[Message], ignored: Sequence[str], among: Among = ANY
    ) -> tuple[Request, ...]:
        """Return the requests with the values that came in fields that may have any."""
        both = zip(requests, came, strict=False)
        return (*(self._filled(one, other, ignored, among) for one, other in both), *requests[len(came) :])

    def _filled(self, asked: Asked, came: Message, ignored: Sequence[str], among: Among) -> Asked:
        if type(came) is not type(asked):
            return asked
        given = {name: getattr(came, name) for name in self._free(asked, ignored)}
        allowed = {name: [one.encode() for one in values] for name, values in among.items()}
        return replace(asked, **{name: value for name, value in given.items() if value in allowed.get(name, (value,))})

    def _free(self, asked: Message, ignored: Sequence[str]) -> set[str]:
        """Return the fields of a request that may have any value."""
        return {*(one for one in ignored if hasattr(asked, one)), *self._spoken.sdk.chosen_fields.get(type(asked), ())}

    def repeated(self, name: str, messages: Sequence[Message]) -> bytes | None:
        """Return a value of the field `name` that was sent before; None when there is none."""
        seen = self._seen.setdefault(name, set())
        values: list[bytes] = [getattr(one, name) for one in messages if hasattr(one, name)]
        for value in values:
            if value in seen:
                return value
            seen.add(value)
        return None


def is_missing(requests: Sequence[Request], messages: Sequence[Message], number: int) -> bool:
    """Say whether one of the requests was left out: what came in its place is the next one."""
    return number + 1 < len(requests) and list(messages[number : number + 1]) == [requests[number + 1]]


def are_interleaved(requests: Sequence[bytes], came: bytes) -> bool:
    """Say whether bytes that came are those of several requests mixed, some perhaps not there yet.

    Where the bytes of one request are in another order, they are its fields, and nothing is mixed.
    """
    at = 0
    for one in requests:
        there = came[at : at + len(one)]
        if not one.startswith(there):
            return Counter(there) != Counter(one) and Counter(came) <= Counter(b"".join(requests))
        at += len(one)
    return False
