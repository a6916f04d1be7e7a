"""How often cycles of objects are looked for while cases play: plays leave hardly any, and each look costs time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collecting_seldom"]

YOUNG = 20_000
"""New objects after which cycles are looked for among them."""


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Look for cycles seldom meanwhile, and as often as before afterwards."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], YOUNG), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
