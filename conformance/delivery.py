"""How the bytes of a step reach the target: whole, or cut; the same verdict is required for each (T33-like clauses)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Delivery:
    """A named way to cut the frames of one step into writes."""

    name: str
    cut: Callable[[list[bytes]], tuple[bytes, ...]]


def _whole(frames: list[bytes]) -> tuple[bytes, ...]:
    return (b"".join(frames),)


def _frames(frames: list[bytes]) -> tuple[bytes, ...]:
    return tuple(frames)


def _bytes(frames: list[bytes]) -> tuple[bytes, ...]:
    data = b"".join(frames)
    return tuple(data[at : at + 1] for at in range(len(data))) if len(data) <= 600 else _halves(frames)


def _halves(frames: list[bytes]) -> tuple[bytes, ...]:
    """Cut each frame in its middle and join each half with its neighbour's."""
    data, cuts, at = b"".join(frames), [0], 0
    for frame in frames:
        cuts.append(at + len(frame) // 2)
        at += len(frame)
    cuts.append(at)
    return tuple(data[start:stop] for start, stop in pairwise(cuts) if start < stop)


DELIVERIES: Mapping[str, Delivery] = {
    name: Delivery(name, cut)
    for name, cut in (("whole", _whole), ("frames", _frames), ("bytes", _bytes), ("halves", _halves))
}
