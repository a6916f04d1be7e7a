"""Parses the account files; every error names the file, the line, what was expected and what was found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import yaml

from wireproof.reference_server.psrt.rights import Rights, masks

__all__ = ["acl_of", "keys_of", "read_text", "users_of"]

_HASH = re.compile(r"\$2[abxy]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}")
_KEY = re.compile("[0-9a-fA-F]{64}")
_SHOWN = 40


def read_text(path: Path) -> str:
    """Return the text of a file. Raises ValueError if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected UTF-8, got byte {error.object[error.start]:02x} at {error.start}") from None


def users_of(path: Path, content: str) -> dict[str, bytes]:
    """Return login -> bcrypt hash, from lines of `htpasswd -B`. Raises ValueError for other lines."""
    users: dict[str, bytes] = {}
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        login, _, hashed = line.strip().partition(":")
        if not login or not _HASH.fullmatch(hashed):
            _wrong(path, number, "login:hash as `htpasswd -B` writes it", f"{login}:{'...' if hashed else ''}")
        if login in users:
            _wrong(path, number, "each login once", f"{login!r} again")
        users[login] = hashed.encode()
    return users


def acl_of(path: Path, content: str) -> dict[str, Rights]:
    """Return login -> rights. Raises ValueError if the content is not valid."""
    return {login: _rights(path, login, node) for login, node in _entries(path, _root(path, content), "logins")}


def keys_of(path: Path, content: str) -> dict[str, bytes]:
    """Return login -> key of 32 bytes. Raises ValueError if the content is not valid."""
    keys: dict[str, bytes] = {}
    for login, node in _entries(path, _root(path, content), "logins"):
        if not isinstance(node, yaml.ScalarNode) or not _KEY.fullmatch(node.value):
            got = f"{len(node.value)} characters" if isinstance(node, yaml.ScalarNode) else _kind_of(node)
            _wrong(path, _line(node), f"{login}: 64 hexadecimal digits", got)
        keys[login] = bytes.fromhex(node.value)
    return keys


def _rights(path: Path, login: str, node: yaml.Node) -> Rights:
    given: dict[str, Any] = {}
    for name, value in _entries(path, node, f"{login}: a mapping of rights"):
        if name in ("sub", "pub"):
            given[name] = masks(_list(path, f"{login}.{name}", value))
        elif name in ("admin", "replicator"):
            given[name] = _switch(path, f"{login}.{name}", value)
        else:
            _wrong(path, _line(value), f"{login}: sub, pub, admin or replicator", repr(name))
    return Rights(**given)


def _list(path: Path, place: str, node: yaml.Node) -> list[str]:
    if not isinstance(node, yaml.SequenceNode):
        _wrong(path, _line(node), f"{place}: a list of masks", _kind_of(node))
    for one in node.value:
        if not isinstance(one, yaml.ScalarNode):
            _wrong(path, _line(one), f"{place}: a list of masks", f"{_kind_of(one)} in it")
    return [one.value for one in node.value]


def _switch(path: Path, place: str, node: yaml.Node) -> bool:
    if not isinstance(node, yaml.ScalarNode) or node.value not in ("true", "false"):
        _wrong(path, _line(node), f"{place}: true or false", _kind_of(node))
    return bool(node.value == "true")


def _root(path: Path, content: str) -> yaml.Node:
    try:
        node = yaml.compose(content, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error).splitlines()[0]
        _wrong(path, mark.line + 1 if mark is not None else 1, "YAML", why)
    if node is None:
        _wrong(path, 1, "a mapping of logins", "nothing")
    return node


def _entries(path: Path, node: yaml.Node, what: str) -> Iterator[tuple[str, yaml.Node]]:
    """Yield the keys, as text, and values of a mapping; each key may occur once."""
    if not isinstance(node, yaml.MappingNode):
        _wrong(path, _line(node), what if ":" in what else f"a mapping of {what}", _kind_of(node))
    seen = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            _wrong(path, _line(key), "a name", _kind_of(key))
        if key.value in seen:
            _wrong(path, _line(key), "each name once", f"{key.value!r} again")
        seen.add(key.value)
        yield key.value, value


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _kind_of(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return repr(node.value[:_SHOWN])
    return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"


def _wrong(path: Path, line: int, expected: str, got: str) -> NoReturn:
    raise ValueError(f"{path}:{line}: expected {expected}, got {got}")
