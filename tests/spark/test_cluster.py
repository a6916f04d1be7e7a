"""The same commands, unchanged, on a standalone cluster of two workers, from the wheel, with a lake whose URI is not of
the form `file:`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT
from wireproof.conformance.run.processes.servers import free_port
from wireproof.spark.jvm import prepare_java

pyspark = pytest.importorskip("pyspark")
pytestmark = [pytest.mark.spark, pytest.mark.nightly]

HOME = Path(pyspark.__file__).parent
SECONDS = 600


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


@contextmanager
def daemon(log: Path, *words: str) -> Iterator[None]:
    """A process of Spark's standalone cluster; it ends with the test."""
    environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as stream:
        command = [str(HOME / "bin" / "spark-class"), *words]
        process = subprocess.Popen(command, stdout=stream, stderr=stream, env=environment, cwd=log.parent)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master and two workers of one core each; the URL of the master."""
    prepare_java(os.environ)
    home, port = tmp_path_factory.mktemp("cluster"), free_port()
    url = f"spark://127.0.0.1:{port}"
    worker = ("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g")
    master = ("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    with daemon(home / "master.log", *master):
        waited(home / "master.log", "I have been elected leader")
        with (
            daemon(home / "one.log", *worker, "--webui-port", "0", "--work-dir", str(home / "one"), url),
            daemon(home / "two.log", *worker, "--webui-port", "0", "--work-dir", str(home / "two"), url),
        ):
            for name in ("one.log", "two.log"):
                waited(home / name, "Successfully registered with master")
            yield url


def waited(log: Path, words: str) -> None:
    deadline = time.monotonic() + SECONDS
    while words not in log.read_text(errors="replace"):
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        time.sleep(0.2)


def submitted(cluster: str, wheel: Path, script: Path, lake: Path, *words: str) -> str:
    mounted = f"spark.hadoop.fs.viewfs.mounttable.lakes.link./data=file://{lake}"
    settings = (mounted, "spark.driver.host=127.0.0.1", "spark.cores.max=2", "spark.executor.memory=700m")
    confs = [word for one in settings for word in ("--conf", one)]
    command = [str(HOME / "bin" / "spark-submit"), "--master", cluster, *confs, "--py-files", str(wheel), str(script)]
    environment = {**os.environ, "SPARK_HOME": str(HOME), "PYSPARK_PYTHON": sys.executable}
    environment |= {"PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": ""}
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=SECONDS, env=environment, cwd=script.parent
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_runs_go_into_a_lake_on_a_cluster_of_two_workers(
    cluster: str,
    wheel: Path,
    made_up_runs: Callable[..., Iterator[list[dict[str, Any]]]],
    write_run: Callable[..., Path],
    record: Callable[..., dict[str, Any]],
    tmp_path: Path,
) -> None:
    for number, run in enumerate(made_up_runs()):
        write_run(str(number), run)
    (tmp_path / "lake").mkdir()
    script = tmp_path / "run.py"
    script.write_text("import sys\nfrom wireproof.spark.ingest import main\nsys.exit(main())\n")

    words = (str(tmp_path / "runs"), "--lake", "viewfs://lakes/data")
    first = submitted(cluster, wheel, script, tmp_path / "lake", *words)
    again = submitted(cluster, wheel, script, tmp_path / "lake", *words)

    write_run("newest", [record(run_id="newest", run_started_at="2026-02-01T10:00:00.000Z")])
    patched = submitted(cluster, wheel, script, tmp_path / "lake", *words)

    assert "took 4 new runs" in first
    assert "rebuilt the aggregates" in first
    assert "already there: 4" in again
    assert "aggregates were up to date" in again
    assert "took 1 new run " in patched
    assert "patched 1 column of" in patched
    markers = sorted((tmp_path / "lake" / "_batches").glob("*.json"))
    assert [json.loads(one.read_text())["rows"]["records"] for one in markers] == [4 * 96, 1]
