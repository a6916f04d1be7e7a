"""Topics and masks in the model: the rules of P24 and P25, level by level, by recursion."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["fits", "grants", "holds_wildcard", "means_the_same", "plain"]


def plain(text: str) -> str:
    """Return a topic or mask normalised: no empty level but the last one."""
    *before, last = text.split("/")
    return "/".join([*filter(None, before), last])


def holds_wildcard(topic: str) -> bool:
    """Return whether nothing may be published to a topic, because of a `+` or `#` in it."""
    return any(sign in topic for sign in "+#")


def fits(mask: Sequence[str], topic: Sequence[str]) -> bool:
    """Return whether a mask matches a topic, both by levels."""
    if not mask or not topic:
        return not mask and not topic
    if mask[0] == "#":
        return True
    return mask[0] in ("+", topic[0]) and fits(mask[1:], topic[1:])


def grants(granted: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether one mask matches whatever another one matches (P37)."""
    if not granted or not asked:
        return not granted and not asked
    if granted[0] == "#":
        return True
    if asked[0] == "#":
        return False
    return granted[0] in ("+", asked[0]) and grants(granted[1:], asked[1:])


def means_the_same(one: str, other: str) -> bool:
    """Return whether two masks match the same topics: what stands after a `#` does not count (P32)."""
    first, second = one.split("/"), other.split("/")
    return grants(first, second) and grants(second, first)
