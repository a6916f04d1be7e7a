"""Greeting and login on a UNIX socket have no meaning: a client that can open it has all rights (facts 1.11)."""

from __future__ import annotations

from wireproof.protocols.psrt.enums import CONTROL_HEADER, LONGEST_LOGIN

__all__ = ["LocalOpening"]

GREETING, LENGTH = 3, 4


class LocalOpening:
    """Translates greeting and login to the plain mode and a login without name and password."""

    def __init__(self) -> None:
        self._kept = b""
        self._is_over = self._is_greeted = False

    def translated(self, data: bytes) -> bytes:
        """Return the bytes to decode instead of `data`."""
        if self._is_over:
            return data
        self._kept += data
        return self._greeting() + self._login()

    def _greeting(self) -> bytes:
        if self._is_greeted or len(self._kept) < GREETING:
            return b""
        header, self._kept = self._kept[: GREETING - 1], self._kept[GREETING:]
        self._is_greeted = True
        self._is_over = header != CONTROL_HEADER
        return header + b"\0" + (self._rest() if self._is_over else b"")

    def _login(self) -> bytes:
        if self._is_over or not self._is_greeted or len(self._kept) < LENGTH:
            return b""
        size = int.from_bytes(self._kept[:LENGTH], "little")
        if size > LONGEST_LOGIN:
            self._is_over = True
            return self._rest()
        if len(self._kept) < LENGTH + size:
            return b""
        self._is_over = True
        self._kept = self._kept[LENGTH + size :]
        return b"\x01\0\0\0\0" + self._rest()

    def _rest(self) -> bytes:
        rest, self._kept = self._kept, b""
        return rest
