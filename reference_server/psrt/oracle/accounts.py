"""Accounts in the model: read from the same files as the server's, by other code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from wireproof.reference_server.psrt.oracle.topics import fits, grants, plain

__all__ = ["AccountBook", "GrantedRights", "account_book"]

EVERYTHING: Mapping[str, Any] = {"sub": ["#"], "pub": ["#"], "replicator": True}
MOST_PASSWORD = 72
"""Bytes of a password that its hash depends on."""


@dataclass(frozen=True, slots=True)
class GrantedRights:
    """What one login may do."""

    sub: tuple[tuple[str, ...], ...]
    pub: tuple[tuple[str, ...], ...]
    replicates: bool

    @staticmethod
    def of(entry: Mapping[str, Any]) -> GrantedRights:
        """Return the rights of an entry of the ACL."""
        return GrantedRights(_masks(entry.get("sub", ())), _masks(entry.get("pub", ())), bool(entry.get("replicator")))

    def may_subscribe(self, mask: str) -> bool:
        """Return whether one granted mask covers a normalised one."""
        return any(grants(one, mask.split("/")) for one in self.sub)

    def may_publish(self, topic: str) -> bool:
        """Return whether a granted mask matches a normalised topic."""
        return any(fits(one, topic.split("/")) for one in self.pub)


def _masks(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(plain(str(text)).split("/")) for text in texts)


@dataclass(frozen=True)
class AccountBook:
    """Who may log in."""

    hashes: Mapping[str, bytes] = field(default_factory=dict)
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"_": EVERYTHING})
    keys: Mapping[str, bytes] = field(default_factory=dict)
    anonymous: bool = True
    _checked: dict[tuple[str, bytes], bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    def rights(self, login: bytes, password: bytes) -> GrantedRights | None:
        """Return the rights of a login; None for one that is refused, also for bytes that are not UTF-8."""
        try:
            name = login.decode()
            password.decode()
        except UnicodeDecodeError:
            return None
        if not name:
            return None if password or not self.anonymous else self.of("_")
        return self.of(name) if self._is_right(name, password) else None

    def of(self, name: str) -> GrantedRights | None:
        """Return the rights of an entry; None without one."""
        return GrantedRights.of(self.entries[name]) if name in self.entries else None

    def _is_right(self, name: str, password: bytes) -> bool:
        if name not in self.hashes or 0 in password:
            return False
        if (name, password) not in self._checked:
            import bcrypt

            self._checked[name, password] = bcrypt.checkpw(password[:MOST_PASSWORD], self.hashes[name])
        return self._checked[name, password]


def account_book(options: Mapping[str, Any]) -> AccountBook:
    """Return the accounts of a server with these options. Raises `OSError` for files that cannot be read."""
    files = tuple(None if options.get(name) is None else str(options[name]) for name in ("users", "acl", "keys"))
    return _read(files, bool(options.get("anonymous", True)))


@cache
def _read(files: tuple[str | None, ...], anonymous: bool) -> AccountBook:
    users, acl, keys = files
    if users is None and acl is None and keys is None:
        return AccountBook(anonymous=anonymous)
    import yaml

    lines = Path(users).read_text(encoding="utf-8").split("\n") if users else []
    pairs = [line.split(":", 1) for line in lines if ":" in line and not line.startswith("#")]
    rights = yaml.safe_load(Path(acl).read_text(encoding="utf-8")) if acl else {}
    known = yaml.safe_load(Path(keys).read_text(encoding="utf-8")) if keys else {}
    return AccountBook(
        {name: hashed.strip().encode() for name, hashed in pairs},
        {str(name): entry or {} for name, entry in rights.items()},
        {str(name): bytes.fromhex(key) for name, key in known.items()},
        anonymous,
    )
