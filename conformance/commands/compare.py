"""`wireproof compare`: what changed from one run to another."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from wireproof.conformance.report.comparison_page import comparison_page, counted, show_comparison
from wireproof.conformance.report.console import console_of
from wireproof.conformance.report.outputs import OutputError, reporting_file_errors
from wireproof.conformance.report.run_comparison import Changed, compare_runs
from wireproof.conformance.report.run_files import RunFileError, read_run

NOTHING_BROKE, BROKE, USAGE = range(3)


@click.command()
@click.argument("first", type=click.Path(path_type=Path, exists=True))
@click.argument("second", type=click.Path(path_type=Path, exists=True))
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the comparison there, as a page.")
@click.option("--open", "opens", is_flag=True, help="Then show the page of --out in the browser.")
@click.option("--quiet", "-q", is_flag=True, help="Print the last line only.")
@click.pass_context
def command(context: click.Context, /, first: Path, second: Path, out: Path | None, opens: bool, quiet: bool) -> None:
    """Say what changed from run FIRST to run SECOND (folders of --out, or files of records).

    Exit codes: 0 nothing broke, 1 a case that failed no MUST or SHOULD in FIRST does in SECOND, 2 usage.

    \b
    wireproof compare runs/released runs/mine --out changes.html
    """
    try:
        found = compare_runs(read_run(first), read_run(second))
        if out is not None:
            with reporting_file_errors(out):
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_text(comparison_page(found, out), encoding="utf-8")
    except (RunFileError, OutputError) as error:
        click.echo(f"wireproof: {error}", err=True)
        context.exit(USAGE)
    show_comparison(console_of(quiet=quiet), found)
    broke = bool(found.of(Changed.BROKEN))
    where = f"; page in {out}" if out else ""
    click.echo(f"{'broken' if broke else 'nothing broke'}: {counted(found)}{where}")
    if out is not None and opens:
        webbrowser.open(out.resolve().as_uri())
    context.exit(BROKE if broke else NOTHING_BROKE)
