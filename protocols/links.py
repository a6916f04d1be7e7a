"""The links that one protocol is spoken on: each has a grammar of its own for both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from wireproof.protocols.connection import Client, Connection
from wireproof.protocols.messages import Push, Reply, Request

__all__ = ["Link"]


def _undefined_sync_request() -> Request:
    raise LookupError("this kind of line has no request that is answered at once")


def _undefined_noop(name: bytes) -> tuple[Request, Reply]:
    raise LookupError("this kind of line has no request that changes nothing")


@dataclass(frozen=True)
class Link:
    """One kind of connection between a client and a server."""

    client: Callable[..., Client]
    """(codec, max_frame=...) -> the client's side of a connection."""
    server: Callable[..., Connection]
    """(codec, max_frame=...) -> the server's side of a connection."""
    sync_request: Callable[[], Request] = _undefined_sync_request
    """A request any server answers at once: its reply proves that what came before it was handled.

    Raises `LookupError` where there is none."""
    noop: Callable[[bytes], tuple[Request, Reply]] = _undefined_noop
    """A name that nobody else uses -> a request that changes no record, and its reply, led by a status byte.

    Raises `LookupError` where there is none."""
    handshake: Callable[[], tuple[Request, ...]] = tuple
    """What a client sends on a new connection before it may ask for anything, each answered."""
    pipelined_handshake: bool = False
    """A server may wait for all of the handshake before it answers any of it."""
    answers_in_order: bool = True
    """Replies come in the order of their requests; else each says which one it answers."""
    transport: Literal["stream", "datagram"] = "stream"
    """Over datagrams each message is one of them."""
    tls: bool = False
    """A stream that can switch to TLS."""
    half_closes: bool = True
    """A client may end its side of a stream and is still answered; else an end is the end of both sides."""
    drops_slow_readers: bool = False
    """A right server may end it when more waits for its client than it keeps."""
    requests: tuple[type[Request], ...] = ()
    """What is asked on it; none = everything."""
    listener: str = ""
    """Where a server listens for it, if not where it does for the others: a name of `Service.listeners`."""
    anytime: tuple[type[Push], ...] = ()
    """Pushes that a server may send at any moment, whatever else happens."""
    in_silence: tuple[type[Push], ...] = ()
    """Pushes that a server sends once it has sent nothing for some time, of which the case knows how long."""
    has_spellings: bool = False
    """A request may be written in several ways: `spellings` of the codec has them."""
    continued: Mapping[type[Request], tuple[type[Request], str, int]] = field(default_factory=dict)
    """Request -> what its sender sends next, where that field of the reply has that value."""
    selected_by: Mapping[tuple[type[Request], str], int] = field(default_factory=dict)
    """Request and field -> the number there that distinguishes it from requests that begin alike."""
    keeps_alive: bool = False
    """Whether clients send the no-op request by themselves, at any time, so that the connection is not closed."""

    blank: tuple[type[Request], ...] = ()
    """Requests that say nothing and are not answered: clients may send them at any time."""

    @property
    def has_noop(self) -> bool:
        """Say whether there is a request that changes nothing."""
        return self.noop is not _undefined_noop
