"""Makes the pages of a lake: reads the aggregates and writes each page's data, one row after the other."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.lake.aggregates import Aggregates
from wireproof.spark.lake.batches import LakeError
from wireproof.spark.matrix import natural
from wireproof.spark.pages import queries
from wireproof.spark.pages.files import DataFolder, slug
from wireproof.spark.pairs import pair_tables, pairs
from wireproof.spark.render import TEMPLATES
from wireproof.spark.statistics import findings_by_clause

ROWS_A_BLOCK: Final = 50
"""Clauses in one file of a matrix."""
RECENT_SHOWN: Final = 1_000
PAGES: Final = (
    "index.html",
    "matrix.html",
    "implementation.html",
    "clause.html",
    "changes.html",
    "pairs.html",
    "findings.html",
)
PARTS: Final = ("trends", "failing", "causes", "changes", "flaky")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written: implementations, columns of the matrices, clauses, files, bytes, bytes of the largest file."""

    implementations: int
    columns: int
    clauses: int
    files: int
    octets: int
    largest: int


def write_site(aggregates: Aggregates, out: Path, sentences: Mapping[str, str], days: int = 7) -> Written:
    """Write the site of a lake into `out`; `sentences`: clause -> what it says.

    Raises `OSError`, and `LakeError` for a lake without a run.
    """
    _fresh_folder(out)
    lake, data = aggregates.lake, DataFolder(out)
    runs = lake.runs()
    latest, stats = aggregates.table("latest"), aggregates.table("case_stats")
    columns = queries.versions(runs, latest).cache()
    newest = queries.newest(columns).cache()
    newest_ids = F.broadcast(newest.select("column_id"))
    current = latest.join(newest_ids, on="column_id", how="left_semi").cache()
    as_of = columns.agg(F.max("last_run")).first()[0]  # type: ignore[index]
    if as_of is None:
        raise LakeError(f"{lake.storage.root} has no run yet")
    heads = _heads(newest)
    places = {
        row["column_id"]: (number, place)
        for number, section in enumerate(heads)
        for place, row in enumerate(section["columns"])
    }
    clauses = _matrices(
        data, queries.cells(current, stats.join(newest_ids, on="column_id", how="left_semi")), places, heads
    )
    parts = {
        "trends": queries.trends(columns),
        "failing": queries.failing(latest),
        "causes": queries.causes(current, lake.evidence()),
        "changes": queries.changes(stats, columns),
        "flaky": queries.flaky(stats, columns),
    }
    number = _implementations(data, parts)
    since = (as_of - timedelta(days=days)).isoformat()
    _changes(data, queries.recent_changes(stats, columns, since, RECENT_SHOWN), since, as_of)
    data.write("pairs", pair_tables([row.asDict() for row in pairs(latest).collect()]))
    _findings(data, lake.findings())
    data.write("sentences", dict(sentences))
    _index(data, heads, as_of, queries.group_rows(current), places)
    for frame in (columns, newest, current):
        frame.unpersist()
    return Written(
        implementations=number,
        columns=len(places),
        clauses=clauses,
        files=data.files,
        octets=data.octets,
        largest=data.largest,
    )


