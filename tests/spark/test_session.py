"""What a session costs beside its queries."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every reader of Spark code knows

from wireproof.spark.jvm import spark_home

pytestmark = pytest.mark.spark


def test_java_is_not_asked_for_its_classes_with_each_column(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    F.when(F.col("a").isin(1), F.lit(1))  # the first columns ask for the session's settings
    view: Any = type(spark.sparkContext._jvm)
    asked, real = [], view.__getattr__

    def counted(self: Any, name: str) -> Any:
        asked.append(name)
        return real(self, name)

    monkeypatch.setattr(view, "__getattr__", counted)
    F.when(F.col("a").isin(1, 2), F.lit(1)).otherwise(F.array("b", "c"))
    assert asked == []


def test_a_session_begins_without_the_libraries_that_nothing_uses(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    jars = jvm.java.lang.System.getProperty("java.class.path")
    assert f"{spark_home(os.environ)}/jars/" in jars
