"""A copy of this project in which one fault is planted: every process that is started there has it."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import wireproof
import wireproof.fuzz
from wireproof.conformance.mutation.source_edits import edited
from wireproof.fuzz.planted.drawn_faults import PlantedFault
from wireproof.fuzz.planted.listed_faults import replaced

__all__ = ["Workbench"]

PACKAGES = (
    "conformance", "fuzz", "mutants", "protocols", "reference_client", "reference_server", "wireproof",
)  # fmt: skip
DATA = ("reports", "vectors")
REGISTRY = Path("reference_server", "registry.py")
SERVED_MUTANT = '''

_correct_service = create_service


def create_service(protocol: str, **given: Any) -> Service:
    """Serve the mutant that is planted here."""
    from wireproof.mutants.registry import server_patch

    if protocol == {protocol!r} and given.get("patch") is None:
        given["patch"] = server_patch(protocol, {mutant!r})
    return _correct_service(protocol, **given)
'''
STARTS = """
import sys
from wireproof.fuzz.commands.group import COMMANDS
from wireproof.protocols import protocol
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.registry import create_service
for name in sys.argv[1:]:
    spoken = protocol(name)
    made = {"profile": spoken.default_profile, "variant": spoken.default_variant}
    create_service(name, clock=VirtualClock(), **made).close()
"""
STARTING_S = 60.0
"""Seconds that a server may take to be made; a fault that needs longer makes none."""


class Workbench:
    """The copy, in `folder`. Data is linked, so nothing may be written there."""

    def __init__(self, folder: Path) -> None:
        """Copy the packages. Raises `OSError`."""
        root = Path(wireproof.fuzz.__file__).resolve().parents[1]
        is_installed = root == Path(wireproof.__file__).resolve().parent
        self.folder = folder
        self._home = folder / "wireproof" if is_installed else folder
        self._source = root
        for name in PACKAGES:
            if (root / name).is_dir():
                shutil.copytree(root / name, self._home / name, symlinks=True)
        for name in ("__init__.py", "__main__.py", "cli.py", "command_table.py") if is_installed else ():
            shutil.copy2(root / name, self._home / name)
        for name in DATA:
            (self._home / name).symlink_to(root / name)
        self._changed: Path | None = None

    def plant(self, fault: PlantedFault) -> None:
        """Plant a fault in place of the one before. Raises `ValueError` for a listed one whose place has changed."""
        self.restore()
        if fault.slip is not None:
            self._changed = Path(fault.slip.file)
            text = replaced(fault.slip, (self._source / self._changed).read_text(encoding="utf-8"))
        elif fault.edit is not None:
            self._changed = Path(fault.edit.file)
            source = (self._source / self._changed).read_text(encoding="utf-8")
            text = ast.unparse(edited(source, fault.edit.edit))
        else:
            self._changed = REGISTRY
            source = (self._source / self._changed).read_text(encoding="utf-8")
            text = source + SERVED_MUTANT.format(protocol=fault.protocol, mutant=fault.mutant)
        (self._home / self._changed).write_text(text, encoding="utf-8")

    def restore(self) -> None:
        """Put back what a fault has changed."""
        if self._changed is not None:
            shutil.copy2(self._source / self._changed, self._home / self._changed)
            self._changed = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process that uses the copy; it keeps no bytecode and no caches of others."""
        return {
            **os.environ,
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }

    def makes_servers(self, protocols: Sequence[str]) -> bool:
        """Return whether the fuzzers can be imported there and make a server of each protocol."""
        command = [sys.executable, "-P", "-c", STARTS, *protocols]
        try:
            done = subprocess.run(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=STARTING_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0
