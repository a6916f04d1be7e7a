"""`wireproof replay`: does a finding still show?"""

from __future__ import annotations

from pathlib import Path

import click

from fuzz.findings.finding import FindingError
from fuzz.findings.store import load
from fuzz.invariants.violation import Violation
from fuzz.targets_known import TARGETS

GONE, REPRODUCED = 0, 1


@click.command()
@click.argument("finding", type=click.Path(path_type=Path, exists=True))
@click.pass_context
def command(context: click.Context, /, finding: Path) -> None:
    """Play the input of FINDING (its directory, or finding.json) again: REPRODUCED exits 1, GONE exits 0."""
    try:
        found = load(finding)
    except FindingError as error:
        raise click.UsageError(str(error)) from None
    if found.engine not in TARGETS:
        raise click.UsageError(f"a finding of engine {found.engine} cannot be replayed yet")
    try:
        TARGETS[found.engine].check(found.protocol, found.data)
    except Violation as violation:
        click.echo(f"REPRODUCED {found.id}: {violation}")
        context.exit(REPRODUCED)
    click.echo(f"GONE {found.id}: {found.oracle} holds for this input")
    context.exit(GONE)
