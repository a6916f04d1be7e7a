"""Faults in what an SDK sends: priorities, topics, sizes, nonces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from wireproof.mutants.psrt.client.mutant import mutant
from wireproof.protocols.messages import Message
from wireproof.protocols.psrt import ControlClient, ResponseCode
from wireproof.protocols.psrt.requests import Publish, Subscribe, Unsubscribe
from wireproof.reference_client.psrt.client import Client

__all__ = ["MUTANTS"]


class _Urgent(Client):
    """Has a priority of its own."""

    async def publish(self, topic: bytes, message: bytes, *, priority: int = 0) -> ResponseCode:
        return await super().publish(topic, message, priority=0)


class _Unchecked(Client):
    """Sends topics that hold 00: what follows it is message."""

    async def publish(self, topic: bytes, message: bytes, **options: Any) -> ResponseCode:
        head, _, rest = topic.partition(b"\0")
        return await super().publish(head, rest + message, **options)


class _Shortened(Client):
    """Cuts topics at a 00."""

    async def publish(self, topic: bytes, message: bytes, **options: Any) -> ResponseCode:
        return await super().publish(topic.partition(b"\0")[0], message, **options)


class _Characters(ControlClient):
    """Tells LEN in characters."""

    def send(self, message: Message) -> bytes:
        data = super().send(message)
        at = {Publish: 2, Subscribe: 1, Unsubscribe: 1}.get(type(message))
        if at is None:
            return data
        size = len(data[at + 4 :].decode("utf-8", "replace"))
        return data[:at] + size.to_bytes(4, "little") + data[at + 4 :]


class _Counting(Client):
    """Gives LEN in characters to the socket."""

    connection_class = _Characters


class _Once(Client):
    """Seals with the same nonce every time."""

    nonce: ClassVar[Callable[[int], bytes]] = staticmethod(bytes)


MUTANTS = (
    mutant("priority-zero", "Every message has the priority 00.", "CLIENT-12", client=_Urgent),
    mutant("topic-with-zero-sent", "A topic that holds 00 is sent: the rest of it is message.", "CLIENT-13",
          client=_Unchecked),
    mutant("topic-cut-at-zero", "A topic that holds 00 is cut there and sent.", "CLIENT-13", client=_Shortened),
    mutant("length-in-characters", "LEN counts characters.", "CLIENT-14", client=_Counting),
    mutant("same-nonce", "Every datagram is sealed with the same nonce.", "CLIENT-16", client=_Once),
)  # fmt: skip
