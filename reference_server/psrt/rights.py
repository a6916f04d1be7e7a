"""The rights of a login."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wireproof.reference_server.psrt.topics import Levels, covers, levels, matches, normalised

__all__ = ["ALL", "Rights", "masks"]


def masks(texts: Iterable[str]) -> tuple[Levels, ...]:
    """Return the masks of an ACL, normalised as topics are."""
    return tuple(levels(normalised(text)) for text in texts)


@dataclass(frozen=True)
class Rights:
    """The rights of a login; `admin` has no meaning in the protocol."""

    sub: tuple[Levels, ...] = ()
    pub: tuple[Levels, ...] = ()
    admin: bool = False
    replicator: bool = False

    def may_subscribe(self, mask: str) -> bool:
        """Return whether one mask grants everything that a normalised mask can match."""
        asked = levels(mask)
        return any(covers(granted, asked) for granted in self.sub)

    def may_publish(self, topic: str) -> bool:
        """Return whether a message may be published to a normalised topic."""
        wanted = tuple(topic.split("/"))
        return any(matches(granted, wanted) for granted in self.pub)


ALL = Rights(masks(["#"]), masks(["#"]), admin=True, replicator=True)
