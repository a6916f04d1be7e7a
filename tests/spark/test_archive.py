"""What makes Spark start sooner: the jars of a local session, and an archive of its classes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from wireproof.spark import archive, session
from wireproof.spark.jvm import class_archive, spark_home

INSTALLED = Path(pyspark.__file__).parent


def test_a_local_spark_has_all_jars_but_those_that_nothing_uses(tmp_path: Path) -> None:
    home = spark_home({"XDG_CACHE_HOME": str(tmp_path)})
    assert home.is_relative_to(tmp_path)
    assert spark_home({"XDG_CACHE_HOME": str(tmp_path)}) == home
    assert (home / "bin" / "spark-submit").samefile(INSTALLED / "bin" / "spark-submit")
    left = {jar.name for jar in (INSTALLED / "jars").iterdir()} - {jar.name for jar in (home / "jars").iterdir()}
    assert any(name.startswith("spark-mllib") for name in left)
    assert not [name for name in left if name.startswith(("spark-sql", "spark-core", "hadoop", "parquet"))]


def test_the_spark_that_a_user_names_is_taken_and_without_a_cache_that_of_pyspark(tmp_path: Path) -> None:
    assert spark_home({"SPARK_HOME": "/opt/spark"}) == Path("/opt/spark")
    (tmp_path / "cache").touch()
    assert spark_home({"XDG_CACHE_HOME": str(tmp_path / "cache")}) == INSTALLED


def test_an_archive_is_for_one_java_and_in_the_cache_of_the_user(tmp_path: Path) -> None:
    one, other = ({"JAVA_HOME": home, "XDG_CACHE_HOME": str(tmp_path)} for home in ("/a", "/b"))

    assert class_archive(one) == class_archive(dict(one))
    assert class_archive(one) != class_archive(other)
    assert class_archive(one).is_relative_to(tmp_path)


@pytest.mark.parametrize("small", [True, False])
def test_an_archive_is_used_where_there_is_one(small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "spark.jsa"
    monkeypatch.setattr(session, "class_archive", lambda environ: file)
    assert "SharedArchiveFile" not in session.java_options(small=small)
    file.touch()
    assert session.java_options(small=small).endswith(f"-XX:SharedArchiveFile={file}")


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_what_was_archived_is_loaded_by_the_next_command(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)

    written = run("wireproof.spark.archive")
    if "wrote no archive" in written.stderr:
        pytest.skip(written.stderr)
    assert written.returncode == 0, written.stderr
    [file] = (tmp_path / "cache" / "wireproof").glob("*.jsa")
    assert file.stat().st_size > 10 << 20
    archive.example_run(tmp_path / "runs", 3)
    environment["JAVA_TOOL_OPTIONS"] = f"-Xlog:class+load:file={tmp_path}/loaded-%p"
    taken = run("wireproof.spark.ingest", str(tmp_path / "runs"), "--lake", str(tmp_path / "lake"))
    assert "took 1 new run " in taken.stdout
    loaded = [one for log in tmp_path.glob("loaded-*") for one in log.read_text(errors="replace").splitlines()]
    assert any("org.apache.spark.sql.SparkSession" in one and "shared objects file" in one for one in loaded)
