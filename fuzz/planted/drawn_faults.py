"""Faults drawn by a seed: random edits of our own code, and mutants of reference servers.

The code is divided into parts, and each part gets its turn: one fault a part, drawn evenly from all edits or mutants
of the part, and then again from the beginning. What an edit changes is not looked at before it is planted.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import count
from random import Random

from wireproof.conformance.mutation.edit_score import Explanation
from wireproof.conformance.mutation.fresh_server import CodeEdit, source_path
from wireproof.conformance.mutation.source_edits import SourceEdit, source_edits
from wireproof.mutants.registry import server_mutants
from wireproof.protocols.registry import PACKAGES
from wireproof.reference_server.registry import SERVICES

__all__ = ["PlantedFault", "Slip", "drawn_faults", "parts_of"]

CODEC, SCHEDULER, TRANSPORT = "codec", "scheduler", "transport"
"""The parts that all protocols share."""
CODEC_PACKAGE, SERVER_PACKAGE = "wireproof.protocols", "wireproof.reference_server"
SHARED = {
    CODEC: ("buffer", "codec", "connection", "fields", "frames", "json_bodies", "onepass", "packed", "plain", "runs",
            "states", "tables"),
    SCHEDULER: ("scheduler", "buckets"),
    TRANSPORT: ("streams", "datagrams", "deadline", "tls", "server"),
}  # fmt: skip
"""Part -> its modules, in the package of all codecs or in that of all servers."""
NOT_ANSWERING = frozenset({"masks", "model", "options", "patch"})
"""Modules of a protocol that no answer of a server depends on."""
SESSION = frozenset({"session", "dispatch"})
"""Modules of a server that are its sessions."""


@dataclass(frozen=True, slots=True)
class Slip:
    """A fault that somebody wrote down: a replacement in the text of one file."""

    name: str
    file: str
    """Its path in the repository."""
    old: str
    new: str
    explained: Explanation | None = None
    """Why no engine can find it, if that was read."""


@dataclass(frozen=True, slots=True)
class PlantedFault:
    """One fault: an edit of one module, a mutant of a server, or a slip that somebody wrote down."""

    part: str
    protocol: str
    """The protocol whose code it is in; "" for code that all share."""
    edit: CodeEdit | None = None
    mutant: str = ""
    description: str = ""
    """What a mutant or a listed fault does; "" for an edit."""
    slip: Slip | None = None

    @property
    def name(self) -> str:
        """What it is called: the name of a listed one or of a mutant, the text of an edit."""
        return self.slip.name if self.slip is not None else self.mutant or str(self.edit)

    def __str__(self) -> str:
        """Return how it is listed."""
        if self.slip is not None:
            return f"{self.slip.name}: {self.description}"
        return str(self.edit) if self.edit is not None else f"mutant {self.mutant}: {self.description}"


def parts_of(protocols: Sequence[str]) -> Mapping[str, Callable[[], list[PlantedFault]]]:
    """Return part -> what lists every fault of it, for the shared code and the code of some protocols."""
    found: dict[str, Callable[[], list[PlantedFault]]] = {}
    for part, modules in SHARED.items():
        package = CODEC_PACKAGE if part == CODEC else SERVER_PACKAGE
        found[part] = _lister(part, "", [f"{package}.{one}" for one in modules])
    for name in protocols:
        server = [*_modules(SERVICES[name])]
        sessions = [one for one in server if one.rpartition(".")[2] in SESSION]
        found[f"{name} {CODEC}"] = _lister(f"{name} {CODEC}", name, [*_modules(PACKAGES[name])])
        found[f"{name} session"] = _lister(f"{name} session", name, sessions)
        found[f"{name} server"] = _lister(f"{name} server", name, [one for one in server if one not in sessions])
        found[f"{name} mutants"] = _mutant_lister(f"{name} mutants", name)
    return found


def drawn_faults(protocols: Sequence[str], seed: int) -> Iterator[PlantedFault]:
    """Yield faults, each once, the same ones in the same order for the same seed."""
    queues = []
    for part, faults in parts_of(protocols).items():
        some = faults()
        Random(f"{part} {seed}").shuffle(some)
        queues.append(some)
    Random(f"parts {seed}").shuffle(queues)
    for turn in count():
        there = [queue for queue in queues if turn < len(queue)]
        if not there:
            return
        yield from (queue[turn] for queue in there)


def _modules(package: str) -> Iterator[str]:
    """Yield the modules directly in a package that answers depend on, sorted by name."""
    for one in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        if not one.ispkg and one.name.rpartition(".")[2] not in NOT_ANSWERING:
            yield one.name


@cache
def _edits(module: str) -> list[SourceEdit]:
    return source_edits(source_path(module).read_text(encoding="utf-8"))


def _lister(part: str, protocol: str, modules: Sequence[str]) -> Callable[[], list[PlantedFault]]:
    def faults() -> list[PlantedFault]:
        return [PlantedFault(part, protocol, CodeEdit(module, edit)) for module in modules for edit in _edits(module)]

    return faults


def _mutant_lister(part: str, protocol: str) -> Callable[[], list[PlantedFault]]:
    def faults() -> list[PlantedFault]:
        known = server_mutants(protocol).values()
        return [
            PlantedFault(part, protocol, mutant=one.name, description=one.description)
            for one in known
            if not one.is_legal and not one.live
        ]

    return faults
