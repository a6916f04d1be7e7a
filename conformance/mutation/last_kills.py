"""Which case killed each mutant last time, kept in a small file: the gate plays that case first.

The repository keeps such a file for each protocol, so that the first gate on a machine is as quick as the next ones.
Of mutants of clients it keeps, the other way round, what each case for SDKs killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

__all__ = ["default_file", "read_last_kills", "shipped_kills", "write_last_kills"]


def default_file() -> Path:
    """Return the file in the user's cache folder."""
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder, "wireproof", "last-kills.json")


def shipped_kills(protocol: str, combination: str) -> dict[str, str]:
    """Return what the repository keeps; made by the gate with `--previous mutants/PROTOCOL/last-kills.json`."""
    return read_last_kills(Path(str(files("wireproof.mutants") / protocol / "last-kills.json")), combination)


def read_last_kills(file: Path, combination: str) -> dict[str, str]:
    """Return mutant -> the play that killed it (`case|segmentation`) in one combination of protocol and profile.

    Empty for a file that is missing or damaged: then nothing is known, and nothing is lost.
    """
    kept = _read(file).get(combination, {})
    return {name: play for name, play in kept.items() if isinstance(play, str)} if isinstance(kept, dict) else {}


def write_last_kills(file: Path, combination: str, kills: Mapping[str, str]) -> None:
    """Add `kills` to those kept of `combination`; a file that cannot be written is left as it is."""
    everything = _read(file)
    everything[combination] = {**read_last_kills(file, combination), **kills}
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        fresh.write_text(json.dumps(everything, indent=0, sort_keys=True), encoding="utf-8")
        fresh.replace(file)


def _read(file: Path) -> dict[str, object]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
