"""A mutant of the Throttr SDK: edits of its source, or its class with requests or replies changed on their way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from wireproof.mutants.edits import Edit, Edited, first
from wireproof.mutants.mutant import ClientMutant
from wireproof.protocols.messages import Message, Reply, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import Codec
from wireproof.reference_client.link import Link
from wireproof.reference_client.throttr.client import Client

__all__ = ["changed", "changing", "codec", "fitted", "mutant", "numbers", "sending", "texts"]


CLIENT = "wireproof.reference_client"
MODULES = ("wireproof.protocols.throttr", f"{CLIENT}.throttr", f"{CLIENT}.server_connection", f"{CLIENT}.link")


def mutant(
    name: str, description: str, clauses: str, *edits: Edit, client: type[Client] | None = None, **where: Any
) -> ClientMutant:
    """Return a mutant that breaks `clauses`, words without their `THR-`: the SDK after edits, or the class `client`."""
    edited = Edited(MODULES, edits)
    broken = tuple(f"THR-{one}" for one in clauses.split())
    return ClientMutant(
        name=name,
        description=description,
        clauses=broken,
        make=lambda: client or edited.get(f"{CLIENT}.throttr.client").Client,
        **where,
    )


def fitted(kind: str, value: str, *names: str) -> tuple[Edit, ...]:
    """Return the edits that send `value`, an expression of value and kind, for the fields of a kind that do not fit."""
    chosen = f"isinstance(kind, {kind})" + (f" and name in {names}" if names else "")
    return (
        first("Client._check", "return"),
        first(
            "Link.ask",
            "from msgspec.structs import replace; from wireproof.protocols.fields import Blob, UInt",
            "fields = lambda one: ((name, kind, getattr(one, name)) for name, kind in self._codec.codec.layout(type(one)).fields)",
            f"requests = [replace(one, **{{name: {value} for name, kind, value in fields(one) if {chosen}}}) for one in requests]",
        ),
    )


def changed(message: Any, **fields: Any) -> Any:
    """Return a message with other fields."""
    return msgspec.structs.replace(message, **fields)


def codec(change: Callable[[Profile], Profile]) -> type[Client]:
    """Return the client that speaks a changed profile."""
    return type("Client", (Client,), {"codec_of": classmethod(lambda _, profile, one: Codec.of(change(profile), one))})


def sending(change: Callable[[Any], Any]) -> type[Client]:
    """Return the client that changes each request after it was checked."""

    class Sending(Link):
        def ask(self, requests: Sequence[Request]) -> list[Any]:
            return super().ask([change(one) for one in requests])

    return type("Client", (Client,), {"link_class": Sending})


def changing(change: Callable[[Any, Request], Reply]) -> type[Client]:
    """Return the client that changes each reply before anybody gets it."""

    class ChangingLink(Link):
        def _answer(self, reply: Reply) -> None:
            request = self._codec.answered
            super()._answer(reply if request is None else change(reply, request))

    return type("Client", (Client,), {"link_class": ChangingLink})


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
