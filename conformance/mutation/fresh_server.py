"""Reference servers loaded anew beside those of the harness, as they are or with one edit of their source.

The process forgets the modules of servers and codecs, loads them again, and puts back those it had: the harness keeps
an unedited codec, and judges with it.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Protocol

import wireproof
from wireproof.conformance.mutation.source_edits import SourceEdit, edited, source_edits
from wireproof.conformance.run import reference_target
from wireproof.conformance.verdict.records import Run
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.registry import SERVICES
from wireproof.reference_server.service import Service, seeded_ids

__all__ = ["CodeEdit", "FreshFactory", "all_edits", "fresh_factory", "source_path"]

CODECS, SERVERS = "wireproof.protocols", "wireproof.reference_server"
"""The packages that are loaded anew: both, or that of the servers alone for an edit there."""
NOT_ANSWERING = frozenset({"model", "patch"})
"""Modules of a server that no answer depends on: its sequential model, the seam for mutants, log lines."""


@dataclass(frozen=True, slots=True)
class CodeEdit:
    """One edit of one module."""

    module: str
    edit: SourceEdit

    @property
    def file(self) -> str:
        """The path of the module in the repository."""
        return f"{self.module.removeprefix('wireproof.').replace('.', '/')}.py"

    def __str__(self) -> str:
        """Return how it is listed."""
        return f"{self.file}:{self.edit}"


def all_edits(packages: Sequence[str]) -> list[CodeEdit]:
    """Return every edit of the modules directly in `packages`."""
    return [
        CodeEdit(name, edit)
        for name in _modules(packages)
        for edit in source_edits(source_path(name).read_text(encoding="utf-8"))
    ]


def source_path(module: str) -> Path:
    """Return the file of a module."""
    file = import_module(module).__file__
    assert file is not None
    return Path(file)


def _modules(packages: Sequence[str]) -> Iterator[str]:
    for name in packages:
        package = import_module(name)
        for one in pkgutil.iter_modules(package.__path__, f"{name}."):
            if not one.ispkg and one.name.rpartition(".")[2] not in NOT_ANSWERING:
                yield one.name


class FreshFactory(Protocol):
    """Makes servers of modules loaded anew, with the folder of what they keep over a restart, if any."""

    def __call__(self, clock: VirtualClock, data: Path | None = None, /) -> Service:
        """Return a server."""


def fresh_factory(run: Run, edit: CodeEdit | None) -> FreshFactory:
    """Load the servers anew, with `edit` where one is given, and return what makes servers for the plays of `run`.

    Raises whatever the edited modules raise while they are loaded or while the first server is made.
    """
    reloaded = (SERVERS,) if edit is not None and _is_in(edit.module, (SERVERS,)) else (CODECS, SERVERS)
    kept = {name: module for name, module in sys.modules.items() if _is_in(name, reloaded)}
    for name in kept:
        del sys.modules[name]
    finder = _Finder(edit)
    sys.meta_path.insert(0, finder)
    try:
        factory = _loaded(run)
        factory(VirtualClock()).close()
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _is_in(name, reloaded)]:
            del sys.modules[name]
        sys.modules.update(kept)
        for name in reloaded:
            setattr(wireproof, name.rpartition(".")[2], kept[name])
    return factory


def _loaded(run: Run) -> FreshFactory:
    """Return a factory that holds the modules themselves: by name, it would get those of the harness later."""
    server = import_module(SERVICES[run.protocol])
    profile = import_module("wireproof.protocols.registry").protocol(run.protocol).profiles[run.profile]
    for message in profile.messages.values():
        _read_layout(profile, message, run.variant)
    limits = import_module("wireproof.reference_server.service").Limits()
    registry = import_module("wireproof.reference_server.registry")
    usual, known = reference_target.options(run.protocol), registry.options_of(run.protocol)

    def factory(clock: object, data: Path | None = None, /) -> Any:
        options = registry.chosen(run.protocol, known, usual | reference_target.kept_in(run.protocol, data))
        same = {"limits": limits, "trace": None, "options": options}
        return server.create(profile, run.variant, clock=clock, ids=seeded_ids(1), **same)

    return factory


def _read_layout(profile: Any, message: Any, variant: str) -> None:
    """Read how a message and its parts are laid out, while names in annotations mean the classes loaded anew."""
    for _, kind in profile.layout(message, profile.variants[variant]).fields:
        part = getattr(kind, "row", None) or getattr(kind, "part", None)
        if part is not None:
            _read_layout(profile, part, variant)


def _is_in(module: str, packages: Iterable[str]) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in packages)


class _FreshLoader(SourceLoader):
    """Loads one module with its edit; nothing of it is cached."""

    def __init__(self, path: str, edit: SourceEdit) -> None:
        self._path, self._edit = path, edit

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: str | bytes) -> bytes:
        return Path(os.fsdecode(path)).read_bytes()

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self._path).decode()
        code: CodeType = compile(edited(source, self._edit), self._path, "exec")
        return code


class _Finder(MetaPathFinder):
    """Finds the edited module before anybody else does."""

    def __init__(self, edit: CodeEdit | None) -> None:
        self._edit = edit

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if self._edit is None or name != self._edit.module:
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _FreshLoader(spec.origin, self._edit.edit)
        return spec
