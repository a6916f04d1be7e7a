"""Each step from lines to cells, on small frames with the expected rows written out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark import transforms
from wireproof.spark.schemas import CLASSIFIED, LINES

pytestmark = pytest.mark.spark

Record = dict[str, Any]
Records = Callable[..., DataFrame]


def rows(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a frame as plain tuples, sorted."""
    return sorted((tuple(row) for row in frame.select(*columns).collect()), key=repr)


def runs_of(records: DataFrame, cut_short: Sequence[str] = ()) -> DataFrame:
    """The runs of accepted records."""
    unread = {"kind": F.lit("record"), "reason": F.lit(None), "example": F.lit(None)}
    return transforms.runs_of(transforms.lines_as_cases(records.withColumns(unread)), cut_short)


def test_every_line_gets_a_kind_and_a_reason(spark: SparkSession, record: Callable[..., Record]) -> None:
    good = json.dumps(record())
    expected = {
        good: ("record", None),
        good[:-9]: ("corrupt", "not one JSON object"),
        good + good: ("corrupt", "not one JSON object"),
        f"{good},{good}": ("corrupt", "not one JSON object"),
        good + "garbage": ("corrupt", "not one JSON object"),
        f"[{good}]": ("corrupt", "not one JSON object"),
        "[]": ("corrupt", "not one JSON object"),
        "17": ("corrupt", "not one JSON object"),
        "\0\0\0": ("corrupt", "not one JSON object"),
        json.dumps(record(step="one")): ("corrupt", "a field has another type"),
        json.dumps(record(clauses="THR-1")): ("corrupt", "a field has another type"),
        json.dumps(record(schema="wireproof.record/2", step="one")): ("foreign", "another schema id"),
        '{"level": "info", "message": "not ours"}': ("foreign", "another schema id"),
        "{}": ("foreign", "another schema id"),
        json.dumps(record(case=None)): ("foreign", "a field is missing"),
        json.dumps(record(clauses=[])): ("foreign", "a field is missing"),
        json.dumps(record(clauses=[None])): ("foreign", "a field is missing"),
        json.dumps(record(verdict="maybe")): ("foreign", "unknown verdict"),
        json.dumps(record(level="COULD")): ("foreign", "unknown level"),
        json.dumps(record(role="proxy")): ("foreign", "unknown role"),
        json.dumps(record(run_started_at="yesterday")): ("foreign", "run_started_at is not RFC 3339 in UTC"),
        json.dumps(record(run_started_at="2026-02-31T10:00:00Z")): ("foreign", "run_started_at is not RFC 3339 in UTC"),
    }
    lines = spark.createDataFrame([(line, line) for line in expected], LINES)

    found = {row.source: (row.kind, row.reason) for row in transforms.classified(lines).collect()}

    assert expected == found


def test_blank_lines_are_not_lines(spark: SparkSession) -> None:
    lines = spark.createDataFrame([("", "f"), (" \t ", "f")], LINES)

    assert transforms.classified(lines).count() == 0


def test_classified_lines_have_the_declared_columns(spark: SparkSession) -> None:
    frame = transforms.classified(spark.createDataFrame([], LINES))

    assert [(field.name, field.dataType) for field in CLASSIFIED] == [
        (field.name, field.dataType) for field in frame.schema
    ]


def test_lines_are_counted_by_file_kind_and_reason(spark: SparkSession, record: Callable[..., Record]) -> None:
    good = json.dumps(record())
    lines = spark.createDataFrame([(good, "a"), (good, "a"), ("{", "a"), ("{}", "b"), ("{{", "a")], LINES)

    counts = transforms.line_counts(transforms.cases_of(transforms.classified(lines)))

    assert rows(counts, "source", "kind", "reason", "count", "example") == [
        ("a", "corrupt", "not one JSON object", 2, "{"),
        ("a", "record", None, 2, None),
        ("b", "foreign", "another schema id", 1, "{}"),
    ]


def test_lines_and_cases_are_counted_without_sorting_them(spark: SparkSession, records: Records) -> None:
    lines = transforms.classified(spark.createDataFrame([], LINES))
    plays = transforms.judged(records({}))

    for counted in (transforms.cases_of(lines), transforms.clause_cells(plays), transforms.group_cells(plays)):
        plan = counted._jdf.queryExecution().executedPlan().toString()
        assert "HashAggregate(" in plan
        assert "SortAggregate(" not in plan


def test_the_latest_run_of_each_column_is_kept(records: Records) -> None:
    old, new = "2026-01-01T10:00:00.000Z", "2026-01-02T09:00:00.000Z"
    frame = records(
        {"run_id": "z-old", "run_started_at": old},
        {"run_id": "a-new", "run_started_at": new},
        {"run_id": "a-new", "run_started_at": new, "case": "another"},
        {"run_id": "alone", "run_started_at": old, "variant": "uint8"},
        {"run_id": "other", "run_started_at": old, "implementation_version": "0.9"},
    )

    runs = runs_of(frame)

    assert rows(runs, "run_id", "records", "kept") == [
        ("a-new", 2, True),
        ("alone", 1, True),
        ("other", 1, True),
        ("z-old", 1, False),
    ]
    assert rows(transforms.latest_records(frame, runs), "run_id", "case") == [
        ("a-new", "THR-C-INSERT-1"),
        ("a-new", "another"),
        ("alone", "THR-C-INSERT-1"),
        ("other", "THR-C-INSERT-1"),
    ]


