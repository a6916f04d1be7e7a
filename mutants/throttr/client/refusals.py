"""Faults in what an SDK should refuse: it makes it fit instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wireproof.mutants.throttr.client.mutant import Unchecked, changed, connection, mutant, unchecked
from wireproof.protocols.fields import Blob, UInt
from wireproof.protocols.messages import Message
from wireproof.protocols.throttr import ClientConnection, Codec
from wireproof.protocols.throttr.requests import Query

__all__ = ["MUTANTS"]


def _numbers(change: Callable[[int, int], int]) -> Callable[[Any, Codec], Any]:
    """Change the numbers that are too wide: (number, largest) -> number; the rest is left to be refused by nobody."""

    def fit(request: Any, codec: Codec) -> Any:
        kinds = codec.layout(type(request)).fields
        wide = {name: kind.maximum for name, kind in kinds if isinstance(kind, UInt)}
        return changed(request, **{name: change(getattr(request, name), most) for name, most in wide.items()})

    return fit


def _bytes(*names: str) -> Callable[[Any, Codec], Any]:
    """Cut what is too long."""

    def fit(request: Any, codec: Codec) -> Any:
        kinds = codec.layout(type(request)).fields
        most = {name: kind.size.maximum for name, kind in kinds if isinstance(kind, Blob) and name in names}
        return changed(request, **{name: getattr(request, name)[:size] for name, size in most.items()})

    return fit


class _Wrapped(ClientConnection):
    """Writes a key whole behind a size that does not tell all of it."""

    def send_all(self, messages: Iterable[Message]) -> bytes:
        (message,) = messages
        if not isinstance(message, Query) or len(message.key) < 256:
            return super().send_all([message])
        data = super().send_all([changed(message, key=b"")])
        return data[:1] + bytes([len(message.key) & 255]) + message.key


MUTANTS = (
    mutant("wide-numbers-wrap", "A number too wide is sent modulo 2^(8N).", "CLIENT-1",
          client=unchecked(_numbers(lambda number, most: number & most))),
    mutant("wide-numbers-clamped", "A number too wide is sent as the largest there is.", "CLIENT-1",
          client=unchecked(_numbers(min))),
    mutant("wide-numbers-are-zero", "A number too wide is sent as 0.", "CLIENT-1",
          client=unchecked(_numbers(lambda number, most: number if number <= most else 0))),
    mutant("long-names-cut", "A key or channel too long is cut.", "CLIENT-2",
          client=unchecked(_bytes("key", "channel"))),
    mutant("long-values-cut", "A value or payload too long is cut.", "CLIENT-2",
          client=unchecked(_bytes("value", "payload")), variants=("uint8", "uint16")),
    mutant("long-key-behind-its-size", "A key too long is sent whole, its size modulo 256: the rest is a request.",
          "CLIENT-2", client=connection(_Wrapped, Unchecked)),
)  # fmt: skip
