"""Writes the data of the pages: JavaScript files that call `wireproof.take(name, data)`, since a page that was opened
from a folder may load scripts but no JSON."""

from __future__ import annotations

import datetime
import hashlib
import json
from pathlib import Path
from typing import Any


class DataFolder:
    """The folder `data/` of a site. Counts files and bytes; raises `OSError`."""

    def __init__(self, out: Path) -> None:
        self.root = out / "data"
        self.files = 0
        self.octets = 0
        self.largest = 0

    def write(self, name: str, data: Any) -> None:
        """Write data under a name such as `matrix/3/0`."""
        path = self.root / f"{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"wireproof.take({_json(name)},{_json(data)});\n"
        raw = text.encode("utf-8", "replace")
        path.write_bytes(raw)
        self.files += 1
        self.octets += len(raw)
        self.largest = max(self.largest, len(raw))


def _json(data: Any) -> str:
    """Return JSON that is also JavaScript and may stand in a script."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.replace("</", "<\\/").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _plain(value: Any) -> str:
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()[:10]
    raise TypeError(type(value).__name__)


def slug(*parts: str) -> str:
    """Return a name for a file, derived from any strings."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]
