"""`wireproof baseline`: writes what a run fails into a baseline, and takes out what no longer fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from wireproof.conformance.report.baseline import (
    NOTHING,
    BaselineError,
    compare,
    pruned,
    read_baseline,
    written_baseline,
)
from wireproof.conformance.report.outputs import OutputError, reporting_file_errors
from wireproof.conformance.report.run_files import ReadRun, RunFileError, read_run
from wireproof.conformance.sdk.play.sdk_suite import sdk_cases
from wireproof.conformance.suite.cases import load_suite

FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
RUNS = click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))


@click.group()
def command() -> None:
    """Known failures of a target: `wireproof test --baseline FILE` forgives them (docs/reading-a-report.md)."""


@command.command()
@FILE
@RUNS
@click.option(
    "--by", type=click.Choice(["case", "clause"]), default="case", show_default=True, help="What a line names."
)
def write(file: Path, runs: tuple[Path, ...], by: str) -> None:
    """Write into FILE what fails in RUNS; reasons that stand there already are kept.

    What fails in some of several runs and passes in others `passes sometimes`. Consequences of a failure have no line.

    \b
    wireproof baseline write known-failures runs/mine
    """
    with _errors():
        found = [read_run(one) for one in runs]
        before = read_baseline(file) if file.exists() else NOTHING
        text = written_baseline([one.records for one in found], before, by_clause=by == "clause")
        with reporting_file_errors(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", errors="backslashreplace")
    lines = len(text.splitlines()) - 1
    click.echo(f"{file}: {lines} known failure{'' if lines == 1 else 's'}")


@command.command()
@FILE
@RUNS
def prune(file: Path, runs: tuple[Path, ...]) -> None:
    """Take out of FILE what fails in none of RUNS, and what is no case or clause any more; say what went.

    \b
    wireproof baseline prune known-failures runs/mine
    """
    with _errors():
        baseline = read_baseline(file)
        found = [read_run(one) for one in runs]
        cases, clauses = _known(found)
        everything = [record for one in found for record in one.records]
        text, gone = pruned(file, compare(baseline, everything, cases, clauses))
        with reporting_file_errors(file):
            file.write_text(text, encoding="utf-8")
    for name in gone:
        click.echo(f"removed {name}")
    click.echo(f"{file}: {len(gone)} removed, {len(baseline.entries) - len(gone)} left")


def _known(runs: list[ReadRun]) -> tuple[list[str], list[str]]:
    cases, clauses = list[str](), list[str]()
    for name in {str(one.summary["protocol"]) for one in runs}:
        suite = load_suite(name)
        cases += [one.id for one in (*suite.cases, *sdk_cases(name))]
        clauses += suite.clauses
    return cases, clauses


@contextmanager
def _errors() -> Iterator[None]:
    """Turn what cannot be read or written into a line and exit code 2."""
    try:
        yield
    except (BaselineError, RunFileError, OutputError) as error:
        raise click.UsageError(str(error)) from None
