"""Ids that a server has sent, which later requests may name."""

from __future__ import annotations

from wireproof.protocols import Message
from wireproof.protocols.fields import Raw
from wireproof.protocols.profile import Layout

__all__ = ["note_ids"]


def note_ids(known: dict[int, list[bytes]], layout: Layout, reply: Message) -> None:
    """Add the ids of a reply to those that are known: size in bytes -> ids."""
    for name, kind in layout.fields:
        if isinstance(kind, Raw) and (value := getattr(reply, name)) not in known.setdefault(kind.size, []):
            known[kind.size].append(value)
