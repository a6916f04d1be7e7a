"""A namechan server: connects state, handlers and sessions; made by `wireproof.reference_server.registry`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wireproof.protocols.profile import Profile
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.namechan.handlers import HookHandlers, LineHandlers
from wireproof.reference_server.namechan.hook import HookSession
from wireproof.reference_server.namechan.options import OPTIONS
from wireproof.reference_server.namechan.rules import RULES
from wireproof.reference_server.namechan.session import NamechanSession
from wireproof.reference_server.namechan.state import Handlers, State
from wireproof.reference_server.options import chosen
from wireproof.reference_server.patch import Patch
from wireproof.reference_server.service import Close, Ids, Limits, Peer, Service, Session, Trace, Write
from wireproof.reference_server.tracing import traced

__all__ = ["HOOK", "NamechanService", "create"]

HOOK = "hook"
"""The listener of a harness."""


class NamechanService(Service):
    """One server under one profile."""

    def __init__(self, state: State, trace: Trace | None = None, patch: Patch | None = None) -> None:
        self.state = state
        self._session: Callable[..., NamechanSession] = patch.session if patch and patch.session else NamechanSession
        correct: Handlers = {**LineHandlers(state).handlers()}
        at_hook = HookHandlers(state).handlers()
        handlers, self.touched = (patch or Patch()).patched_handlers(correct, state)
        self.handlers = handlers if trace is None else traced(handlers, trace, name=_name)
        self._at_hook = at_hook if trace is None else traced(at_hook, trace, name=_name)

    def connect(self, peer: Peer, write: Write, close: Close) -> Session:
        """Return the session of a new connection."""
        if peer.listener == HOOK:
            return HookSession(self.state, self._at_hook, b"hook", peer, write, close)
        return self._session(self.state, self.handlers, b"?", peer, write, close)

    @property
    def listeners(self) -> Mapping[str, int | Path]:
        """Where a harness connects, if it may."""
        path = self.state.options["publish_command_socket"]
        if path is not None:
            return {HOOK: Path(path)}
        return {HOOK: 0} if self.state.options["hook"] else {}

    def close(self) -> None:
        """End every session, write what is not written, and drop the state."""
        for session in list(self.state.sessions):
            session.connection_lost()
        self.state.close()


def create(
    profile: Profile,
    variant: str,
    *,
    clock: Clock,
    ids: Ids,
    limits: Limits,
    trace: Trace | None,
    patch: Patch | None = None,
    options: Mapping[str, Any] | None = None,
) -> NamechanService:
    """Return a server of `profile`; `patch` replaces parts of it.

    Raises ValueError for bad options, and for a folder that cannot be used.
    """
    options = chosen("namechan", OPTIONS, options or {})
    if patch is None:
        return NamechanService(State(profile, variant, clock, ids, limits, options), trace)
    rules = replace(RULES[profile.name], **patch.rules)
    options |= patch.options
    state = (patch.state or State)(patch.patched_profile(profile), variant, clock, ids, limits, options, rules)
    return NamechanService(state, trace, patch)


def _name(session: NamechanSession) -> str:
    return session.name.decode(errors="replace")
