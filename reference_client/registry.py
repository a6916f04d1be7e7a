"""The one place of the reference clients that names protocols; each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Protocol, runtime_checkable

from wireproof.reference_client.errors import ClientError
from wireproof.reference_client.line import Reconnect

__all__ = ["CLIENTS", "Batching", "DrivenBatch", "DrivenClient", "client_class", "driven_protocols"]

CLIENTS = {"psrt": "wireproof.reference_client.psrt", "throttr": "wireproof.reference_client.throttr"}
"""Protocol -> the package whose `Client` is its SDK."""


class DrivenBatch(Protocol):
    """What a driver needs of a batch, besides a method for each request."""

    async def send(self) -> list[Any]:
        """Send what was gathered and wait for the replies."""


class DrivenClient(Protocol):
    """What a driver needs of an SDK, besides a method for each operation (`wireproof.protocols.plain`) by its name.

    Such a method takes the fields of the operation by their names, and returns a flag, a message, None where there is
    none, or the one field of the reply. Where the server refuses it raises `RefusedError` with the reply.
    """

    features: ClassVar[tuple[str, ...]]
    """What of the protocol's optional features it has."""

    @classmethod
    def connect(
        cls,
        host: str,
        port: int,
        *,
        profile: str,
        variant: str,
        reconnect: Reconnect | None,
        on_message: Callable[[Any], object],
        on_loss: Callable[[ClientError, bool], object],
        on_mended: Callable[[], object],
        **more: Any,
    ) -> DrivenClient:
        """Return a client that is not open yet; `more` are `timeout` and what the protocol has for connecting."""

    async def __aenter__(self) -> DrivenClient:
        """Connect."""

    async def close(self) -> None:
        """Close."""


@runtime_checkable
class Batching(Protocol):
    """An SDK that can gather requests and send them at once."""

    def batch(self) -> DrivenBatch:
        """Return a batch with the same methods."""


def driven_protocols() -> list[str]:
    """Return the protocols that have a reference client, sorted."""
    return sorted(CLIENTS)


def client_class(protocol: str) -> type[DrivenClient]:
    """Return the SDK of `protocol`; raises ValueError for a protocol that has none, naming those that have one."""
    if protocol not in CLIENTS:
        raise ValueError(f"unknown protocol {protocol!r}: expected {' or '.join(driven_protocols())}")
    found: type[DrivenClient] = import_module(CLIENTS[protocol]).Client
    return found
