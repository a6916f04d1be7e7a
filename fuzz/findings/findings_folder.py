"""Findings on disk: one directory each, named by its id, so that a known bug is not written again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from wireproof.fuzz.findings.finding import FindingError, FuzzFinding
from wireproof.fuzz.script import ScriptError

__all__ = ["load", "load_all", "save"]


def save(folder: Path, finding: FuzzFinding) -> Path | None:
    """Write a finding below `folder`; return its directory, None if it is known. Raises `OSError`."""
    directory = folder / finding.id
    if (directory / "finding.json").exists():
        return None
    directory.mkdir(parents=True, exist_ok=True)
    if finding.data:
        (directory / "input.hex").write_text(finding.data.hex() + "\n", encoding="ascii")
    (directory / "finding.json").write_text(json.dumps(finding.to_json(), indent=1) + "\n", encoding="utf-8")
    return directory


def load(path: Path) -> FuzzFinding:
    """Return the finding of a directory or of a finding.json. Raises `FindingError`."""
    file = path / "finding.json" if path.is_dir() else path
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise FindingError(f"cannot read {file}: {error.strerror or error}") from None
    except ValueError as error:
        raise FindingError(f"{file}: expected JSON: {error}") from None
    if not isinstance(document, dict):
        raise FindingError(f"{file}: expected a finding, got {type(document).__name__}")
    try:
        return FuzzFinding.from_json(document)
    except (FindingError, ScriptError) as error:
        raise FindingError(f"{file}: {error}") from None


def load_all(folder: Path) -> Iterator[FuzzFinding]:
    """Yield the findings below a folder, sorted by id. Raises `FindingError`."""
    for file in sorted(folder.glob("*/finding.json")):
        yield load(file)