def _fresh_folder(out: Path) -> None:
    """Write the pages themselves, which are the same for every lake, and remove the data of an earlier site."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / "data", ignore_errors=True)
    source = TEMPLATES / "site"
    shell = (source / "page.html").read_text(encoding="utf-8")
    for page in PAGES:
        (out / page).write_text(shell.replace("{page}", page.removesuffix(".html")), encoding="utf-8")
    for name in ("site.css", "site.js", "grid.js"):
        shutil.copyfile(source / name, out / name)


def _heads(newest: DataFrame) -> list[dict[str, Any]]:
    """Return the sections with their columns in order; as many rows as there are implementations and variants."""
    found: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in newest.toLocalIterator():
        found[tuple(row[name] for name in queries.SECTION)].append(row.asDict())
    order = ("implementation", "implementation_version", "variant")
    return [
        {
            **dict(zip(queries.SECTION, section, strict=True)),
            "columns": sorted(rows, key=lambda row: [natural(row[name]) for name in order]),
        }
        for section, rows in sorted(found.items(), key=lambda item: [natural(part) for part in item[0]])
    ]


def _matrices(
    data: DataFolder, cells: DataFrame, places: Mapping[int, tuple[int, int]], heads: list[dict[str, Any]]
) -> int:
    """Write the rows of each section in blocks; return the number of rows."""
    found: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    widths = [len(section["columns"]) for section in heads]
    for row in cells.toLocalIterator():
        found[tuple(row[name] for name in queries.SECTION)].append(_spelled(row, places, widths))
    for number, section in enumerate(heads):
        ordered = sorted(found[tuple(section[name] for name in queries.SECTION)], key=_row_order)
        section["rows"] = [[row[name] for name in ("group", "clause", "level", "tally")] for row in ordered]
        block = [{name: row[name] for name in ("marks", "n", "x")} for row in ordered]
        for start in range(0, len(block), ROWS_A_BLOCK):
            data.write(f"matrix/{number}/{start // ROWS_A_BLOCK}", block[start : start + ROWS_A_BLOCK])
    return sum(map(len, found.values()))


def _row_order(row: Row) -> list[Any]:
    return [natural(row[name]) for name in ("group", "clause", "level")]


def _spelled(row: Any, places: Mapping[int, tuple[int, int]], widths: list[int]) -> dict[str, Any]:
    """Return a row of a matrix: a letter for each column, the usual n, and what differs (k, n, passes, runs)."""
    numbers: dict[int, int] = defaultdict(int)
    for cell in row["cells"]:
        numbers[cell["n"]] += 1
    usual = max(numbers, key=lambda n: (numbers[n], n))
    marks = ["."] * widths[places[row["cells"][0]["column_id"]][0]]
    differing = {}
    for cell in row["cells"]:
        place = places[cell["column_id"]][1]
        marks[place] = cell["mark"]
        if cell["k"] != usual or cell["n"] != usual or cell["runs"]:
            history = [cell["passes"], cell["runs"]] if cell["runs"] else []
            differing[place] = [cell["k"], cell["n"], *history]
    text = "".join(marks)
    named = {name: row[name] for name in ("group", "clause", "level")}
    return {**named, "marks": text, "n": usual, "x": differing, "tally": [text.count(one) for one in "pflqun"]}


def _changes(data: DataFolder, recent: DataFrame, since: str, as_of: Any) -> None:
    """Write the newest changes, at most RECENT_SHOWN."""
    rows = [{**row.asDict(), "page": slug(*(row[name] for name in queries.WHO))} for row in recent.collect()]
    data.write("changes", {"since": since, "as_of": as_of, "rows": rows, "most": RECENT_SHOWN})


def _findings(data: DataFolder, findings: DataFrame) -> None:
    """Write the counts of findings by oracle and clause, at most RECENT_SHOWN."""
    counted = findings_by_clause(findings)
    order = ("protocol", "oracle", "clause", "implementation")
    rows = counted.orderBy(F.desc("shapes"), *order).limit(RECENT_SHOWN).collect()
    data.write("findings", {"rows": [row.asDict() for row in rows], "most": RECENT_SHOWN})


def _implementations(data: DataFolder, parts: Mapping[str, DataFrame]) -> int:
    """Write one file for each implementation; only one row of each part is in memory."""
    whole: DataFrame | None = None
    for name in PARTS:
        frame = parts[name]
        others = [column for column in frame.columns if column not in queries.WHO]
        packed = frame.select(*queries.WHO, F.struct(*others).alias(name))
        whole = packed if whole is None else whole.join(packed, on=list(queries.WHO), how="left")
    number = 0
    assert whole is not None
    for row in whole.toLocalIterator(prefetchPartitions=True):
        number += 1
        data.write(f"implementation/{slug(*(row[name] for name in queries.WHO))}", row.asDict(recursive=True))
    return number


def _index(
    data: DataFolder,
    heads: list[dict[str, Any]],
    as_of: Any,
    groups: DataFrame,
    places: Mapping[int, tuple[int, int]],
) -> None:
    """Write what every page needs: the sections, their columns and rows, and a letter for each group of a column."""
    of_column: dict[int, dict[str, str]] = defaultdict(dict)
    names: dict[int, set[str]] = defaultdict(set)
    worst = "flqpun"
    for row in groups.toLocalIterator():
        known = of_column[row["column_id"]].get(row["group"], "n")
        of_column[row["column_id"]][row["group"]] = min(known, row["mark"], key=worst.index)
        names[places[row["column_id"]][0]].add(row["group"])
    sections = []
    for number, section in enumerate(heads):
        groups_here = sorted(names[number], key=natural)
        columns = [_column(row, of_column[row["column_id"]], groups_here) for row in section["columns"]]
        named = {name: section[name] for name in queries.SECTION}
        sections.append({**named, "columns": columns, "groups": groups_here, "rows": section["rows"]})
    data.write("index", {"as_of": as_of, "block": ROWS_A_BLOCK, "sections": sections})


def _column(row: Row, marks: Mapping[str, str], groups: list[str]) -> list[Any]:
    return [
        row["implementation"],
        row["implementation_version"],
        row["variant"],
        slug(*(row[name] for name in queries.WHO)),
        *(row[name] for name in queries.SCORED),
        row["last_run"],
        "".join(marks.get(group, ".") for group in groups),
        row["partial"],
        row["must_untested"],
        row["should_untested"],
    ]
