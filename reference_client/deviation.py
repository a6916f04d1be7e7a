"""How an SDK departs, on purpose and in one known way, from the reference: what a suite for SDKs is proved with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Deviation"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Deviation:
    """One fault: the SDK's class with a small patch, and the clauses it breaks."""

    name: str
    told: str
    """What the SDK does, in one sentence."""
    clauses: tuple[str, ...]
    """Those a case may blame for it, the plainest first."""
    client: type[Any]
    profiles: tuple[str, ...] = ()
    """Profiles in which it shows; () = all."""
    variants: tuple[str, ...] = ()
    """Variants in which it shows; () = all."""
    live: bool = False
    """Ends the process it runs in, so that it needs one of its own."""
