"""YAML documents checked against a published schema, each parsed and checked once for what it holds.

What was found right is kept as JSON in the user's cache folder under the digest of document and schema, so that a run
need not parse and check a thousand cases again. A cache that cannot be read or written is done without.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar

import msgspec

from wireproof.conformance.suite.case_error import CaseError

__all__ = ["CaseError", "keep", "kept", "read_document", "read_text", "vectors_root"]

Kept = TypeVar("Kept")
FORMAT = "13"
"""Part of every digest; another one when what is kept changes."""
VERSIONS = 16
"""Four protocols have files of the same name, each read in up to three ways, and a machine has several checkouts."""


def vectors_root() -> Path:
    """Return the folder of vectors: beside the package `conformance`, in a checkout or installed."""
    return Path(__file__).resolve().parents[2] / "vectors"


def read_text(path: Path) -> str:
    """Return the text of a file; raises `CaseError` where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"{path.name}: cannot be read: {error}") from None


def read_document(path: Path, schema: str = "") -> Any:
    """Return the document at `path`, right by the schema of that name; raises `CaseError` that names the place."""
    text = read_text(path)
    rules = read_text(vectors_root() / "schema" / schema) if schema else "true"
    digest = sha256("\0".join((rules, text)).encode()).hexdigest()[:24]
    if (found := kept(path.name, digest, Any)) is not None:
        return found
    from wireproof.conformance.suite.yaml_documents import checked

    document = checked(text, rules, path.name)
    keep(path.name, digest, document)
    return document


def kept(name: str, digest: str, kind: type[Kept]) -> Kept | None:
    """Return what is kept of a file under a digest, None where nothing is."""
    place = _place(name, digest)
    with suppress(OSError, ValueError):
        found = msgspec.json.decode(place.read_bytes(), type=kind)
        with suppress(OSError):  # the folder may be another user's
            os.utime(place)
        return found
    return None


def keep(name: str, digest: str, found: object) -> None:
    """Keep what a file holds, whole or not at all; of its name, those not used for longest go. Never fails."""
    with suppress(OSError, TypeError):
        place = _place(name, digest)
        place.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("wb", dir=place.parent, delete=False) as file:
            file.write(msgspec.json.encode(found))
        Path(file.name).replace(place)
        kept_before = sorted(place.parent.glob(f"{name}-*.json"), key=lambda one: one.stat().st_mtime)
        for old in kept_before[:-VERSIONS]:
            old.unlink(missing_ok=True)


def _place(name: str, digest: str) -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "wireproof")
    return folder / f"{name}-{sha256(f'{FORMAT} {digest}'.encode()).hexdigest()[:24]}.json"
