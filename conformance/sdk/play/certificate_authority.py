"""Who signs the certificate that an SDK is shown inside TLS: made anew for each run, kept in files meanwhile."""

from __future__ import annotations

import atexit
import ssl
import tempfile
from functools import cache, cached_property
from pathlib import Path

from wireproof.reference_server.certificates import self_signed
from wireproof.reference_server.tls import server_context

__all__ = ["Authority"]


class Authority:
    """A certificate for the loopback, signed by itself; an SDK that trusts it takes nothing else."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="wireproof-")
        folder = Path(self._folder.name)
        self.path, self._key = self_signed(folder)

    @staticmethod
    @cache
    def get(name: str) -> Authority:
        """Return the one of that name, the same one throughout a run; its files are gone when this process ends."""
        made = Authority()
        atexit.register(made.close)
        return made

    def close(self) -> None:
        """Remove its files."""
        self._folder.cleanup()

    @cached_property
    def context(self) -> ssl.SSLContext:
        """What a server with this certificate speaks."""
        return server_context(self.path, self._key)
