"""The accounts that the facts were measured with (section 7), as files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import bcrypt

PASSWORD = b"secret"
KEYS = {"user1": bytes(range(0x20)), "_": bytes(range(0x20, 0x40)), "lim": bytes(range(0x40, 0x60))}
ACL = """
_:
  sub: ["#"]
  pub: ["#"]
user1:
  sub: ["#"]
  pub: ["#"]
lim:
  sub: [a/+, "b/#", "m/#/z"]
  pub: [a/+, "b/#"]
none:
  admin: true
repl:
  replicator: true
"""


SALT = b"$2b$04$abcdefghijklmnopqrstuu"
"""Always the same, so that what tests are called is, too."""


@cache
def hashed(password: bytes = PASSWORD) -> str:
    return bcrypt.hashpw(password, SALT).decode()


def write(folder: Path) -> dict[str, Any]:
    """The options of a server with these accounts."""
    users = [f"{login}:{hashed()}" for login in ("user1", "lim", "none", "repl", "noacl")]
    (folder / "users").write_text("\n".join(["# made for tests", "", *users, ""]))
    (folder / "acl").write_text(ACL)
    keys = {**KEYS, "ghost": bytes(32)}
    (folder / "keys").write_text("".join(f"{login}: {key.hex()}\n" for login, key in keys.items()))
    return {name: folder / name for name in ("users", "acl", "keys")}
