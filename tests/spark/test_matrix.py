"""The document: order, marks, links and sums. No Spark in here."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.spark.matrix import Collected, evidence_page, matrix_document, natural
from wireproof.spark.schemas import COUNTED

COLUMN = {
    "protocol": "throttr",
    "profile": "7.1.0",
    "variant": "uint16",
    "role": "server",
    "implementation": "alpha",
    "implementation_version": "1.0",
}
RUN = COLUMN | {"run_id": "r", "run_started_at": "2026-01-01T10:00:00.000Z", "records": 1, "kept": True}


def cell(
    group: str = "INSERT",
    level: str = "MUST",
    column: dict[str, str] = COLUMN,
    differing: tuple[str, ...] = (),
    **counts: int,
) -> dict[str, Any]:
    full = {verdict: counts.get(verdict, 0) for verdict in COUNTED}
    n = sum(full[verdict] for verdict in ("pass", "lenient", "fail", "crash", "hang"))
    more = {"k": full["pass"], "n": n, "plays": sum(full.values()), "differing": list(differing)}
    return {**column, "group": group, "level": level, **full, **more}


def document(**parts: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"clause_cells": [], "group_cells": [], "may_answers": [], "evidence": [], "pairs": []}
    empty |= {"runs": [RUN], "line_counts": [], "files": {}}
    return matrix_document(Collected(**empty | parts))


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    assert sorted(["THR-10", "THR-9", "a", "THR-9b"], key=natural) == ["THR-9", "THR-9b", "THR-10", "a"]


@pytest.mark.parametrize(
    ("counts", "mark"),
    [
        ({"pass": 3}, "pass"),
        ({"pass": 3, "unsupported": 1}, "pass"),
        ({"pass": 3, "lenient": 1}, "lenient"),
        ({"pass": 3, "lenient": 1, "hang": 1}, "fail"),
        ({"pass": 3, "crash": 1, "untestable": 1}, "fail"),
        ({"pass": 3, "untestable": 1}, "untested"),
        ({"harness_error": 1}, "untested"),
        ({"unsupported": 2}, "unsupported"),
        ({"pass": 1, "not_required": 1}, "pass"),
        ({"unsupported": 1, "not_required": 1}, "unsupported"),
        ({"not_required": 1}, "not_required"),
    ],
    ids=str,
)
def test_a_cell_is_green_only_when_nothing_is_wrong_or_untested(counts: dict[str, int], mark: str) -> None:
    [section] = document(group_cells=[cell(**counts)])["sections"]

    assert mark == section["groups"][0]["rows"][0]["cells"][0]["mark"]


def test_columns_stand_in_natural_order_and_missing_cells_are_null() -> None:
    runs = [RUN | {"variant": variant} for variant in ("uint64", "uint8", "uint16")]
    [section] = document(runs=runs, group_cells=[cell(**{"pass": 1})])["sections"]

    assert [column["variant"] for column in section["columns"]] == ["uint8", "uint16", "uint64"]
    cells = section["groups"][0]["rows"][0]["cells"]
    assert [one and one["k"] for one in cells] == [None, 1, None]


def test_totals_add_groups_but_never_levels() -> None:
    cells = [cell("A", **{"pass": 1}), cell("B", fail=2), cell("A", "SHOULD", **{"pass": 4}), cell("A", "MAY")]
    [section] = document(group_cells=cells)["sections"]

    totals = {row["level"]: (row["cells"][0]["k"], row["cells"][0]["n"]) for row in section["totals"]}
    assert totals == {"MUST": (1, 3), "SHOULD": (4, 4)}


def test_a_cell_links_to_its_evidence() -> None:
    row = COLUMN | {"group": "INSERT", "level": "MUST", "charged": "THR-1"}
    clauses = [cell(fail=1) | {"clause": "THR-1"}, cell(untestable=1) | {"clause": "THR-2"}]
    [section] = document(group_cells=[cell(fail=1)], clause_cells=clauses, evidence=[row])["sections"]

    group = section["groups"][0]
    assert group["rows"][0]["cells"][0]["evidence"].startswith(evidence_page(row) + "#e")
    assert [bool(clause["cells"][0]["evidence"]) for clause in group["clauses"]] == [True, False]


def test_segmentations_that_differ_are_counted_in_a_cell_and_in_totals() -> None:
    cells = [cell("A", differing=("joined", "bytes", "bytes"), **{"pass": 3}), cell("B", differing=("bytes",), fail=1)]
    [section] = document(group_cells=cells)["sections"]

    first, second = (group["rows"][0]["cells"][0] for group in section["groups"])
    assert (first["differing"], second["differing"]) == ({"bytes": 2, "joined": 1}, {"bytes": 1})
    assert (first["mark"], first["plays"]) == ("pass", 3)
    assert section["totals"][0]["cells"][0]["differing"] == {"bytes": 3, "joined": 1}
    assert section["totals"][0]["cells"][0]["plays"] == 4


def test_a_green_cell_with_a_difference_links_to_where_it_weighs() -> None:
    row = COLUMN | {"group": "INSERT", "level": "SHOULD", "charged": "THR-ROBUSTNESS-6"}
    must = cell(differing=("bytes",), **{"pass": 1})
    clause = must | {"clause": "THR-INSERT-1"}
    [section] = document(group_cells=[must], clause_cells=[clause], evidence=[row])["sections"]
    links = [section["groups"][0][rows][0]["cells"][0]["evidence"] for rows in ("rows", "clauses")]

    assert links[0] == links[1]
    assert str(links[0]).startswith(evidence_page(row) + "#e")
    [section] = document(group_cells=[cell(**{"pass": 1})], evidence=[row])["sections"]
    assert section["groups"][0]["rows"][0]["cells"][0]["evidence"] is None


@pytest.mark.parametrize(
    ("answers", "disagree"),
    [(["refused", "accepted"], True), (["refused", "refused"], False), (["refused", "untestable"], False)],
    ids=str,
)
def test_may_answers_disagree_when_two_columns_saw_different_things(answers: list[str], disagree: bool) -> None:
    columns = [COLUMN, COLUMN | {"implementation": "beta"}]
    seen = {"group": "G", "case": "c", "title": "t", "clauses": ["A"], "count": 1}
    rows = [column | seen | {"answer": answer} for column, answer in zip(columns, answers, strict=True)]
    [section] = document(runs=[RUN | column for column in columns], may_answers=rows)["sections"]

    assert disagree == section["may"][0]["disagree"]


def test_lines_that_do_not_count_are_reported_by_file() -> None:
    problem = {"source": "/f", "kind": "corrupt", "reason": "not one JSON object", "count": 2, "example": "{"}
    good = {"source": "/f", "kind": "record", "reason": None, "count": 3, "example": None}
    inputs = document(line_counts=[problem, good], files={"/f": False, "/empty": True}, incomplete=frozenset({"/f"}))[
        "inputs"
    ]

    assert (inputs["lines"], inputs["records"], inputs["corrupt"], inputs["damaged"]) == (5, 3, 2, 1)
    assert (inputs["incomplete"], [one["incomplete"] for one in inputs["files"]]) == (1, [False, True])
    assert inputs["files"][1]["problems"][0]["reason"] == "not one JSON object"


def test_rows_in_another_order_give_the_same_document() -> None:
    cells = [cell("A", **{"pass": 1}), cell("B", fail=2), cell("A", "SHOULD")]

    assert document(group_cells=cells) == document(group_cells=cells[::-1])


def test_evidence_pages_of_lookalike_names_are_apart_and_stay_below_their_folder() -> None:
    pages = {evidence_page(COLUMN | {"implementation": name}) for name in ("../../x", "..-..-x", ". . x", "")}

    assert len(pages) == 4
    assert all(page.count("/") == 1 and page.startswith("evidence/throttr-7.1.0-server") for page in pages)
