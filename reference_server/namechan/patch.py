"""The interface of mutants: the parts of a namechan server that a patch replaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from wireproof.protocols.profile import Profile
from wireproof.reference_server.namechan.session import NamechanSession
from wireproof.reference_server.namechan.state import Handlers, State

__all__ = ["HandlerPatch", "Patch", "ProfilePatch"]

HandlerPatch = Callable[[Handlers, State], Handlers]
"""(correct handlers, state) -> the handlers to replace."""
ProfilePatch = Callable[[Profile], Profile]


@dataclass(frozen=True, eq=False, kw_only=True)
class Patch:
    """Replacements of parts of a server; every other part stays correct."""

    profile: ProfilePatch | None = None
    """Returns another wire layout."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Other values of `Rules`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other values of the server's options; they override the given ones."""
    state: type[State] = State
    handlers: HandlerPatch | None = None
    session: type[NamechanSession] = NamechanSession

    @property
    def is_of_handlers(self) -> bool:
        """Whether nothing but handlers is patched."""
        patched = (self.profile, self.rules, self.options, self.state, self.session)
        return self.handlers is not None and patched == (None, {}, {}, State, NamechanSession)

    def patched_profile(self, profile: Profile) -> Profile:
        """Return the profile that the server speaks instead of `profile`; the same object at each call."""
        return profile if self.profile is None else _patched(self, profile)


@cache
def _patched(patch: Patch, profile: Profile) -> Profile:
    assert patch.profile is not None
    return patch.profile(profile)
