"""Servers that are linked to each other, compared with others that are not, where a protocol has such links."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from wireproof.fuzz.invariants.invariant_error import InvariantError, server_ended
from wireproof.mutants.registry import server_patch
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.model import LinkedServers
from wireproof.reference_server.registry import create_service, linked_servers_of
from wireproof.reference_server.service import Service, seeded_ids

__all__ = ["check_linked", "described_linked"]


def check_linked(protocol: str, profile: str, variant: str, data: bytes, mutant: str | None = None) -> None:
    """Make the turns that bytes draw on linked servers. Raises `InvariantError`.

    `mutant` names a mutant of those that are linked.
    """
    _play(_made(protocol, profile, variant, mutant), data)


def described_linked(protocol: str, profile: str, variant: str, data: bytes) -> tuple[str, ...]:
    """Return the turns up to the one that breaks something, in words."""
    done: list[str] = []
    try:
        made = _made(protocol, profile, variant, None)
        done = made.done
        _play(made, data)
    except InvariantError as error:
        done.append(f"broken: {error}")
    return tuple(done)


def _play(made: LinkedServers, data: bytes) -> None:
    try:
        found = made.play(data)
    except Exception as error:
        raise server_ended(error) from error
    if found is not None:
        raise InvariantError("linked servers do as one does", found.detail, found.shape, found.clause)


def _made(protocol: str, profile: str, variant: str, mutant: str | None) -> LinkedServers:
    kind, clock = linked_servers_of(protocol), VirtualClock()
    assert kind is not None

    def make(name: str) -> Service:
        return create_service(
            protocol,
            profile=profile,
            variant=variant,
            clock=clock,
            ids=seeded_ids(1),
            patch=server_patch(protocol, mutant) if name != "alone" else None,
            options={"config": Path(_configs(protocol).name, f"{name}.yaml")},
        )

    try:
        return kind(make, clock.advance, profile=profile, variant=variant)
    except Exception as error:
        raise server_ended(error) from error


@cache
def _configs(protocol: str) -> TemporaryDirectory[str]:
    """Return the folder with the files of `--config`, which is removed at the end of the process."""
    kind, folder = linked_servers_of(protocol), TemporaryDirectory(prefix="wireproof-linked-")
    assert kind is not None
    for name, text in kind.configs.items():
        Path(folder.name, f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder
