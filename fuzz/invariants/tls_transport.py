"""A stream transport of the reference server whose session switches to TLS, with a real TLS client as its peer.

What must hold is what holds in clear (`transport_invariants.py`): the peer gets inside TLS what a session writes that
is given all at once, however the records come and are taken, also when the first come with the request for TLS.
What waits for the handshake is sent behind it, nothing twice; an end inside TLS, on the socket, or both is one end.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection
from contextlib import suppress
from functools import cache, lru_cache

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.transport_invariants import TransportCheck, TransportCheckOptions, session_output

__all__ = ["INSIDE", "OUTSIDE", "TlsTransportCheck", "can_speak_tls"]

CIPHERS = "AECDH-AES128-SHA:@SECLEVEL=0"
"""Ciphers that need no certificate, as nothing here leaves the process."""
INSIDE, OUTSIDE = "inside", "outside"
"""Where a stream ends: inside TLS (close_notify), and on the socket."""
SHORTEST_RECORD = 5
FIRST_RECORD = b"\x16\x03\x01"


@cache
def _context(side: int) -> ssl.SSLContext:
    made = ssl.SSLContext(side)
    if side == ssl.PROTOCOL_TLS_CLIENT:
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.set_ciphers(CIPHERS)
    return made


def can_speak_tls() -> bool:
    """Return whether the TLS library has ciphers that need no certificate."""
    try:
        _server_context()
    except ssl.SSLError:
        return False
    return True


@cache
def _server_context() -> ssl.SSLContext:
    return _context(ssl.PROTOCOL_TLS_SERVER)


@lru_cache(maxsize=4096)
def _expected(options: TransportCheckOptions, opening: bytes, piece: int) -> bytes:
    """Return what a session writes that gets the opening, switches to TLS, and then gets the bytes in pieces."""
    sent = options.sent
    pieces = [opening or FIRST_RECORD, *(sent[at : at + piece] for at in range(0, len(sent), piece))]
    return session_output(options, pieces, secure=lambda first: None)


class TlsTransportCheck(TransportCheck):
    """One connection that goes on inside TLS; see `TransportCheck`."""

    may_write_paused = True
    """Records of TLS itself, such as its end, are written whatever the peer takes."""

    def __init__(self, options: TransportCheckOptions, opening: bytes, ends: Collection[str]) -> None:
        """`opening` is what the client sends in clear before TLS; `ends`: where it ends its stream, INSIDE, OUTSIDE."""
        super().__init__(options)
        self._opening, self._ends = opening, ends
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = _context(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(self._incoming, self._outgoing)
        self._is_established = self._has_said_bye = False
        self._inside = options.sent
        self._got = bytearray()
        with suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
        self.rest = opening + self._outgoing.read()

    def _tls_of_server(self) -> ssl.SSLContext | None:
        return _server_context()

    def arrive(self, size: int) -> None:
        """Let bytes come if the transport reads, and let it do what it put off."""
        super().arrive(size)
        self._loop.advance(0)
        self._settle()

    def arrive_at_session(self, size: int) -> None:
        """Let bytes come: those inside TLS come to a session through its transport only."""
        self.arrive(size)

    def drain(self, size: int) -> None:
        """Let the peer take bytes, and answer what TLS asks for. Raises `InvariantError` for what is no TLS."""
        before = len(self._socket.taken)
        super().drain(size)
        self._take(bytes(self._socket.taken[before:]))

    def end(self) -> None:
        """End the peer's side, where all it sent has come and is read."""
        if not self._is_established or self._inside:
            return
        if INSIDE in self._ends and not self._has_said_bye and not self.rest:
            self._has_said_bye = True
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self.rest += self._outgoing.read()
        elif OUTSIDE in self._ends:
            super().end()

    def _take(self, data: bytes) -> None:
        try:
            self._incoming.write(data)
            if not self._is_established:
                with suppress(ssl.SSLWantReadError):
                    self._tls.do_handshake()
                    self._is_established = True
            while self._is_established and self._inside:
                written = self._tls.write(self._inside[: max(self.options.high_water, SHORTEST_RECORD)])
                self._inside = self._inside[written:]
            self._read()
        except ssl.SSLError as error:
            detail = f"after {len(self._got)} bytes inside: {error.reason or error}"
            raise InvariantError("what the peer takes is TLS", detail, "tls") from error
        self.rest += self._outgoing.read()

    def _read(self) -> None:
        while self._is_established:
            try:
                piece = self._tls.read(1 << 16)
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
                return
            if not piece:
                return
            self._got += piece

    def _due_before_the_end(self) -> int:
        """Return 0: what is taken there are records."""
        return 0

    def _compared(self) -> tuple[bytes, bytes, bytes]:
        whole, single = (_expected(self.options, self._opening, piece) for piece in (1 << 20, 1))
        return bytes(self._got), whole, single
