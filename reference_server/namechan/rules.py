"""The behaviour of a server under each profile, as data."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RULES", "Rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The behaviour of one profile; whether a client may publish is in the profile's requests."""

    unsupported_version: int = -1
    """N5: what is answered to a version that is not spoken."""
    silent_intervals: int = 2
    """N4: ping intervals without a word of the client, after which it is dropped."""


RULES = {"1": Rules(), "1+publish": Rules()}