def test_the_higher_run_id_wins_among_runs_of_the_same_instant(records: Records) -> None:
    runs = runs_of(records({"run_id": "a"}, {"run_id": "b"}))

    assert rows(runs, "run_id", "kept") == [("a", False), ("b", True)]


def test_a_partial_run_never_replaces_a_complete_one(records: Records) -> None:
    days = [f"2026-01-0{day}T10:00:00.000Z" for day in range(1, 6)]
    frame = records(
        {"run_id": "whole", "run_started_at": days[0], "run_cases": 2},
        {"run_id": "whole", "run_started_at": days[0], "run_cases": 2, "case": "another"},
        {"run_id": "filtered", "run_started_at": days[1], "run_cases": 2, "partial": "-k insert"},
        {"run_id": "torn", "run_started_at": days[2], "run_cases": 2},
        {"run_id": "only", "run_started_at": days[3], "run_cases": 9, "variant": "uint8"},
    )

    assert rows(runs_of(frame), "run_id", "partial", "kept") == [
        ("filtered", "-k insert", False),
        ("only", "1 of 9 cases", True),
        ("torn", "1 of 2 cases", False),
        ("whole", None, True),
    ]


def test_a_run_whose_journal_is_there_is_partial(records: Records) -> None:
    frame = records({"run_id": "a"}, {"run_id": "b", "run_started_at": "2026-01-09T10:00:00.000Z"})
    (source,) = {row["source"] for row in frame.where("run_id = 'b'").collect()}

    runs = runs_of(frame, [source])

    assert {row["partial"] for row in runs.collect()} == {transforms.CUT_SHORT}


def test_a_repeated_record_counts_once_with_its_worst_verdict(records: Records) -> None:
    frame = records({}, {"verdict": "fail"}, {"verdict": "lenient"}, {"delivery": "bytes"})

    assert rows(runs_of(frame), "run_id", "repeats", "paired") == [("run-1", True, False)]
    assert rows(runs_of(records({}, {"case": "B", "peer": "beta"})), "repeats", "paired") == [(False, True)]
    once = transforms.without_repeats(frame)

    assert rows(once, "delivery", "verdict") == [("bytes", "pass"), ("whole", "fail")]


def test_a_failure_counts_only_against_the_clause_it_is_blamed_on(records: Records) -> None:
    frame = records({"clauses": ["A", "B", "C"], "verdict": "fail", "blamed": "B"})

    cells = transforms.by_clause(frame)

    assert rows(cells, "clause", "fail", "untestable", "k", "n") == [
        ("A", 0, 1, 0, 0),
        ("B", 1, 0, 0, 1),
        ("C", 0, 1, 0, 0),
    ]


def test_without_blame_the_first_clause_is_charged(records: Records) -> None:
    verdicts = ("lenient", "fail", "crash", "hang")
    cells = transforms.by_clause(
        records(*({"implementation": one, "clauses": ["A", "B"], "verdict": one} for one in verdicts))
    )

    assert rows(cells, "implementation", "clause", "untestable", *verdicts) == sorted(
        (one, clause, untestable, *(int(one == other) * (1 - untestable) for other in verdicts))
        for one in verdicts
        for clause, untestable in (("A", 0), ("B", 1))
    )


def test_a_clause_that_is_blamed_counts_even_where_the_case_does_not_list_it(records: Records) -> None:
    cells = transforms.by_clause(records({"clauses": ["A"], "verdict": "crash", "blamed": "X"}))

    assert rows(cells, "clause", "crash", "untestable") == [("A", 0, 1), ("X", 1, 0)]


def test_a_verdict_that_blames_nobody_counts_for_every_clause(records: Records) -> None:
    verdicts = ("pass", "unsupported", "untestable", "harness_error")
    plays = ({"implementation": one, "clauses": ["A", "B", "B"], "verdict": one, "blamed": None} for one in verdicts)
    cells = transforms.by_clause(records(*plays))

    assert rows(cells, "implementation", "clause", *verdicts) == sorted(
        (one, clause, *(int(one == other) for other in verdicts)) for one in verdicts for clause in ("A", "B")
    )


def test_n_leaves_out_what_could_not_be_judged(records: Records) -> None:
    verdicts = ["pass", "lenient", "fail", "crash", "hang", "unsupported", "untestable", "harness_error"]
    frame = records(*({"case": verdict, "verdict": verdict} for verdict in verdicts))

    cells = transforms.by_group(frame)

    assert rows(cells, "k", "n", *verdicts) == [(1, 5, 1, 1, 1, 1, 1, 1, 1, 1)]


