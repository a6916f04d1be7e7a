"""Many connections at once: histories, whether one order explains all their answers, what to show when none does."""

from collections.abc import Mapping
from typing import Any

HISTORY = "history"
"""Where a record keeps what was shown, among its extras: one line; below it, the drawing of what no order explains."""


def drawn(record: Mapping[str, Any]) -> list[str]:
    """Return the lines of the drawing that a record holds, if it does."""
    shown: str = record.get("extra", {}).get(HISTORY, "")
    return shown.splitlines()[1:]
