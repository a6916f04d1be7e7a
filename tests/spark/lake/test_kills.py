"""Kill matrices in a lake: which case kills which mutant, by the newest matrix of each variant."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.places import ROOT
from tests.spark.lakes import commit_runs
from wireproof.spark import statistics
from wireproof.spark.job import read_lines
from wireproof.spark.lake.batches import Lake
from wireproof.spark.lake.documents import TakenDocuments
from wireproof.spark.lake.kills import classified_kills, take_kill_matrices
from wireproof.spark.lake.upkeep import compact

pytestmark = pytest.mark.spark

SCHEMA = json.loads((ROOT / "reports" / "schema" / "kill-matrix.schema.json").read_text(encoding="utf-8"))


def kill_matrix(variant: str, kills: dict[str, Sequence[str]], **changes: Any) -> dict[str, Any]:
    """Return a kill matrix: mutant -> the cases that kill it; one of `conforming` in its name breaks no clause."""
    faults = [
        {
            "name": mutant,
            "told": f"what {mutant} breaks",
            "group": "G",
            "clauses": ["CL-1"],
            "legal": "conforming" in mutant,
            "live": False,
            "error": None,
            "untestable": 0,
            "kills": [
                {"case": case, "verdict": "fail", "blamed": f"CL-{case}", "right": case == "A", "deliveries": []}
                for case in cases
            ],
        }
        for mutant, cases in kills.items()
    ]
    named = {"schema": "wireproof.kill-matrix/1", "wireproof_version": "1", "protocol": "p", "profile": "1"}
    rest = {"blame": {"right": 0, "kills": 0}, "complaints": [], "mutants": [], "cases": []}
    return {**named, "variant": variant, **rest, "faults": faults, **changes}


def written(folder: Path, text: str | dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    file = folder / "kill-matrix.json"
    file.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return file


def by_case(kills: DataFrame) -> dict[str, tuple[int, int, int]]:
    rows = statistics.mutants_by_case(kills).collect()
    return {row["case"]: (row["mutants"], row["alone"], row["right"]) for row in rows}


def test_the_newest_matrix_of_each_variant_counts(spark: SparkSession, tmp_path: Path) -> None:
    old = {"one": ["A", "B"], "two": ["B"], "three": ["C"]}
    new = {"one": ["A", "B"], "two": ["B"], "three": [], "conforming-too": ["A"]}
    frames = []
    for variant, taken_at, kills in (("v", "2026-01-01", old), ("v", "2026-01-02", new), ("w", "2026-01-01", old)):
        matrix = kill_matrix(variant, kills)
        jsonschema_rs.validate(SCHEMA, matrix)
        files = read_lines(spark, [written(tmp_path / variant / taken_at, matrix)], whole=True)
        frames.append(classified_kills(files, taken_at))
    first, second, third = frames

    assert [(row["mutant"], row["told"]) for row in second.where("case is null").collect()] == [
        ("three", "what three breaks")
    ]
    assert by_case(first.union(second)) == {"A": (1, 0, 1), "B": (2, 1, 0)}
    assert by_case(first.union(second).union(third)) == {"A": (1, 0, 1), "B": (2, 1, 0), "C": (1, 1, 0)}


def test_kill_matrices_are_taken_once_and_compacted(
    spark: SparkSession, record: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    cases = [record(case=case, protocol="p", profile=profile) for case in "AC" for profile in "12"]
    uri = commit_runs(spark, tmp_path / "lake", cases).storage.root
    files = [
        written(tmp_path / "a", kill_matrix("v", {"one": ["A", "B"], "two": []})),
        written(tmp_path / "b", "{"),
        written(tmp_path / "c", kill_matrix("v", {}, schema="wireproof.kill-matrix/9")),
        written(tmp_path / "d", kill_matrix("v", {}, profile=None)),
    ]
    refused = {"no kill matrix in JSON": 1, "another schema id": 1, "a field is missing": 1}
    for new in (1, 0):
        taken = take_kill_matrices(Lake(spark, uri), read_lines(spark, files, whole=True))
        assert taken == TakenDocuments(new=new, repeated=1 - new, refused=refused)
    lake = Lake(spark, uri)
    assert (lake.kills().count(), lake.quarantine().count(), len(lake.markers)) == (3, 3, 2)

    assert compact(lake) == 2
    lake = Lake(spark, uri)
    mutants = statistics.mutants_by_case(lake.kills())
    rows = statistics.detection(lake.records(), mutants).collect()
    found = {(row["profile"], row["case"]): (row["mutants"], row["alone"]) for row in rows}
    assert found == {("1", "A"): (1, 0), ("1", "C"): (0, 0), ("2", "A"): (None, None), ("2", "C"): (None, None)}
