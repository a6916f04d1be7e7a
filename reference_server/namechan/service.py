"""A namechan server: connects state, handlers and sessions; made by `wireproof.reference_server.registry`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from wireproof.reference_server.namechan.handlers import HookHandlers, LineHandlers
from wireproof.reference_server.namechan.hook import HookSession
from wireproof.reference_server.namechan.options import OPTIONS
from wireproof.reference_server.namechan.rules import RULES
from wireproof.reference_server.namechan.session import NamechanSession
from wireproof.reference_server.namechan.state import Handlers, State
from wireproof.reference_server.patch import Patch
from wireproof.reference_server.service import Close, Peer, Service, Session, Trace, Write
from wireproof.reference_server.tracing import traced

__all__ = ["HOOK", "NamechanService"]

HOOK = "hook"
"""The listener of a harness."""


class NamechanService(Service):
    """One server under one profile."""

    state_class = State
    rules = RULES
    options = OPTIONS

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


def _name(session: NamechanSession) -> str:
    return session.name.decode(errors="replace")
