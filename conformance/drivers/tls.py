"""The client's side of TLS, sans-IO: what the socket read goes in, plaintext and what it must write come out."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

PIECE = 64 * 1024
"""Plaintext bytes taken from the TLS library at a time."""


class TlsError(Exception):
    """Raised when the peer does not speak TLS as it must; the message is the library's reason."""


def client_context(authority: Path | None = None) -> ssl.SSLContext:
    """Return what we speak; a certificate is verified where there is an authority, never its name of the host.

    The protocol is tested, not who answers. Raises `OSError` for a file that is no certificate of an authority.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if authority is not None:
        context.load_verify_locations(authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class ClientTls:
    """One stream's TLS; after every call `outgoing` gives what the socket must write."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host or None)
        self.is_established = self.has_ended = False
        """Whether the handshake is done; whether the peer declared that it sends no more (close_notify)."""
        self._shake_hands()

    def outgoing(self) -> bytes:
        """Return what the socket must write now."""
        return self._outgoing.read()

    def receive(self, data: bytes) -> bytes:
        """Take what the socket read; return the plaintext. Raises `TlsError`."""
        self._incoming.write(data)
        try:
            if not self.is_established:
                self._shake_hands()
            return self._read() if self.is_established else b""
        except ssl.SSLError as error:
            raise TlsError(_reason(error)) from error

    def send(self, data: bytes) -> None:
        """Take plaintext."""
        if data:
            self._tls.write(data)

    def end(self) -> None:
        """Tell the peer that nothing more comes (close_notify); it may still send."""
        if self.is_established:
            with suppress(ssl.SSLError):
                self._tls.unwrap()

    def _shake_hands(self) -> None:
        with suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
            self.is_established = True

    def _read(self) -> bytes:
        pieces: list[bytes] = []
        while not self.has_ended:
            try:
                piece = self._tls.read(PIECE)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                piece = b""
            self.has_ended = not piece
            pieces.append(piece)
        return b"".join(pieces)


def _reason(error: ssl.SSLError) -> str:
    why = getattr(error, "verify_message", "")
    return f"{error.reason or error}: {why}" if why else str(error.reason or error)
