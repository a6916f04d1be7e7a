"""Automatic mutants of the reference server and its codec, each tried in a process of its own until a case kills it.

The process forgets the modules of the servers and the codecs, loads them anew with one wrong edit, and plays the tapes;
the harness keeps the codec it had, so it judges with a right one.
"""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import random
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import wireproof
from wireproof.conformance.drivers.simulation import ServiceFactory, Simulation
from wireproof.conformance.mutation.mutant_result import RED, Ground
from wireproof.conformance.mutation.recording import play
from wireproof.conformance.mutation.source_edits import Mutation, mutated, mutations
from wireproof.conformance.run import reference_target
from wireproof.conformance.verdict.records import weigh
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.service import seeded_ids

__all__ = ["Fate", "Mutant", "Tried", "sample", "try_mutants"]

FORGOTTEN = ("wireproof.protocols", "wireproof.reference_server")
"""Packages that are loaded anew with the mutant among them."""
LONGEST = 30
"""Seconds after which a mutant counts as one that hangs."""
NOT_THE_SERVER = frozenset({"model", "patch", "tracing", "states", "connection"})
"""Modules of a protocol that its server does not answer with."""


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    HANGS = "hangs"
    STILLBORN = "stillborn"
    """It cannot even be loaded."""
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong edit in one module."""

    module: str
    mutation: Mutation

    def __str__(self) -> str:
        """As it is listed."""
        return f"{self.module.removeprefix('wireproof.').replace('.', '/')}.py:{self.mutation}"


@dataclass(frozen=True, slots=True)
class Tried:
    """A mutant and what became of it."""

    mutant: Mutant
    fate: Fate
    case: str = ""
    """The first case that killed it."""


def sample(packages: Sequence[str], number: int, seed: int) -> list[Mutant]:
    """Return `number` mutants of the modules of `packages`, the same ones for the same seed."""
    everything = [Mutant(name, one) for name in _modules(packages) for one in mutations(_source(name))]
    return random.Random(seed).sample(everything, min(number, len(everything)))


def try_mutants(
    ground: Ground, mutants: Sequence[Mutant], *, jobs: int = 0, report: Callable[[Tried], None] | None = None
) -> list[Tried]:
    """Return what became of each mutant, in their order; `jobs` 0 is one a core."""
    global _ground
    _ground = ground
    assert ground.tapes is not None
    found = []
    with multiprocessing.get_context("fork").Pool(jobs or os.cpu_count() or 1, maxtasksperchild=1) as pool:
        for tried in pool.imap(_try, mutants):
            found.append(tried)
            if report is not None:
                report(tried)
        pool.close()
        pool.join()
    return found


_ground: Ground


def _modules(packages: Sequence[str]) -> Iterator[str]:
    for name in packages:
        package = import_module(name)
        for one in pkgutil.iter_modules(package.__path__, f"{name}."):
            if not one.ispkg and one.name.rpartition(".")[2] not in NOT_THE_SERVER:
                yield one.name


def _source(module: str) -> str:
    file = import_module(module).__file__
    assert file is not None
    return Path(file).read_text(encoding="utf-8")


class _Loader(SourceLoader):
    """Loads one module with its edit; nothing of it is cached."""

    def __init__(self, path: str, mutant: Mutant) -> None:
        self._path, self._mutant = path, mutant

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: str | bytes) -> bytes:
        return Path(os.fsdecode(path)).read_bytes()

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self._path).decode()
        code: CodeType = compile(mutated(source, self._mutant.mutation), self._path, "exec")
        return code


class _Finder(MetaPathFinder):
    """Finds the mutated module before anybody else does."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._mutant.module:
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(spec.origin, self._mutant)
        return spec


class _TooLongError(BaseException):
    """Raised in a mutant that never comes to an end."""


def _expire(number: int, frame: object) -> None:
    raise _TooLongError


def _try(mutant: Mutant) -> Tried:
    signal.signal(signal.SIGALRM, _expire)
    signal.alarm(LONGEST)
    try:
        try:
            factory = _factory(mutant)
        except Exception:
            return Tried(mutant, Fate.STILLBORN)
        case = _killer(factory)
        return Tried(mutant, Fate.KILLED, case) if case else Tried(mutant, Fate.SURVIVED)
    except _TooLongError:
        return Tried(mutant, Fate.HANGS)
    finally:
        signal.alarm(0)


def _factory(mutant: Mutant) -> ServiceFactory:
    """Load the servers and codecs anew with the mutant among them; the harness keeps those it had."""
    kept = {name: module for name, module in sys.modules.items() if _is_forgotten(name)}
    for name in kept:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(mutant))
    run = _ground.plan.run
    server = import_module(import_module("wireproof.reference_server.registry").SERVICES[run.protocol])
    profile = import_module("wireproof.protocols.registry").protocol(run.protocol).profiles[run.profile]
    limits = import_module("wireproof.reference_server.service").Limits()

    def factory(clock: object) -> Any:
        same = {"limits": limits, "trace": None, "options": reference_target.options(run.protocol)}
        return server.create(profile, run.variant, clock=clock, ids=seeded_ids(1), **same)

    factory(VirtualClock()).close()
    for name in [name for name in sys.modules if _is_forgotten(name)]:
        del sys.modules[name]
    sys.modules.update(kept)
    for name in FORGOTTEN:
        setattr(wireproof, name.rpartition(".")[2], kept[name])
    return factory


def _is_forgotten(module: str) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in FORGOTTEN)


def _killer(factory: ServiceFactory) -> str:
    """Return the first case that the server does not pass; empty when it passes all."""
    for case, tape in _ground.tapes:
        try:
            if tape.agrees(factory):
                continue
            outcome = play(_ground.plan.player(case), Simulation(factory).perform)
        except Exception:
            return case.id
        if weigh(outcome, _ground.levels[case.id]) in RED:
            return case.id
    return ""
