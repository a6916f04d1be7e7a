"""The file of `--config`: who may do what, how queues deliver, routers with their bindings, nodes to link to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml

from wireproof.reference_server.tmqp.settings import DELIVERIES

__all__ = ["BindingEntry", "Config", "NodeEntry", "RouterEntry", "fresh_config", "read_config"]

Priority = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]
ContentType = Annotated[int, msgspec.Meta(ge=0, le=0xFFFF)]


class BindingEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where a router sends messages."""

    name: str
    kind: Literal["queue", "direct"]
    target: str
    content_type: ContentType = 0
    priority: Priority = 0
    interaction: Literal["none", "acknowledge", "response"] = "none"


class RouterEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A router."""

    method: Literal["distribute", "only-first", "round-robin"]
    bindings: list[BindingEntry] = []
    is_enabled: bool = msgspec.field(default=True, name="enabled")


class NodeEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How a server is linked to others."""

    name: str = ""
    port: Annotated[int, msgspec.Meta(ge=0, le=0xFFFF)] | None = None
    """Where slaves connect; 0: any free port, none: nowhere."""
    masters: list[Annotated[str, msgspec.Meta(pattern=r"^[^ ]+:[0-9]{1,5}$")]] = []
    """Addresses of masters, as host:port."""


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    delivery: str = "after-received"
    admins: list[str] | None = None
    denied: list[str] = []
    tokens: list[str] | None = None
    refused_tokens: list[str] = []
    routers: dict[str, RouterEntry] = {}
    nodes: NodeEntry = NodeEntry()


@dataclass(frozen=True)
class Config:
    """What such a file says."""

    delivery: bytes
    """The key of the delivery of queues whose options name none."""
    admins: frozenset[bytes] | None
    """Types of clients that are administrators; None: all are."""
    denied: frozenset[bytes]
    """Types of clients that are none, whatever `admins` says."""
    tokens: frozenset[bytes] | None
    """Tokens of which a client must have one; None: clients need none."""
    refused_tokens: frozenset[bytes]
    """Tokens with which no client is accepted."""
    routers: Mapping[bytes, RouterEntry]
    nodes: NodeEntry


@cache
def read_config(path: str | None) -> Config:
    """Return what a file says, without one the defaults, cached: simulation makes thousands of servers.

    Raises ValueError for a file that cannot be used.
    """
    return fresh_config(path)


def fresh_config(path: str | None) -> Config:
    """Return what a file says now. Raises ValueError for a file that cannot be used."""
    try:
        node = yaml.safe_load(Path(path).read_text("utf-8")) if path else None
        found = msgspec.convert(node or {}, _File)
    except OSError as error:
        raise ValueError(f"config {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"config {path}: {error}") from None
    if found.delivery.encode() not in DELIVERIES:
        known = ", ".join(key.decode() for key in DELIVERIES)
        raise ValueError(f"config {path}: delivery: expected one of {known}, got {found.delivery!r}")
    for name, router in found.routers.items():
        if len({one.name for one in router.bindings}) < len(router.bindings):
            raise ValueError(f"config {path}: router {name}: two bindings have the same name")
    return Config(
        found.delivery.encode(),
        None if found.admins is None else frozenset(one.encode() for one in found.admins),
        frozenset(one.encode() for one in found.denied),
        None if found.tokens is None else frozenset(one.encode() for one in found.tokens),
        frozenset(one.encode() for one in found.refused_tokens),
        {name.encode(): router for name, router in found.routers.items()},
        found.nodes,
    )
