"""What is known of deaths: which scripts would meet one again, so that a campaign finds what lies behind it.

A death is known by its traits: which requests its reduced script sends, what it sends that is none, and how its
connections end. A script that has all of them would probably meet the same death.
"""

from __future__ import annotations

from collections.abc import Iterable

from wireproof.conformance.model.actions import Open, Shut, Write
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.observation import Suspicion
from wireproof.fuzz.script import Script

__all__ = ["FATAL", "KnownDeaths", "traits"]

FATAL = frozenset({"the process stays", "a sanitizer is silent", "others are served"})
"""Oracles whose failure ends the server or makes it useless."""
LARGE, MANY = 4096, 64
"""Bytes of a large write; requests of a script with many."""


def traits(script: Script, context: FuzzContext) -> frozenset[str]:
    """Return what a script does, without names, values and order."""
    found: set[str] = set()
    asked = opened = 0
    for step in script:
        if isinstance(step, Write):
            requests, whole = context.requests(step.data)
            asked += len(requests)
            found.update(one.NAME for one in requests)
            if not whole:
                found.add(_no_request(step.data, sum(len(context.encode(one)) for one in requests), context))
            if len(step.data) >= LARGE:
                found.add("large")
        elif isinstance(step, Shut) and step.how != "close":
            found.add(step.how)
        opened += isinstance(step, Open)
    if asked >= MANY:
        found.add("many")
    return frozenset(found | ({"connections"} if opened > 1 else set()))


def _no_request(data: bytes, at: int, context: FuzzContext) -> str:
    """Return what follows the whole requests of a write: the beginning of a request, or none."""
    for kind, lead in context.symbols.codec.profile.leads.items():
        if lead and data[at:].startswith(lead):
            return f"an incomplete {kind.NAME}"
    return "no request"


class KnownDeaths:
    """The deaths that a campaign has met, or was given."""

    def __init__(self, context: FuzzContext) -> None:
        self._context = context
        self._traits: list[frozenset[str]] = []
        self.avoided = 0
        """Scripts that were not played because they would probably meet a known death."""
        self.met = 0
        """Plays that met one all the same."""

    def __bool__(self) -> bool:
        return bool(self._traits)

    def add(self, scripts: Iterable[Script]) -> None:
        """Take reduced scripts that end the server."""
        for script in scripts:
            found = traits(script, self._context)
            if found and found not in self._traits:
                self._traits.append(found)

    def would_meet(self, script: Script) -> bool:
        """Return whether a script has all traits of a known death."""
        if not self._traits:
            return False
        has = traits(script, self._context)
        return any(known <= has for known in self._traits)

    def distinguished(self, suspicion: Suspicion, script: Script) -> Suspicion:
        """Return the suspicion of a death that printed nothing with the traits of its reduced script in its shape."""
        if not suspicion.is_wordless:
            return suspicion
        by = ", ".join(sorted(traits(script, self._context)))
        return suspicion.with_shape(f"{suspicion.shape} | by {by or 'connecting'}")
