"""A fault of a PSRT server: a small patch on its profile, rules, state, handlers or connections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from protocols.profile import Profile
from reference_server.deviation import Deviation
from reference_server.psrt.session import PsrtSession
from reference_server.psrt.state import Handlers, State

__all__ = ["Fault", "HandlerPatch", "ProfilePatch", "fault"]

HandlerPatch = Callable[[Handlers, State], Handlers]
"""(correct handlers, state) -> the handlers to replace."""
ProfilePatch = Callable[[Profile], Profile]


@dataclass(frozen=True, eq=False, kw_only=True)
class Fault(Deviation):
    """One departure; what is not patched stays correct."""

    profile: ProfilePatch | None = None
    """Another wire layout."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Other values of `Rules`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other values of the server's options, whatever it was told."""
    state: type[State] = State
    handlers: HandlerPatch | None = None
    session: type[PsrtSession] = PsrtSession

    @property
    def is_of_handlers(self) -> bool:
        """Whether nothing but handlers is patched."""
        patched = (self.profile, self.rules, self.options, self.state, self.session)
        return self.handlers is not None and patched == (None, {}, {}, State, PsrtSession)

    def patched_profile(self, profile: Profile) -> Profile:
        """Return the profile the server speaks instead of `profile`; the same object each time."""
        return profile if self.profile is None else _patched(self, profile)


def fault(name: str, told: str, *clauses: str, **patches: Any) -> Fault:
    """Return a `Fault` of `clauses`, written without their `PSRT-`; one named twice counts once."""
    return Fault(name=name, told=told, clauses=tuple(f"PSRT-{clause}" for clause in dict.fromkeys(clauses)), **patches)


@cache
def _patched(fault: Fault, profile: Profile) -> Profile:
    assert fault.profile is not None
    return fault.profile(profile)
