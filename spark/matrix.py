"""Folds collected cells into the document of `reports/schema/matrix.schema.json`: plain dicts, ready for JSON.

The same input gives the same document, whatever the order of its rows; it does not contain when it was made.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from wireproof.spark.pairs import pair_tables
from wireproof.spark.schemas import COUNTED, SCORED_LEVELS

MATRIX_SCHEMA_ID: Final = "wireproof.matrix/2"

SECTION: Final = ("protocol", "profile", "role")
COLUMN: Final = ("implementation", "implementation_version", "variant")

Row = Mapping[str, Any]
"""Column -> value of a DataFrame's row."""
Json = dict[str, Any]
"""A part of the matrix document."""
Rows = list[Json]
Cells = list[Json | None]
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The results of the job: one list of rows for each transform, and the files."""

    clause_cells: Rows
    group_cells: Rows
    may_answers: Rows
    evidence: Rows
    pairs: Rows
    runs: Rows
    line_counts: Rows
    files: Mapping[str, bool]
    """Path of every file -> whether it is damaged."""
    incomplete: frozenset[str] = frozenset()
    """Paths of files of runs that were cut short."""


def matrix_document(collected: Collected) -> Json:
    """Return the whole matrix. `as_of` is the start of the newest kept run."""
    kept = [run for run in collected.runs if run["kept"]]
    return {
        "schema": MATRIX_SCHEMA_ID,
        "as_of": max(run["run_started_at"] for run in kept),
        "inputs": _inputs(collected, sum(run["records"] for run in kept)),
        "runs": sorted(collected.runs, key=lambda run: tuple(natural(str(value)) for value in run.values())),
        "sections": [
            _section(key, [run for run in kept if _key(run, SECTION) == key], collected)
            for key in sorted({_key(run, SECTION) for run in kept}, key=_natural_key)
        ],
        "pairs": pair_tables(collected.pairs),
    }


def natural(text: str) -> list[str | int]:
    """Return a sort key that puts THR-INSERT-2 before THR-INSERT-10 and uint8 before uint16."""
    return [int(part) if odd % 2 else part for odd, part in enumerate(re.split(r"([0-9]{1,18})", text))]


def evidence_page(row: Row) -> str:
    """Return the relative path of the evidence page of the implementation of `row`."""
    parts = [str(row[name]) for name in (*SECTION, "implementation", "implementation_version")]
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(parts)).strip("-.")[:80]
    return f"evidence/{readable}-{anchor(*parts)[1:7]}.html"


def anchor(*parts: str) -> str:
    """Return an id of an HTML element, derived from any strings."""
    return "e" + hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]


def _key(row: Row, names: Iterable[str]) -> Key:
    return tuple(str(row[name]) for name in names)


def _natural_key(key: Key) -> list[list[str | int]]:
    return [natural(part) for part in key]


def _section(key: Key, runs: Rows, collected: Collected) -> Json:
    columns = sorted((_key(run, COLUMN) for run in runs), key=_natural_key)
    by_column = {_key(run, COLUMN): run for run in runs}
    here = {
        name: [row for row in rows if _key(row, SECTION) == key]
        for name, rows in (
            ("groups", collected.group_cells),
            ("clauses", collected.clause_cells),
            ("may", collected.may_answers),
            ("evidence", collected.evidence),
        )
    }
    of_groups = _links(here["evidence"])
    group_rows = _rows(here["groups"], columns, of_groups, of_groups, "group")
    clause_rows = _rows(here["clauses"], columns, _links(here["evidence"], "charged"), of_groups, "group", "clause")
    return {
        **dict(zip(SECTION, key, strict=True)),
        "columns": [_column(by_column[column]) for column in columns],
        "totals": _totals(group_rows, len(columns)),
        "groups": _groups(group_rows, clause_rows),
        "may": _may(here["may"], columns),
    }


def _groups(group_rows: Mapping[Key, Cells], clause_rows: Mapping[Key, Cells]) -> list[Json]:
    groups: dict[str, Json] = {
        group: {"group": group, "rows": [], "clauses": []}
        for group in sorted({of for of, _ in group_rows}, key=natural)
    }
    for (of, level), cells in sorted(group_rows.items(), key=lambda row: SCORED_LEVELS.index(row[0][1])):
        groups[of]["rows"].append({"level": level, "cells": cells})
    for (of, clause, level), cells in sorted(clause_rows.items(), key=lambda row: _natural_key(row[0])):
        groups[of]["clauses"].append({"clause": clause, "level": level, "cells": cells})
    return list(groups.values())


def _column(run: Row) -> Json:
    named = {name: run[name] for name in (*COLUMN, "run_id", "run_started_at", "records")}
    return {**named, "partial": run.get("partial")}


def _links(evidence: Rows, *more: str) -> dict[Key, str]:
    """(column, group, level or group, charged clause, level) -> relative link to the evidence of that cell."""
    return {
        (*_key(row, COLUMN), *_key(row, ("group", *more, "level"))): evidence_page(row)
        + "#"
        + anchor(*_key(row, ("variant", "group", "level", *more)))
        for row in evidence
    }


def _rows(
    cells: Rows, columns: list[Key], links: Mapping[Key, str], of_groups: Mapping[Key, str], *names: str
) -> dict[Key, Cells]:
    """Return (names..., level) -> one cell for each column; MAY has no cells.

    A cell whose cases pass, but not in every segmentation, links to the evidence of the level that these failures
    count for.
    """
    rows: dict[Key, Cells] = defaultdict(lambda: [None] * len(columns))
    for row in cells:
        if row["level"] in SCORED_LEVELS:
            column, key = _key(row, COLUMN), _key(row, (*names, "level"))
            link = links.get((*column, *key))
            if link is None and row["differing"]:
                elsewhere = (of_groups.get((*column, str(row["group"]), level)) for level in reversed(SCORED_LEVELS))
                link = next(filter(None, elsewhere), None)
            rows[key][columns.index(column)] = _cell(row, link)
    return dict(rows)


def _cell(counts: Row, evidence: str | None) -> Json:
    k, n = counts["k"], counts["n"]
    return {
        "k": k,
        "n": n,
        "mark": _mark(counts),
        "counts": {verdict: counts[verdict] for verdict in COUNTED if counts.get(verdict)},
        "plays": counts["plays"],
        "differing": dict(sorted(Counter(counts["differing"]).items())),
        "evidence": evidence,
    }


def _mark(counts: Row) -> str:
    """Return one word for a cell; never pass while a case in it could not be tested."""
    if counts["crash"] or counts["hang"] or counts["fail"]:
        return "fail"
    if counts["lenient"]:
        return "lenient"
    if counts["untestable"] or counts["harness_error"]:
        return "untested"
    if counts["n"]:
        return "pass"
    return "unsupported" if counts["unsupported"] else "not_required"


def _totals(group_rows: Mapping[Key, Cells], width: int) -> list[Json]:
    totals = []
    for level in SCORED_LEVELS:
        rows = [cells for (_, of), cells in group_rows.items() if of == level]
        if rows:
            columns = [[row[column] for row in rows] for column in range(width)]
            totals.append({"level": level, "cells": [_sum(cells) for cells in columns]})
    return totals


def _sum(cells: Cells) -> Json | None:
    present = [cell for cell in cells if cell is not None]
    if not present:
        return None
    total: Json = dict.fromkeys((*COUNTED, "k", "n", "plays"), 0)
    total["differing"] = []
    for cell in present:
        total["differing"] += Counter(cell["differing"]).elements()
        for name, number in (*cell["counts"].items(), *((name, cell[name]) for name in ("k", "n", "plays"))):
            total[name] += number
    return _cell(total, None)


def _may(rows: Rows, columns: list[Key]) -> list[Json]:
    cases: dict[Key, Rows] = defaultdict(list)
    for row in rows:
        cases[_key(row, ("group", "case"))].append(row)
    return [_may_row(key, cases[key], columns) for key in sorted(cases, key=_natural_key)]


def _may_row(key: Key, rows: Rows, columns: list[Key]) -> Json:
    answers: list[Rows] = [[] for _ in columns]
    for row in sorted(rows, key=lambda row: str(row["answer"])):
        answers[columns.index(_key(row, COLUMN))].append({"answer": row["answer"], "count": row["count"]})
    observed = {row["answer"] for row in rows} - {"unsupported", "untestable", "harness_error"}
    return {
        "group": key[0],
        "case": key[1],
        "title": max(row["title"] or "" for row in rows),
        "clauses": max(row["clauses"] for row in rows),
        "disagree": len(observed) > 1,
        "answers": answers,
    }


def _inputs(collected: Collected, records_of_kept_runs: int) -> Json:
    files = [
        {**_file(path, damaged, collected.line_counts), "incomplete": path in collected.incomplete}
        for path, damaged in sorted(collected.files.items())
    ]
    counted_of_files = ("lines", "records", "corrupt", "foreign", "damaged", "incomplete")
    totals = {name: sum(file[name] for file in files) for name in counted_of_files}
    counted = sum(row["plays"] for row in collected.group_cells)
    return {**totals, "repeated": records_of_kept_runs - counted, "files": files}


def _file(path: str, damaged: bool, line_counts: Rows) -> Json:
    rows = [row for row in line_counts if row["source"] == path]
    kinds = {
        kind: sum(row["count"] for row in rows if row["kind"] == kind) for kind in ("record", "corrupt", "foreign")
    }
    problems = [
        {name: row[name] for name in ("kind", "reason", "count", "example")}
        for row in sorted(rows, key=lambda row: (row["kind"], row["reason"] or ""))
        if row["kind"] != "record"
    ]
    return {
        "path": path,
        "lines": sum(kinds.values()),
        "records": kinds["record"],
        "corrupt": kinds["corrupt"],
        "foreign": kinds["foreign"],
        "damaged": damaged,
        "problems": problems,
    }
