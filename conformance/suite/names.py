"""Names and values in messages about what people wrote: those that come near, and long ones cut."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

SHOWN = 60
"""Characters of a value that a message shows."""


MOST_LIKE = 5


def near(name: str, known: Iterable[str]) -> str:
    """Return the names that come near as the end of a sentence, or nothing."""
    found = get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(found)}?)" if found else ""


def names_like(name: str, known: Iterable[str]) -> list[str]:
    """Return at most five names that are like one: of nearly the same letters, then those that hold it."""
    wanted, by_lower = name.lower(), {one.lower(): one for one in known}
    close = [by_lower[one] for one in get_close_matches(wanted, by_lower, MOST_LIKE, 0.6)]
    return list(dict.fromkeys([*close, *(one for lower, one in by_lower.items() if wanted in lower)]))[:MOST_LIKE]


def shown_names(known: Collection[str]) -> str:
    """Return names for a message."""
    return ", ".join(known) or "none"


def shown(node: object) -> str:
    """Return a value for a message, cut where it is long."""
    text = repr(node)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
