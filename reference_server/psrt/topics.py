"""Topics and masks: normalisation, matching, and whether one mask covers another (P24, P25)."""

from __future__ import annotations

import re

__all__ = ["Levels", "covers", "depth", "is_mask", "levels", "matches", "normalised"]

Levels = tuple[str, ...]
"""A topic or a mask, level by level; a mask ends at its first `#`."""

ONE, REST = "+", "#"
"""Levels of a mask that match exactly one level of a topic, or all that are left, at least one."""
_SLASHES = re.compile("/{2,}")


def normalised(text: str) -> str:
    """Return the topic or mask with each run of `/` replaced by one, and without a leading `/`."""
    return _SLASHES.sub("/", text).removeprefix("/")


def depth(topic: str) -> int:
    """Return the depth of a normalised topic or mask: its number of `/`."""
    return topic.count("/")


def is_mask(topic: str) -> bool:
    """Return whether a `+` or `#` is anywhere in it, so that nothing can be published to it."""
    return ONE in topic or REST in topic


def levels(mask: str) -> Levels:
    """Return the levels of a normalised mask."""
    parts = mask.split("/")
    return tuple(parts[: parts.index(REST) + 1] if REST in parts else parts)


def matches(mask: Levels, topic: Levels) -> bool:
    """Return whether a mask matches a topic."""
    for place, part in enumerate(mask):
        if place >= len(topic):
            return False
        if part == REST:
            return True
        if part not in (ONE, topic[place]):
            return False
    return len(mask) == len(topic)


def covers(granted: Levels, asked: Levels) -> bool:
    """Return whether `granted` matches every topic that the mask `asked` matches."""
    for place, part in enumerate(granted):
        if place >= len(asked):
            return False
        if part == REST:
            return True
        if asked[place] == REST or part not in (ONE, asked[place]):
            return False
    return len(granted) == len(asked)
