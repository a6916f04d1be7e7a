"""`wireproof explain`: what a clause or case means, and who plays or breaks it."""

from __future__ import annotations

import click

from wireproof.conformance.commands.explanation import UnknownIdError, explained
from wireproof.conformance.report.derived_vectors import DeriveError
from wireproof.conformance.suite.cases import CaseError


@click.command()
@click.argument("identifier", metavar="CLAUSE|CASE")
@click.option("--profile", help="The profile of the example.  [default: the usual one]")
@click.option("--variant", "--width", help="The variant of the example.  [default: the usual one]")
def command(identifier: str, profile: str | None, variant: str | None) -> None:
    """Explain a clause (sentence, source, cases, mutants, an example in bytes) or a case (clauses, bytes).

    \b
    wireproof explain THR-INSERT-3
    wireproof explain query/fields-of-the-answer --variant uint8
    """
    try:
        lines = explained(identifier, profile, variant)
    except UnknownIdError as error:
        raise click.UsageError(str(error)) from None
    except (CaseError, DeriveError) as error:
        raise click.ClickException(str(error)) from None
    click.echo("\n".join(lines))
