"""`wireproof site`: hands over to the Spark job, with the sentences of the clauses, which records do not hold."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import click

from wireproof.conformance.report.work_progress import waiting
from wireproof.conformance.run.processes import module_command, module_environment
from wireproof.conformance.suite.clauses import load_clauses
from wireproof.conformance.suite.documents import vectors_root


@click.command()
@click.option("--lake", required=True, metavar="URI", help="A lake that `wireproof ingest` made.")
@click.option("--out", required=True, type=click.Path(file_okay=False), metavar="DIR", help="Where the pages go.")
@click.option("--days", type=click.IntRange(1), default=7, show_default=True, help="How far back changes are listed.")
@click.option("--master", metavar="URL", help="Spark master; default local[*].")
@click.pass_context
def command(context: click.Context, /, lake: str, out: str, days: int, master: str | None) -> None:
    """Write the pages of a lake: an overview of all implementations, the matrix, a page for each implementation and
    clause, and what changed.

    Static files: open index.html; no network is used. Exit codes: 0 written, 2 not. Needs the extra: wireproof[spark].
    """
    with tempfile.TemporaryDirectory(prefix="wireproof-site-") as folder:
        sentences = Path(folder) / "sentences.json"
        sentences.write_text(json.dumps(_sentences()), encoding="utf-8")
        words = ["--lake", lake, "--out", out, "--days", str(days), "--sentences", str(sentences)]
        words += ["--master", master] if master else []
        with waiting("Spark is at work"):
            code = subprocess.run(module_command("wireproof.spark.site", *words), env=module_environment(), check=False)
    context.exit(code.returncode)


def _sentences() -> dict[str, str]:
    """Return what each clause of every protocol says."""
    found: dict[str, str] = {}
    for path in sorted(vectors_root().glob("*/clauses.yaml")):
        clauses, *_ = load_clauses(path)
        for name, clause in clauses.items():
            unclear = f" The document is unclear here: {', '.join(clause.errata)}." if clause.errata else ""
            found[name] = clause.text + unclear
    return found
