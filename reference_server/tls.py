"""The server's side of TLS, sans-IO: takes what the socket read; returns plaintext and writes TLS records."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["CertificateError", "ServerTls", "TlsError", "reload_certificate", "server_context"]

PIECE = 64 * 1024
"""Plaintext bytes read from the TLS library in one call."""


class CertificateError(Exception):
    """Raised if a certificate or its key cannot be used; the message names the files."""


class TlsError(Exception):
    """Raised if the peer violates TLS; nothing more of this stream can be read."""


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a context for TLS 1.2 and later with this certificate. Raises CertificateError if it cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or str(error)
        raise CertificateError(f"cannot use the certificate {certificate} with the key {key}: {why}") from error
    return context


def reload_certificate(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    """Use what the files hold now for handshakes to come. Raises CertificateError, and changes nothing, if that fails.

    A context of its own tries the pair first: one half of a pair that does not fit would stay in the one in use.
    """
    server_context(certificate, key)
    context.load_cert_chain(certificate, key)


class ServerTls:
    """TLS on one stream; `write` sends bytes to the socket, in order."""

    def __init__(self, context: ssl.SSLContext, write: Callable[[bytes], None]) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._write = write
        self._waiting: list[bytes] = []
        """Plaintext to send once the handshake is done."""
        self.is_established = self.has_ended = False
        """Whether the handshake is done; whether the peer ended its stream (close_notify)."""

    def receive(self, data: bytes) -> bytes:
        """Handle what the socket read, write the records that TLS answers, and return the plaintext.

        Raises TlsError if the peer violates TLS.
        """
        self._incoming.write(data)
        try:
            if not self.is_established:
                self._handshake()
            return self._read()
        except ssl.SSLError as error:
            raise TlsError(error.reason or str(error)) from error
        finally:
            self._flush()

    def send(self, data: bytes) -> None:
        """Send plaintext; during the handshake it is queued."""
        if self.is_established:
            self._tls.write(data)
            self._flush()
        else:
            self._waiting.append(data)

    def close(self) -> None:
        """End our stream inside TLS (close_notify)."""
        if self.is_established:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush()

    def _handshake(self) -> None:
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
