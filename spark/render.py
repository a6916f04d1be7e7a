"""Renders a matrix document: index.html, matrix.md and one evidence page for each implementation.

The strings of a record are untrusted: autoescaping is on, and the pages forbid scripts and foreign resources.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from wireproof.spark.matrix import Json, Row, Rows, anchor, evidence_page, natural
from wireproof.spark.schemas import COUNTED, SCORED

TEMPLATES: Final = Path(__file__).resolve().parent.parent / "reports" / "templates"
"""Beside this package, in the project as in an installation."""
SYMBOLS: Final = {
    "pass": "✓",
    "lenient": "~",
    "fail": "✗",
    "untested": "?",
    "unsupported": "\N{EN DASH}",
    "not_required": "○",
}
NAMES_SHOWN: Final = 2
"""Most segmentations that a cell names; it gives the number of more."""
HEX_SHOWN: Final = 1024
"""Bytes of one message on an evidence page; Parquet and the records hold all of them."""


def write_pages(document: Json, evidence: Rows, out: Path) -> None:
    """Write index.html, matrix.md and evidence/*.html below `out`; delete other evidence pages. Raises `OSError`."""
    environment = _environment()
    for name, source in (("index.html", "matrix.html.j2"), ("matrix.md", "matrix.md.j2")):
        _write(out / name, environment.get_template(source).generate(matrix=document))
    pages: dict[str, Rows] = defaultdict(list)
    for row in evidence:
        pages[evidence_page(row)].append(row)
    for old in (out / "evidence").glob("*.html"):
        old.unlink()
    template = environment.get_template("evidence.html.j2")
    for path, rows in pages.items():
        _write(out / path, template.generate(first=rows[0], cells=_evidence_cells(rows)))


def _write(path: Path, pieces: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", errors="replace") as stream:
        stream.writelines(pieces)


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=lambda name: name is not None and ".html" in name,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters.update(
        bands=bands, markdown=markdown, left_out=left_out, octets=octets, spelled=spelled, under=under
    )
    environment.tests["hexadecimal"] = is_hexadecimal
    environment.globals["symbols"] = SYMBOLS
    return environment


def markdown(text: str) -> str:
    """Return any string as the text of a Markdown table cell."""
    escaped = re.sub(r"([\\`*_\[\]|#~])", r"\\\1", " ".join(text.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def bands(columns: Rows) -> list[Rows]:
    """Return adjacent columns of the same implementation version as groups."""
    versions = groupby(columns, key=lambda column: (column["implementation"], column["implementation_version"]))
    return [list(band) for _, band in versions]


def left_out(cell: Row) -> int:
    """Return the number of cases that the n of a cell leaves out."""
    return sum(number for verdict, number in cell["counts"].items() if verdict not in SCORED)


def under(cell: Row) -> str:
    """Return the segmentations in which cases fail that pass in others, short enough for a cell."""
    names = list(cell["differing"])
    return ", ".join(names) if len(names) <= NAMES_SHOWN else f"{len(names)} segmentations"


def spelled(cell: Row) -> str:
    """Return a cell as text: its counts by verdict, and the segmentations in which cases fail that pass in others."""
    counts = [f"{cell['counts'][verdict]} {verdict}" for verdict in reversed(COUNTED) if verdict in cell["counts"]]
    text = f"{cell['k']} of {cell['n']}: " + ", ".join(counts).replace("_", " ")
    under = [f"{name} ({number} {'case' if number == 1 else 'cases'})" for name, number in cell["differing"].items()]
    return f"{text}; fails only under {', '.join(under)}" if under else text


def is_hexadecimal(text: str) -> bool:
    """Return whether a string is whole octets in hexadecimal, with spaces or without."""
    return re.fullmatch(r"(\s*[0-9a-fA-F]{2})+\s*", text) is not None


def octets(text: str, byte: int | None = None) -> tuple[str, str, str, int]:
    """Return hexadecimal in groups: (before, the octet at offset `byte`, after, number of octets not shown)."""
    plain = re.sub(r"\s+", "", text)
    shown = [plain[at : at + 2] for at in range(0, min(len(plain), 2 * HEX_SHOWN), 2)]
    hidden = max(0, (len(plain) + 1) // 2 - HEX_SHOWN)
    if byte is None or byte >= len(shown):
        return " ".join(shown), "", "", hidden
    return " ".join(shown[:byte]), shown[byte], " ".join(shown[byte + 1 :]), hidden


def _evidence_cells(rows: Rows) -> Rows:
    """Return evidence rows nested as variant, group, level -> clause -> records, with anchors for links."""
    cell_of, clause_of = ("variant", "group", "level"), ("variant", "group", "level", "charged")
    ordered = sorted(rows, key=lambda row: ([natural(row[name]) for name in clause_of], row["number"]))
    return [
        {
            **dict(zip(cell_of, key, strict=True)),
            "anchor": anchor(*key),
            "clauses": [
                {"clause": at[-1], "anchor": anchor(*at), "records": list(records)}
                for at, records in groupby(cell, key=lambda row: tuple(row[name] for name in clause_of))
            ],
        }
        for key, cell in groupby(ordered, key=lambda row: tuple(row[name] for name in cell_of))
    ]
