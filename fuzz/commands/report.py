"""`wireproof fuzz report`: a folder of findings as a table, as SARIF and as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.suite.cases import load_suite
from wireproof.fuzz.findings.finding import FindingError, FuzzFinding
from wireproof.fuzz.findings.findings_folder import load
from wireproof.fuzz.findings.reports import rule_of, write_junit, write_sarif
from wireproof.protocols import protocol_names

__all__ = ["OUTPUTS", "command", "kept_in", "write_outputs"]

WIDTH = 160
LONGEST = 200
OUTPUTS = (
    click.option("--sarif", type=click.Path(path_type=Path, dir_okay=False), help="Write SARIF 2.1.0 to this file."),
    click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file."),
)


def kept_in(folder: Path) -> list[tuple[Path, FuzzFinding]]:
    """Return (directory, finding) pairs of a folder, sorted by id. Raises `FindingError`."""
    return [(file.parent, load(file)) for file in sorted(folder.glob("*/finding.json"))]


def clauses_of(found: Iterable[FuzzFinding]) -> dict[str, str]:
    """Return clause id -> text for the protocols of the findings."""
    names = {one.protocol for one in found} & set(protocol_names())
    return {clause.id: clause.text for name in names for clause in load_suite(name).clauses.values()}


def write_outputs(
    kept: Sequence[tuple[Path, FuzzFinding]], *, sarif: Path | None, junit: Path | None, checked: Iterable[str] = ()
) -> None:
    """Write the requested reports. Raises `OSError`."""
    if sarif is not None:
        write_sarif(sarif, kept, clauses_of(one for _, one in kept))
    if junit is not None:
        write_junit(junit, kept, checked)


@click.command()
@click.argument("findings", type=click.Path(path_type=Path, exists=True, file_okay=False))
@OUTPUTS[0]
@OUTPUTS[1]
def command(findings: Path, sarif: Path | None, junit: Path | None) -> None:
    """List the findings in the folder FINDINGS, and write them as SARIF or JUnit XML.

    \b
    wireproof fuzz report findings --sarif found.sarif --junit found.xml
    """
    try:
        kept = kept_in(findings)
        write_outputs(kept, sarif=sarif, junit=junit)
    except FindingError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot write: {error.strerror or error}: {error.filename}") from None
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    if kept:
        table = Table("id", "engine", "breaks", "again", "what")
        for _, one in kept:
            table.add_row(*map(escape, (one.id, one.engine, rule_of(one), one.label, one.detail[:LONGEST])))
        console.print(table)
    click.echo(f"{number_of(len(kept), 'finding')} in {findings}")
