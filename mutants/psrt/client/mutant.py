"""A fault of the PSRT SDK: the class of its client with another part."""

from __future__ import annotations

from wireproof.mutants.mutant import ClientMutant
from wireproof.reference_client.link import Link
from wireproof.reference_client.psrt.client import Client
from wireproof.reference_client.psrt.conversation import Conversation
from wireproof.reference_client.psrt.session import Session
from wireproof.reference_client.silence import WatchedLink

__all__ = ["control_link", "conversation", "data_link", "mutant", "session"]


def mutant(name: str, description: str, *clauses: str, client: type[Client]) -> ClientMutant:
    """Return a fault of `clauses`, written without their `PSRT-`."""
    return ClientMutant(
        name=name, description=description, clauses=tuple(f"PSRT-{one}" for one in clauses), client=client
    )


def session(kind: type[Session]) -> type[Client]:
    """Return the client with another way to log in and to listen."""
    return type("Client", (Client,), {"session_class": kind})


def data_link(kind: type[WatchedLink]) -> type[Client]:
    """Return the client with another data socket."""
    return session(type("Session", (Session,), {"data_link_class": kind}))


def control_link(kind: type[Link]) -> type[Client]:
    """Return the client with another control socket."""
    return type("Client", (Client,), {"link_class": kind})


def conversation(kind: type[Conversation]) -> type[Client]:
    """Return the client with another way to ask."""
    return type("Client", (Client,), {"conversation_class": kind})