def test_levels_never_share_a_number_and_may_has_none(records: Records) -> None:
    frame = records({"case": "1"}, {"case": "2"}, {"case": "3", "level": "SHOULD"}, {"case": "4", "level": "MAY"})

    cells = transforms.by_group(frame)

    assert rows(cells, "level", "pass", "k", "n") == [("MAY", 1, None, None), ("MUST", 2, 2, 2), ("SHOULD", 1, 1, 1)]


def test_a_case_counts_once_with_the_worst_of_its_segmentations(records: Records) -> None:
    frame = records(
        {"case": "1"},
        {"case": "1", "delivery": "bytes", "verdict": "lenient"},
        {"case": "1", "delivery": "joined", "verdict": "hang"},
        {"case": "2"},
        {"case": "2", "delivery": "bytes"},
    )

    assert rows(transforms.by_group(frame), "k", "n", "hang", "lenient", "plays") == [(1, 2, 1, 0, 5)]
    assert rows(transforms.by_clause(frame), "k", "n", "hang", "plays") == [(1, 2, 1, 5)]


def test_what_the_requirement_set_does_not_ask_for_is_counted_apart(records: Records) -> None:
    fails, newer = {"verdict": "fail", "blamed": "THR-INSERT-1"}, {"not_required": "newer than throttr@1"}
    frame = records(
        {"case": "asked for"},
        {"case": "newer", **fails, **newer},
        {"case": "in one segmentation", "delivery": "bytes", **fails, **newer},
        {"case": "in one segmentation"},
    )

    for cells in (transforms.by_group(frame), transforms.by_clause(frame)):
        assert rows(cells, "k", "n", "fail", "untestable", "not_required", "differing") == [(2, 2, 0, 0, 1, [])]


def test_segmentations_in_which_a_case_fails_that_passes_otherwise_are_named(records: Records) -> None:
    frame = records(
        {"case": "1"},
        {"case": "1", "delivery": "bytes", "level": "SHOULD", "clauses": ["R"], "verdict": "lenient"},
        {"case": "1", "delivery": "joined", "level": "SHOULD", "clauses": ["R"], "verdict": "crash"},
        {"case": "1", "delivery": "fields", "level": "SHOULD", "clauses": ["R"]},
        {"case": "1", "delivery": "dripped", "level": "SHOULD", "clauses": ["R"], "verdict": "untestable"},
        {"case": "2", "verdict": "fail"},
        {"case": "2", "delivery": "bytes", "level": "SHOULD", "clauses": ["R"], "verdict": "fail"},
        {"case": "3"},
        {"case": "3", "delivery": "bytes", "level": "SHOULD", "clauses": ["R"], "verdict": "hang"},
        {"case": "1", "implementation": "beta"},
    )
    cells = transforms.by_group(frame)
    found = {(row["implementation"], row["level"]): sorted(row["differing"]) for row in cells.collect()}

    assert found == {
        ("alpha", "MUST"): ["bytes", "bytes", "joined"],
        ("alpha", "SHOULD"): ["bytes", "bytes", "joined"],
        ("beta", "MUST"): [],
    }
    alpha = transforms.by_clause(frame.where("implementation = 'alpha'")).collect()
    clauses = {(row["clause"], row["level"]): sorted(row["differing"]) for row in alpha}
    assert clauses["THR-INSERT-1", "MUST"] == ["bytes", "bytes", "joined"]
    assert clauses["R", "SHOULD"] == ["bytes", "bytes", "joined"]


def test_what_a_may_case_saw_is_listed_by_implementation(records: Records) -> None:
    may = {"level": "MAY", "case": "c", "title": "t"}
    frame = records(
        {**may, "observed": "refused"},
        {**may, "observed": "refused", "delivery": "bytes"},
        {**may, "observed": "accepted", "implementation": "beta"},
        {**may, "verdict": "crash", "observed": "nothing", "implementation": "gamma"},
        {**may, "implementation": "delta"},
        {"case": "not a MAY"},
    )

    answers = transforms.may_answers(frame)

    assert rows(answers, "implementation", "case", "answer", "count") == [
        ("alpha", "c", "refused", 2),
        ("beta", "c", "accepted", 1),
        ("delta", "c", "pass", 1),
        ("gamma", "c", "crash", 1),
    ]


def test_evidence_keeps_the_worst_of_each_cell_and_says_how_many_there_are(records: Records) -> None:
    frame = records(
        {"case": "1", "verdict": "lenient"},
        {"case": "2", "verdict": "crash"},
        {"case": "3", "verdict": "fail"},
        {"case": "4"},
        {"case": "5", "verdict": "unsupported"},
        {"case": "6", "verdict": "fail", "blamed": "B"},
    )

    kept = transforms.evidence(frame, 2)

    assert rows(kept, "charged", "case", "verdict", "of") == [
        ("B", "6", "fail", 1),
        ("THR-INSERT-1", "2", "crash", 3),
        ("THR-INSERT-1", "3", "fail", 3),
    ]
