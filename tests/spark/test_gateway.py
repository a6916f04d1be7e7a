"""How the Java of a session starts: at once on this machine, by spark-submit where anybody configured Spark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from wireproof.spark import gateway

compared = pytest.mark.skipif(not gateway.is_compared(), reason="another version of PySpark: spark-submit starts it")


@compared
@pytest.mark.parametrize("master", ["local", "local[*]", "local[2]"])
def test_java_starts_at_once_where_nobody_configured_spark(master: str) -> None:
    assert gateway.starts_at_once({"JAVA_HOME": "/java", "SPARK_BUFFER_SIZE": "65536"}, master)


@pytest.mark.parametrize("master", ["spark://host:7077", "local-cluster[2,1,1024]", "yarn"])
def test_a_cluster_is_left_to_spark_submit(master: str) -> None:
    assert not gateway.starts_at_once({"JAVA_HOME": "/java"}, master)


@pytest.mark.parametrize("name", gateway.CONFIGURED)
def test_what_somebody_configured_is_left_to_spark_submit(name: str) -> None:
    assert not gateway.starts_at_once({"JAVA_HOME": "/java", name: "x"})


def test_jars_that_have_most_classes_are_searched_first(tmp_path: Path) -> None:
    for name in ("arrow-1.jar", "scala-library-2.jar", "spark-mllib_2.jar", "spark-catalyst_2.jar", "zstd-1.jar"):
        (tmp_path / name).touch()

    found = gateway.class_path(tmp_path).split(os.pathsep)

    assert [Path(one).name for one in found] == [
        "spark-catalyst_2.jar",
        "scala-library-2.jar",
        "arrow-1.jar",
        "zstd-1.jar",
    ]


@compared
def test_every_jar_that_is_to_come_first_is_there() -> None:
    names = [file.name for file in gateway.jars().glob("*.jar")]

    assert [one for one in (*gateway.JARS_FIRST, *gateway.LEFT_OUT) if not any(n.startswith(one) for n in names)] == []


def test_a_java_that_ends_at_once_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway.tempfile, "tempdir", str(tmp_path))

    with pytest.raises(OSError, match="Java ended"):
        gateway.start_gateway(["/bin/sh", "-c", "exit 1"])
    assert list(tmp_path.iterdir()) == []
    assert not set(gateway.PORT_AND_SECRET) & set(os.environ)


def test_a_version_that_was_not_compared_is_left_to_spark_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway.importlib.metadata, "version", lambda name: "4.9.0")

    assert not gateway.starts_at_once({"JAVA_HOME": "/java"})


@compared
@pytest.mark.spark
def test_spark_gets_the_flags_that_its_launcher_gives(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    given = list(jvm.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptionArray())

    assert [flag for flag in given if flag not in gateway.FLAGS and not flag.startswith("-Dderby.")] == []


@pytest.mark.spark
def test_the_session_of_these_tests_started_as_sessions_do(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    started = str(jvm.java.lang.System.getProperty("sun.java.command"))

    assert (started == gateway.GATEWAY) == gateway.starts_at_once(os.environ)
