"""Who may write into a run's folder, and where: one run at a time, and no complete run is lost to one that is not.

The folder that a user names holds the last complete run. While another run is under way into the same folder it writes
into `partial/` inside; once it is complete its files replace the older ones. A folder without a complete run is written
to at once.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wireproof.conformance.report.bundle import BUNDLES
from wireproof.conformance.report.outputs import JOURNAL, OutputError, is_incomplete, reporting_file_errors
from wireproof.conformance.report.run_page import EXCHANGES, PAGE

try:
    import fcntl
except ImportError:  # elsewhere than POSIX nothing is locked
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
PARTIAL = "partial"
RUN = "run.json"
FILES = ("records.jsonl", JOURNAL, "target.log", "driver.log", EXCHANGES, BUNDLES, PAGE, RUN)
"""What moves when a run is complete; run.json last, because it says that the others are."""


@contextmanager
def claimed(folder: Path | None) -> Iterator[Path | None]:
    """Yield where a run into `folder` writes until `replace_older`; None without a folder.

    The lock goes with the process, however it ends. Raises `OutputError` when another run writes there, or when the
    folder cannot be made.
    """
    if folder is None:
        yield None
        return
    made = not folder.exists()
    with reporting_file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _lock(lock, folder)
        working = folder / PARTIAL if holds_complete_run(folder) else folder
        with reporting_file_errors(working):
            working.mkdir(exist_ok=True)
        try:
            yield working
        finally:
            with suppress(OSError):
                (folder / LOCK).unlink()
            for empty in (working, folder) if made else (working,) if working != folder else ():
                with suppress(OSError):  # it is not empty
                    empty.rmdir()
    finally:
        os.close(lock)


def _lock(lock: int, folder: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        same = (folder / LOCK).stat().st_ino == os.fstat(lock).st_ino
    except FileNotFoundError:
        same = False
    except OSError:
        owner = os.pread(lock, 32, 0).decode(errors="replace").strip()
        raise OutputError(
            f"another run writes to {folder} (process {owner or 'unknown'}): name another --out"
        ) from None
    if not same:  # the run that held it ended as we asked
        raise OutputError(f"another run wrote to {folder} until now: try again")
    with reporting_file_errors(folder):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def holds_complete_run(folder: Path) -> bool:
    """Say whether the run in a folder was played to its end with all cases."""
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    whole = isinstance(run, dict) and run.get("finished_at") is not None and not run.get("partial")
    return whole and not is_incomplete(folder)


def replace_older(folder: Path, working: Path) -> Path:
    """Put a complete run into the place of the one before it; return where it is. Raises `OutputError`."""
    if working == folder or not holds_complete_run(working):
        return working
    with reporting_file_errors(folder):
        for name in FILES:
            _remove(folder / name)
            if (working / name).exists():
                (working / name).replace(folder / name)
        with suppress(OSError):  # somebody keeps files of their own there
            working.rmdir()
    return folder


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
