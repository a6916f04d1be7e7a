"""The registry of the reference clients, the only module here that names protocols; imports each on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, ClassVar, Protocol, runtime_checkable

from wireproof.reference_client.errors import ClientError
from wireproof.reference_client.server_connection import Reconnect

__all__ = ["CLIENTS", "Batching", "DrivenBatch", "DrivenClient", "client_class", "driven_protocols"]

CLIENTS = {
    "namechan": "wireproof.reference_client.namechan",
    "psrt": "wireproof.reference_client.psrt",
    "throttr": "wireproof.reference_client.throttr",
    "tmqp": "wireproof.reference_client.tmqp",
}
"""Protocol -> the package whose `Client` is its SDK."""


class DrivenBatch(Protocol):
    """The methods of a batch that a driver uses, besides one for each request."""

    async def send(self) -> Sequence[object]:
        """Send the collected requests and wait for the replies."""


class DrivenClient(Protocol):
    """The methods of an SDK that a driver uses, besides one for each operation (`wireproof.protocols.plain`).

    Such a method has the name of the operation and its fields as keyword arguments. It returns a flag, a message, the
    only field of the reply, or None. If the server refuses, it raises RefusedError with the reply. What is pushed is
    given to `on_message` as the push itself, or as a dataclass with its fields.
    """

    features: ClassVar[tuple[str, ...]]
    """The protocol's optional features that it has."""

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
        """Return a client that is not open yet; `more` are `timeout` and the fields of the protocol's `connect`."""

    async def __aenter__(self) -> DrivenClient:
        """Connect."""

    async def close(self) -> None:
        """Close."""


@runtime_checkable
class Batching(Protocol):
    """An SDK that can collect requests and send them in one write."""

    def batch(self) -> DrivenBatch:
        """Return a batch with the same methods."""


def driven_protocols() -> list[str]:
    """Return the protocols that have a reference client, sorted."""
    return sorted(CLIENTS)


def client_class(protocol: str) -> type[DrivenClient]:
    """Return the SDK of `protocol`. Raises ValueError if it has none, with the protocols that have one."""
    if protocol not in CLIENTS:
        raise ValueError(f"unknown protocol {protocol!r}: expected {' or '.join(driven_protocols())}")
    found: type[DrivenClient] = import_module(CLIENTS[protocol]).Client
    return found
