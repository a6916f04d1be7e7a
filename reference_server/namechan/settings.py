"""What a queue is: who gets its messages, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass

from wireproof.protocols.namechan import Delivery, Persistence, Sync

__all__ = ["Settings", "parse_queue"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one queue."""

    delivery: Delivery = Delivery.BROADCAST
    persistence: Persistence = Persistence.TRANSIENT
    sync: Sync = Sync.STRONG
    """When its messages are written, if it is persistent."""

    @property
    def is_persistent(self) -> bool:
        """Whether messages are kept on disk."""
        return self.persistence is Persistence.PERSISTENT

    @property
    def is_broadcast(self) -> bool:
        """Whether every subscriber gets every message."""
        return self.delivery is Delivery.BROADCAST

    @property
    def can_be_replayed(self) -> bool:
        """Whether subscribers may ask for earlier messages (N9)."""
        return self.is_persistent and self.is_broadcast


def parse_queue(text: str) -> tuple[bytes, Settings]:
    """Return name and settings of `NAME:DELIVERY:PERSISTENCE[:SYNC]`; raises ValueError for anything else."""
    name, *words = text.split(":")
    kinds = (Delivery, Persistence, Sync)
    known = [{one.name.lower(): one for one in kind} for kind in kinds]
    found = [some.get(word.lower()) for some, word in zip(known, words, strict=False)]
    is_persistent = len(found) > 1 and found[1] is Persistence.PERSISTENT
    if not name or None in found or len(words) not in ((2, 3) if is_persistent else (2,)):
        forms = " and ".join("|".join(some) for some in known)
        raise ValueError(f"queue {text!r}: expected NAME, then after colons {forms}, the last for persistent ones only")
    return name.encode(), Settings(*found)  # type: ignore[arg-type]
