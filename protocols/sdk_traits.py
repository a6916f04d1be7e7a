"""What SDKs of a protocol do by themselves, and how that is recognised: what a player and a driver need to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wireproof.protocols.messages import Message, Reply, Request

__all__ = ["SdkTraits"]


@dataclass(frozen=True)
class SdkTraits:
    """How SDKs of one protocol are; the defaults are those of one that asks only what its user asks for."""

    own: frozenset[type[Message]] = frozenset()
    """What an SDK sends and takes by itself: nobody asks for it by name, and it is not reported."""
    continued: Mapping[type[Request], type[Request]] = field(default_factory=dict)
    """Request -> the one that an SDK sends after it where the answer asks for it: to a user both are one operation."""
    hidden_fields: frozenset[str] = frozenset()
    """Fields that an SDK fills in and reads by itself."""
    chosen_fields: Mapping[type[Message], frozenset[str]] = field(default_factory=dict)
    """Message -> more fields that an SDK fills in or reads by itself; it may choose any value for those of requests."""
    connect_fields: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """What connecting takes besides host and port, all optional: name -> "bytes", "seconds", "path", or its words."""
    samples: Mapping[str, int | bytes] = field(default_factory=dict)
    """Field of a request, or `MESSAGE.field` -> a value that servers take, where not any will do."""
    unnamed_numbers: frozenset[type[Message]] = frozenset()
    """Messages in which numbers that have names elsewhere are only numbers."""
    matches: Callable[[Request, Message], bool] | None = None
    """(a request that came, a message of the server) -> whether it answers that; None: in the order of requests."""
    matched_by: str = ""
    """The field in which a reply repeats what its request has there, where `matches` says so."""
    order_clause: str = ""
    """The clause that is broken where an answer is given to another request under way; "" where cases name it."""
    whole_clause: str = ""
    """The clause that is broken where bytes of requests made at once are mixed; "" where cases name it."""
    once: Mapping[type[Request], str] = field(default_factory=dict)
    """Request that begins a connection -> the clause that is broken where an SDK sends it there once more."""
    listening: str = "subscribe"
    """The operation after which an SDK gets pushes."""
    optional: frozenset[str] = frozenset()
    """Fields of pushes that an SDK need not report."""
    parting: Mapping[type[Request], Reply | None] = field(default_factory=dict)
    """What an SDK may ask by itself when it has to close -> the reply, None for none; then the server closes."""
    fixed: frozenset[type[Message]] = frozenset()
    """Requests that are fixed bytes: what is read as one of them, too, does not say the same."""
    canonical: Callable[[Message], Message] = lambda message: message
    """A request -> the one way to write what says the same."""
    parts: Callable[[Message], Sequence[Message]] = lambda message: (message,)
    """A request -> those that together say the same: a list of topics is a request for each of them."""
    unsealed: Callable[[Message, Message], Message] = lambda message, asked: message
    """(a request that came, the one that an SDK had to make) -> the former, opened with the latter's key."""
    probe: Callable[[bytes], tuple[Request, Reply]] | None = None
    """A name that nobody else uses -> a request that SDKs can make, and its reply; None: the no-op request."""
