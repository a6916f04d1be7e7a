"""`wireproof matrix`: hands over to the Spark job, a process that shares nothing with the suite but records."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click

from wireproof.conformance.report.work_progress import waiting
from wireproof.conformance.run.processes import module_command, module_environment


@click.command()
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path))
@click.option("--lake", metavar="URI", help="A lake of `wireproof ingest`, in place of RUNS.")
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Where the matrix goes.")
@click.option("--master", default=None, help="Spark master; default local[*].")
@click.pass_context
def command(context: click.Context, /, runs: tuple[Path, ...], lake: str | None, out: Path, master: str | None) -> None:
    """Fold every run below RUNS (folders, any depth) or of a lake into matrices: HTML, Markdown, JSON, Parquet in DIR.

    The latest run of each implementation, version, profile and variant counts. Needs the extra: wireproof[spark].
    """
    arguments = [*map(str, runs), "--out", str(out), *(["--master", master] if master else [])]
    arguments += ["--lake", lake] if lake else []
    with waiting("Spark is at work"):
        done = subprocess.run(module_command("wireproof.spark.job", *arguments), env=module_environment(), check=False)
    context.exit(done.returncode)
