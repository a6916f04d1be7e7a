"""A fault of the Throttr SDK: the class of its client with another link, connection, codec or check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from wireproof.mutants.mutant import ClientMutant
from wireproof.protocols.messages import Message, Reply, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import ClientConnection, Codec
from wireproof.reference_client.link import Link
from wireproof.reference_client.throttr.client import Client

__all__ = ["changed", "codec", "connection", "hearing", "link", "mutant", "numbers", "sending", "texts", "unchecked"]


def mutant(name: str, description: str, *clauses: str, client: type[Client], **where: Any) -> ClientMutant:
    """Return a fault of `clauses`, written without their `THR-`."""
    return ClientMutant(
        name=name, description=description, clauses=tuple(f"THR-{one}" for one in clauses), client=client, **where
    )


def changed(message: Any, **fields: Any) -> Any:
    """Return a message with other fields."""
    return msgspec.structs.replace(message, **fields)


def link(kind: type[Link], client: type[Client] = Client) -> type[Client]:
    """Return the client with another link."""
    return type("Client", (client,), {"link_class": kind})


def connection(kind: type[ClientConnection], client: type[Client] = Client) -> type[Client]:
    """Return the client with another connection."""
    return type("Client", (client,), {"connection_class": kind})


def codec(change: Callable[[Profile], Profile]) -> type[Client]:
    """Return the client that speaks a changed profile."""
    return type("Client", (Client,), {"codec_of": classmethod(lambda _, profile, one: Codec.of(change(profile), one))})


def sending(change: Callable[[Any], Any], client: type[Client] = Client) -> type[Client]:
    """Return the client that changes each request after it was checked."""

    class Sending(Link):
        def ask(self, requests: Sequence[Request]) -> list[Any]:
            return super().ask([change(one) for one in requests])

    return link(Sending, client)


def hearing(change: Callable[[Any, Request], Reply]) -> type[Client]:
    """Return the client that changes each reply before anybody gets it."""

    class Hearing(Link):
        def _answer(self, reply: Reply) -> None:
            request = self._codec.answered
            super()._answer(reply if request is None else change(reply, request))

    return link(Hearing)


class Unchecked(Client):
    """Lets everything through."""

    def _check(self, request: Request) -> None:
        pass


def unchecked(change: Callable[[Any, Codec], Any]) -> type[Client]:
    """Return the client that makes fit what does not, without a word."""

    class Fitting(Link):
        def ask(self, requests: Sequence[Request]) -> list[Any]:
            return super().ask([change(one, self._codec.codec) for one in requests])  # type: ignore[attr-defined]

    return link(Fitting, Unchecked)


def numbers(message: Any, change: Callable[[int], int]) -> Any:
    """Return a message with all its numbers changed, those of its rows too."""
    return _mapped(message, lambda one: change(one) if type(one) is int else one)


def texts(message: Any, change: Callable[[bytes], bytes], *names: str) -> Any:
    """Return a message with the fields of these names changed where it has them."""
    has = [name for name in names if name in message.__struct_fields__]
    return changed(message, **{name: change(getattr(message, name)) for name in has})


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Message):
        return type(value)(*(_mapped(getattr(value, name), change) for name in value.__struct_fields__))
    if isinstance(value, tuple):
        return tuple(_mapped(one, change) for one in value)
    return change(value)
