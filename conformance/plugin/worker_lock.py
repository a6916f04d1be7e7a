"""One lock of a target, for the workers of pytest: a file in the temporary folder, which the last worker removes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO

__all__ = ["WorkerLock"]


class WorkerLock:
    """The lock as one worker holds it."""

    def __init__(self, target: str) -> None:
        """Takes nothing yet."""
        digest = sha256(target.encode()).hexdigest()[:12]
        self.path = Path(tempfile.gettempdir(), f"wireproof-{digest}.lock")

    @contextmanager
    def taken(self, *, exclusive: bool) -> Iterator[None]:
        """Wait for the lock and hold it: with others, or alone."""
        import fcntl

        while True:
            with self.path.open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
                if self._is_there(file):
                    yield
                    return

    def give_up(self) -> None:
        """Remove the file, unless another worker holds it: whoever is last removes it."""
        import fcntl

        with suppress(OSError), self.path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._is_there(file):
                self.path.unlink()

    def _is_there(self, file: IO[str]) -> bool:
        """Say whether a locked file was not removed by another worker before it was locked."""
        try:
            return os.path.samestat(os.fstat(file.fileno()), self.path.stat())
        except FileNotFoundError:
            return False
