"""What a server showed: what it answered to what, after what; scripts that make it show something new are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wireproof.fuzz.live.exchanges import Line, shape_of
from wireproof.fuzz.live.execution import PROBE

__all__ = ["SeenShapes", "shapes"]


def shapes(found: Iterable[Line]) -> Iterator[str]:
    """Yield each step of each connection: request, shape of its reply and of the one before; then how it stood last."""
    for line in found:
        if line.name == PROBE:
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

    def is_new(self, found: Iterable[Line]) -> bool:
        """Note what was shown; say whether any of it is new."""
        before = len(self._known)
        self._known.update(shapes(found))
        return len(self._known) > before
