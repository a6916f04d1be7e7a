"""`wireproof site`: hands over to the Spark job, with the sentences of the clauses, which records do not hold."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import click

from wireproof.conformance.run.processes import module_command, module_environment
from wireproof.conformance.suite.clauses import load_clauses
from wireproof.conformance.suite.documents import vectors_root

HANDED_OVER = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@click.command(context_settings=HANDED_OVER, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, /, arguments: tuple[str, ...]) -> None:
    """Write the pages of a lake: static files that need no network. Needs the extra: wireproof[spark]."""
    with tempfile.TemporaryDirectory(prefix="wireproof-site-") as folder:
        sentences = Path(folder) / "sentences.json"
        sentences.write_text(json.dumps(_sentences()), encoding="utf-8")
        words = module_command("wireproof.spark.site", "--sentences", str(sentences), *arguments)
        code = subprocess.run(words, env=module_environment(), check=False).returncode
    context.exit(code)


def _sentences() -> dict[str, str]:
    """Return what each clause of every protocol says."""
    found: dict[str, str] = {}
    for path in sorted(vectors_root().glob("*/clauses.yaml")):
        clauses, _ = load_clauses(path)
        for name, clause in clauses.items():
            unclear = f" The document is unclear here: {', '.join(clause.errata)}." if clause.errata else ""
            found[name] = clause.text + unclear
    return found
