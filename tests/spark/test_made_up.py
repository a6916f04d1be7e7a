"""Lakes of made-up runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from wireproof.spark import made_up
from wireproof.spark.lake.batches import Lake
from wireproof.spark.lake.tables import RECORDS
from wireproof.spark.made_up_plan import Plan

pytestmark = pytest.mark.spark


def test_the_generator_makes_what_a_lake_holds(spark: SparkSession, tmp_path: Path) -> None:
    made = made_up.make_lake(
        Lake(spark, str(tmp_path / "lake"), create=True), Plan(seed=1, runs=2, implementations=1, cases=12)
    )

    records = Lake(spark, str(tmp_path / "lake")).records()
    assert records.columns == RECORDS.fieldNames()
    assert records.count() == made["records"] == 2 * 12 * 3
