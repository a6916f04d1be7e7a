"""The server's side of TLS, sans-IO: what the socket read goes in, what it must write and the plaintext come out."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["CertificateError", "ServerTls", "TlsError", "server_context"]

PIECE = 64 * 1024
"""Plaintext bytes taken from the TLS library at a time."""


class CertificateError(Exception):
    """Raised when a certificate or its key cannot be used; the message names the files."""


class TlsError(Exception):
    """Raised when the peer does not speak TLS as it must: nothing more of this stream can be read."""


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return what servers with this certificate speak: TLS 1.2 and later. Raises `CertificateError`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or str(error)
        raise CertificateError(f"cannot use the certificate {certificate} with the key {key}: {why}") from error
    return context


class ServerTls:
    """One stream's TLS; `write` gives bytes to the socket, in order."""

    def __init__(self, context: ssl.SSLContext, write: Callable[[bytes], None]) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._write = write
        self._waiting: list[bytes] = []
        """Plaintext given before the handshake was done."""
        self.is_established = self.has_ended = False
        """Whether the handshake is done; whether the peer said that it sends no more (close_notify)."""

    def receive(self, data: bytes) -> bytes:
        """Take what the socket read, write what TLS answers; return the plaintext. Raises `TlsError`."""
        self._incoming.write(data)
        try:
            if not self.is_established:
                self._shake_hands()
            return self._read()
        except ssl.SSLError as error:
            raise TlsError(error.reason or str(error)) from error
        finally:
            self._flush()

    def send(self, data: bytes) -> None:
        """Write plaintext; what is given during the handshake goes out once that is done."""
        if self.is_established:
            self._tls.write(data)
            self._flush()
        else:
            self._waiting.append(data)

    def close(self) -> None:
        """Tell the peer that nothing more comes (close_notify)."""
        if self.is_established:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush()

    def _shake_hands(self) -> None:
        with suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
            self.is_established = True
            for data in self._waiting:
                self._tls.write(data)
            self._waiting.clear()

    def _read(self) -> bytes:
        pieces: list[bytes] = []
        while self.is_established:
            try:
                piece = self._tls.read(PIECE)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                piece = b""
            if not piece:
                self.has_ended = True
                break
            pieces.append(piece)
        return b"".join(pieces)

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._write(self._outgoing.read())
