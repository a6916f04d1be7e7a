"""A PSRT server: connects state, handlers and sessions; made by `wireproof.reference_server.registry`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import msgspec

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.messages import Request
from wireproof.protocols.psrt import UnfinishedTopicError
from wireproof.protocols.psrt.requests import Datagram, Login
from wireproof.reference_server.patch import Patch
from wireproof.reference_server.psrt.accounts import read_accounts
from wireproof.reference_server.psrt.control_requests import ControlRequests
from wireproof.reference_server.psrt.data_requests import DataRequests
from wireproof.reference_server.psrt.datagram_requests import DatagramRequests, Sender, unfinished
from wireproof.reference_server.psrt.options import OPTIONS
from wireproof.reference_server.psrt.rules import RULES
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import Handlers, RefusedError, State
from wireproof.reference_server.service import Close, Peer, Service, SlowWork, Trace, Write
from wireproof.reference_server.tracing import traced

__all__ = ["PsrtService"]

log = logging.getLogger(__name__)


class PsrtService(Service):
    """One server under one profile."""

    state_class = State
    rules = RULES
    options = OPTIONS

    def __init__(self, state: State, trace: Trace | None = None, patch: Patch | None = None) -> None:
        self.state = state
        self._session: Callable[..., PsrtSession] = patch.session if patch and patch.session else PsrtSession
        correct = _handlers(state)
        handlers, self.touched = (patch or Patch()).patched_handlers(correct, state)
        self.handlers = handlers if trace is None else traced(handlers, trace, name=_name, hidden=_hidden)
        self._names = count(1)

    def connect(self, peer: Peer, write: Write, close: Close) -> PsrtSession:
        """Return the session of a new connection."""
        return self._session(self.state, self.handlers, str(next(self._names)), peer, write, close)

    def datagram(self, peer: Peer, data: bytes) -> bytes | None:
        """Return the answer to one datagram; None if there is none."""
        try:
            request = self._read(data)
        except MalformedFrameError as error:
            log.debug("%s: %s", peer, error)
            return None
        try:
            handler = self.handlers[type(request)]
            answer = handler(request, Sender(peer, len(self._cut(data))), self.state.clock.monotonic_ns())
        except RefusedError as refusal:
            log.debug("%s: %s: %s", peer, request.NAME, refusal)
            return None
        return (answer if isinstance(answer, bytes) else self.state.codec.encode(answer)) or None

    def slow_work(self, data: bytes) -> SlowWork | None:
        """Return the check of the password in a datagram."""
        try:
            request = self._read(data)
        except MalformedFrameError:
            return None
        accounts = self.state.accounts
        check = accounts.slow_check(request.login, request.password) if isinstance(request, Datagram) else None
        return None if check is None else SlowWork(check.run, lambda: accounts.keep(check))

    def forget_slow_work(self) -> None:
        """Check every password again."""
        self.state.accounts = replace(self.state.accounts)

    def _read(self, data: bytes) -> Request:
        try:
            return self.state.codec.decode_datagram(self._cut(data))
        except UnfinishedTopicError as error:
            return unfinished(error)

    def _cut(self, data: bytes) -> bytes:
        return data[: self.state.options["udp_frame_size"]] if self.state.rules.long_datagrams_are_cut else data

    @property
    def can_reload(self) -> bool:
        """Whether the server has account files."""
        return self.state.options["acl"] is not None

    def reload(self) -> None:
        """Read the account files again; log an error and keep the old accounts if they are invalid.

        Clients that are logged in keep their rights.
        """
        try:
            self.state.accounts = read_accounts(self.state.options)
        except ValueError as error:
            log.error("accounts are not reloaded: %s", error)

    def miscounted(self) -> str:
        """See `Service.miscounted`: masks of a client, which are bounded."""
        return self.state.subscriptions.miscounted()

    def close(self) -> None:
        """End every session and drop the state."""
        for session in list(self.state.sessions):
            session.connection_lost()


def _handlers(state: State) -> Handlers:
    return {
        **ControlRequests(state).handlers(),
        **DataRequests(state).handlers(),
        **DatagramRequests(state).handlers(),
    }


def _name(asker: PsrtSession | Sender) -> str:
    return asker.name if isinstance(asker, PsrtSession) else "udp"


def _hidden(request: Request) -> Request:
    is_secret = isinstance(request, Login | Datagram) and request.password
    return msgspec.structs.replace(request, password=b"***") if is_secret else request
