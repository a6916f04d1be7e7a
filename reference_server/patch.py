"""The interface of mutants: the parts of a server that a patch replaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile

__all__ = ["HandlerPatch", "Patch", "ProfilePatch"]

Handlers = dict[type[Request], Any]
HandlerPatch = Callable[[Any, Any], Any]
"""(correct handlers, state) -> the handlers to replace."""
ProfilePatch = Callable[[Profile], Profile]


@dataclass(frozen=True, eq=False, kw_only=True)
class Patch:
    """Replacements of parts of a server; every other part stays correct, and None stands for a correct one."""

    used: ClassVar[Mapping[type[Message], frozenset[str]]] = {}
    """Message -> the fields that handlers read, or fill; a message that is not there: all of them."""

    profile: ProfilePatch | None = None
    """Returns another wire layout."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Other values of `Rules`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other values of the server's options, where it has any; they override the given ones."""
    state: Callable[..., Any] | None = None
    handlers: HandlerPatch | None = None
    session: Callable[..., Any] | None = None

    @property
    def is_of_handlers(self) -> bool:
        """Whether nothing but handlers is patched."""
        others = (self.profile, self.rules, self.options, self.state, self.session)
        return self.handlers is not None and others == (None, {}, {}, None, None)

    def patched_handlers(self, correct: Handlers, state: Any) -> tuple[Handlers, frozenset[str] | None]:
        """Return the handlers of a server, and the names of the only requests in which the patch can show, if any."""
        handlers = correct.copy()
        if self.handlers is not None:
            changed = self.handlers(correct.copy(), state)
            handlers |= {kind: handler for kind, handler in changed.items() if kind in correct}
        touched = frozenset(one.NAME for one in handlers if handlers[one] is not correct[one])
        return handlers, touched if self.is_of_handlers else None

    def patched_profile(self, profile: Profile) -> Profile:
        """Return the profile that the server speaks instead of `profile`; the same object at each call."""
        return profile if self.profile is None else _patched(self, profile)


@cache
def _patched(patch: Patch, profile: Profile) -> Profile:
    assert patch.profile is not None
    return patch.profile(profile)
