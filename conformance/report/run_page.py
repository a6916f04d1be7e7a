"""DIR/index.html of a run: causes first, then every case with its clauses, expectation and exchange.

The page needs no network and no library. What a person sees first is in the page itself; exchanges are in one file a
group (`exchanges/*.js`), loaded when a case of it is opened, so that a thousand cases stay fluid.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.report.bundle import BUNDLES
from wireproof.conformance.report.decoded_exchange import decoded_exchange, in_words
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.verdict.records import Record
from wireproof.protocols.json_values import JsonDict, JsonObject

__all__ = ["EXCHANGES", "PAGE", "write_page"]

PAGE, EXCHANGES = "index.html", "exchanges"

TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"

SHOWN = (
    *("record_id", "case", "title", "group", "level", "clauses", "verdict", "blamed", "guilty", "delivery"),
    *("step", "byte", "expected", "got", "observed", "duration_us", "not_required"),
)
"""What the page itself has of each record; expectation and answer only of those that did not pass."""
MOST_TEXT = 2000
"""Characters of an expectation or answer."""


def write_page(
    folder: Path, suite: Suite, summary: JsonObject, records: Sequence[Record], bundles: Sequence[str] = ()
) -> None:
    """Write the page of a run into its folder. Raises `OSError`.

    `summary`: run.json; `bundles`: ids of the records that have a folder below `evidence/`.
    """
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        groups[record["group"]].append(record)
    files = {group: f"{re.sub(r'[^A-Za-z0-9_]', '_', group)}.js" for group in groups}
    (folder / EXCHANGES).mkdir(exist_ok=True)
    for group, members in groups.items():
        found = {one["record_id"]: decoded_exchange(one) for one in members if one["exchange"]}
        text = f"wireproof.exchanges({_script(found)});\n"
        (folder / EXCHANGES / files[group]).write_text(text, encoding="utf-8", errors="replace")
    used = sorted({clause for one in records for clause in (*one["clauses"], one["blamed"]) if clause})
    data = {
        "run": {name: value for name, value in summary.items() if name not in ("causes", "counts", "deliveries")},
        "causes": summary["causes"],
        "records": [_row(one) for one in records],
        "clauses": {name: _clause(suite, name) for name in used if name in suite.clauses},
        "files": files,
        "bundles": {name: sorted(one.name for one in (folder / BUNDLES / name).iterdir()) for name in bundles},
    }
    page = (TEMPLATES / "run.html").read_text(encoding="utf-8")
    parts = {
        "style": "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "run.css")),
        "data": f"window.wireproof = {{data: {_script(data)}}};",
        "script": (TEMPLATES / "run.js").read_text(encoding="utf-8"),
    }
    page = re.sub(r"/\* (style|data|script) \*/", lambda found: parts[found[1]], page)
    (folder / PAGE).write_text(page, encoding="utf-8", errors="replace")


def _row(record: Record) -> JsonDict:
    row: JsonDict = {name: record.get(name) for name in SHOWN}
    if record["verdict"] == Verdict.PASS:
        del row["expected"], row["got"]
    for name in ("expected", "got"):
        if isinstance(row.get(name), str):
            row[name] = row[name][:MOST_TEXT]
    row["words"] = in_words(record)[:MOST_TEXT] or None
    return {name: value for name, value in row.items() if value is not None}


def _clause(suite: Suite, name: str) -> dict[str, str]:
    clause = suite.clauses[name]
    return {"text": clause.text, "section": clause.section}


def _script(value: object) -> str:
    """Return JSON that may stand in a script: no text in it ends the script or is a line break to JavaScript."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
