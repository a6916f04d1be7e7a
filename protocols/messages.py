"""What every message of every protocol is: a frozen `msgspec.Struct` that owns its wire layout and nothing else.

No socket, state or clock. Fields are `Annotated[type, kind]` in wire order (kinds: `wireproof.protocols.fields`).
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import msgspec

from wireproof.protocols.fields import Kind


class Message(msgspec.Struct, frozen=True, gc=False):
    """Base of requests, replies, pushes and the rows inside them."""

    NAME: ClassVar[str] = ""
    """The name the protocol's document gives it; what cases and reports call it."""


class Request(Message, frozen=True, gc=False):
    """Asked by a client."""


class Reply(Message, frozen=True, gc=False):
    """Answers exactly one request."""


class Push(Message, frozen=True, gc=False):
    """Sent by a server that nobody asked at that moment."""


@cache
def declared_layout(message: type[Message]) -> dict[str, Kind]:
    """Return field name -> kind in wire order, as the class declares them (symbolic sizes, no overrides).

    Raises `TypeError` for an annotation that is not a field kind.
    """
    layout: dict[str, Kind] = {}
    hints = get_type_hints(message, include_extras=True)
    for name in message.__struct_fields__:
        hint: Any = hints[name]
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{message.__name__}.{name} names no wire kind: write Annotated[type, kind]")
        layout[name] = get_args(hint)[1]
    return layout
