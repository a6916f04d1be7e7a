"""What answers about one record are allowed, as a pure sequential model: the seam between semantics and a checker.

A checker of concurrent histories asks a `Model` whether a reply may follow from a state, and which states it leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Protocol

from protocols.messages import Message, Request

__all__ = ["Model"]


class Model(Protocol):
    """The states of one key and the steps between them; what the documents leave open is allowed."""

    @property
    def initial(self) -> Hashable:
        """The state of a key nothing was asked about yet."""

    def key(self, request: Request) -> bytes:
        """Return the key a request is about; `ValueError` for one that is about none or that the model lacks."""

    def step(self, state: Hashable, request: Request, reply: Message | None) -> Collection[Hashable]:
        """Return the states that `request`, answered by `reply`, may leave; none when that answer is not allowed.

        Without a reply (None): every state that any answer may leave.
        """

    def reads(self, request: Request, reply: Message | None) -> bool:
        """Say whether a request answered so changes nothing, whatever the state; it may tell what a state is."""

    def tell(self, state: Hashable) -> str:
        """Return a state in words."""
