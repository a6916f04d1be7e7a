"""Who may log in, and with which rights: the files `users`, `acl` and `keys`.

`_` stands for the client without a name. A login without an entry in the ACL cannot log in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from wireproof.reference_server.psrt.account_files import acl_of, keys_of, read_text, users_of
from wireproof.reference_server.psrt.rights import ALL, Rights

__all__ = ["Accounts", "PasswordCheck", "read_accounts"]

NOBODY = "_"
Content = tuple[Path, str]
"""A file and its text."""
MOST_PASSWORD = 72
"""Bytes of a password that bcrypt uses."""
MOST_WRONG = 64
"""Wrong passwords that are remembered, the latest ones."""


@dataclass
class PasswordCheck:
    """Whether a password is the one of a hash: what takes long, and may be done in a thread."""

    login: str
    password: bytes
    stored: bytes
    digest: bytes
    is_right: bool = False

    def run(self) -> None:
        """Find out."""
        import bcrypt

        self.is_right = bcrypt.checkpw(self.password[:MOST_PASSWORD], self.stored)


@dataclass(frozen=True)
class Accounts:
    """The content of the files; immutable, a reload makes another one."""

    anonymous: bool = True
    """Whether a client may log in without a name."""
    users: Mapping[str, bytes] = field(default_factory=dict)
    """Login -> bcrypt hash of the password."""
    acl: Mapping[str, Rights] = field(default_factory=lambda: {NOBODY: ALL})
    keys: Mapping[str, bytes] = field(default_factory=dict)
    """Login -> 32 bytes."""
    _right: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Login -> keyed digest of the last correct password, a cache because bcrypt is slow on purpose."""
    _wrong: dict[bytes, None] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Keyed digests of the latest wrong passwords."""
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), init=False, repr=False, compare=False)

    def login(self, login: str, password: str) -> Rights | None:
        """Return the rights of a login with this password; None if login or password is wrong."""
        if login:
            return self.acl.get(login) if self._is_right(login, password.encode()) else None
        return self.acl.get(NOBODY) if self.anonymous and not password else None

    def sealed_by(self, login: str) -> tuple[bytes, Rights] | None:
        """Return the key and the rights of a login for encrypted datagrams; those of `_` for an empty login."""
        key, rights = self.keys.get(login or NOBODY), self.acl.get(login or NOBODY)
        return None if key is None or rights is None else (key, rights)

    def slow_check(self, login: bytes, password: bytes) -> PasswordCheck | None:
        """Return the check that `login` would take long for; None where it answers at once."""
        name = login.decode(errors="replace")
        stored = self.users.get(name)
        if stored is None or b"\0" in password:
            return None
        digest = hmac.digest(self._secret, stored + password, hashlib.sha256)
        if self._right.get(name) == digest or digest in self._wrong:
            return None
        return PasswordCheck(name, password, stored, digest)

    def keep(self, check: PasswordCheck) -> None:
        """Remember what a check has found."""
        if check.is_right:
            self._right[check.login] = check.digest
            return
        self._wrong[check.digest] = None
        if len(self._wrong) > MOST_WRONG:
            del self._wrong[next(iter(self._wrong))]

    def _is_right(self, login: str, password: bytes) -> bool:
        check = self.slow_check(login.encode(), password)
        if check is not None:
            check.run()
            self.keep(check)
        stored = self.users.get(login)
        if stored is None or b"\0" in password:
            return False
        return self._right.get(login) == hmac.digest(self._secret, stored + password, hashlib.sha256)


def read_accounts(options: Mapping[str, Any]) -> Accounts:
    """Return the accounts of the files that `options` name; without any file, everybody may do everything.

    Raises ValueError, with file and line, if a file is missing or not valid.
    """
    users, acl, keys = (_content(options[name]) for name in ("users", "acl", "keys"))
    if users is None and acl is None and keys is None:
        return Accounts(options["anonymous"])
    if acl is None:
        raise ValueError("option acl: expected a file beside users and keys: without it nobody has rights")
    return _accounts(options["anonymous"], users, acl, keys)


def _content(path: Path | str | None) -> Content | None:
    return None if path is None else (Path(path), read_text(Path(path)))


@lru_cache(maxsize=8)
def _accounts(anonymous: bool, users: Content | None, acl: Content, keys: Content | None) -> Accounts:
    """Return the accounts of these contents, cached: simulation makes thousands of servers."""
    return Accounts(
        anonymous,
        {} if users is None else users_of(*users),
        acl_of(*acl),
        {} if keys is None else keys_of(*keys),
    )
