"""YAML documents checked against a published schema, each parsed and checked once for what it holds.

What was found right is kept as JSON in the user's cache folder under the digest of document and schema, so that a run
need not parse and check a thousand cases again. A cache that cannot be read or written is done without.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

FORMAT = "1"
"""Part of every digest; another one when what is kept changes."""


class CaseError(ValueError):
    """Raised when a case or clause file is wrong; the message names file, case and what was expected."""


def vectors_root() -> Path:
    """Return the folder of vectors: beside the package `conformance`, in a checkout or installed."""
    return Path(__file__).resolve().parents[2] / "vectors"


def read_document(path: Path, schema: str = "") -> Any:
    """Return the document at `path`, right by the schema of that name; `CaseError` says where it is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
        rules = (vectors_root() / "schema" / schema).read_text(encoding="utf-8") if schema else "true"
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"{path.name}: cannot be read: {error}") from None
    digest = sha256("\0".join((FORMAT, rules, text)).encode()).hexdigest()[:24]
    kept = cache_folder() / f"{path.name}-{digest}.json"
    with suppress(OSError, ValueError):
        return json.loads(kept.read_text(encoding="utf-8"))
    from wireproof.conformance.suite.yaml_documents import checked

    document = checked(text, rules, path.name)
    keep(kept, document)
    return document


def cache_folder() -> Path:
    """Return the folder in which documents are kept between runs; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "wireproof")


def keep(path: Path, document: Any) -> None:
    """Write whole or not at all; older versions of the same document go."""
    with suppress(OSError, TypeError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            json.dump(document, file)
        Path(file.name).replace(path)
        for old in path.parent.glob(f"{path.name.rpartition('-')[0]}-*.json"):
            if old != path:
                old.unlink(missing_ok=True)
