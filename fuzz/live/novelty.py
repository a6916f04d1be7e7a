"""Response shapes: which reply followed which. Scripts that produce a new shape are kept for mutation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wireproof.fuzz.live.exchanges import PlayedConnection, shape_of
from wireproof.fuzz.live.execution import PROBES

__all__ = ["SeenShapes", "shapes"]


def shapes(found: Iterable[PlayedConnection]) -> Iterator[str]:
    """Yield a shape for each reply (previous reply, request, reply) and for how each connection ended."""
    for line in found:
        if line.name in PROBES:
            continue
        before = "nothing"
        context = line.context
        enums = context.symbols.protocol.names if context.by_state else ()
        yield from {f"push {shape_of(one)}" for one, request in line.messages if request is None and context.by_state}
        for request, reply in line.answered:
            shape = shape_of(reply, enums)
            yield f"{before} > {request.NAME} > {shape}"
            before = shape
        end = line.ended.value if line.ended else "open"
        yield f"{before} > {end}{'' if line.valid else ' after what is no request'}{', due' if line.due > 0 else ''}"


class SeenShapes:
    """The shapes seen so far."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def __len__(self) -> int:
        return len(self._known)

    def is_new(self, found: Iterable[PlayedConnection]) -> bool:
        """Add the shapes of `found`; return whether any of them is new."""
        before = len(self._known)
        self._known.update(shapes(found))
        return len(self._known) > before
