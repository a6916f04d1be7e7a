"""The folder of what a server in simulation keeps, a new one for each of its lives."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["LifeFolders"]

MEMORY = Path("/dev/shm")
"""Where files are in memory, on systems that have it: what is kept there need not outlive this process."""


class LifeFolders:
    """Folders of the lives of one server; each life begins on a copy of what the one before had written."""

    def __init__(self) -> None:
        """Make the folder of the first life. Raises `OSError`."""
        self._all = TemporaryDirectory(prefix="wireproof-lives-", dir=MEMORY if MEMORY.is_dir() else None)
        self._number = 0
        self.now.mkdir()

    @property
    def now(self) -> Path:
        """The folder of this life."""
        return Path(self._all.name) / f"life-{self._number}"

    def copied(self) -> Path:
        """Begin a life on a copy of the folder as it is; return the folder of the life before. Raises `OSError`."""
        before = self.now
        self._number += 1
        shutil.copytree(before, self.now)
        return before

    def close(self) -> None:
        """Remove all of them."""
        self._all.cleanup()
