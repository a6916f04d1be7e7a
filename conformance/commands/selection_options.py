"""Which cases a run plays, as options: the same of `wireproof test` and `wireproof test-sdk`; and the list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.run.selection import SelectionError, select
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.verdict.records import level_of
from wireproof.protocols import protocol

__all__ = ["list_cases", "selection_options"]

USAGE = 2
OPTIONS = (
    click.option(
        "-k",
        "expression",
        default="",
        help="Only cases whose id, title or clauses match: words with and, or, not; an id is that one alone.",
    ),
    click.option("--level", type=click.Choice(["must", "should", "may"]), default="may", help="Lowest level to play."),
    click.option("--list", "lists", is_flag=True, help="Print level, id and title of the cases, and play nothing."),
)


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose cases."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def list_cases(context: click.Context, suite: Suite, options: Mapping[str, Any]) -> None:
    """Print the cases that the options choose and end the command, where that is asked for.

    Profile and variant are the usual ones where the options leave them open, since nobody is asked.
    """
    if not options["lists"]:
        return
    spoken = protocol(suite.protocol)
    profile = spoken.default_profile if options["profile"] == "auto" else options["profile"]
    variants = spoken.profiles[profile].variants if profile in spoken.profiles else {}
    usual = spoken.default_variant if spoken.default_variant in variants else next(iter(variants), "")
    variant = usual if options["variant"] == "auto" else options["variant"]
    level, slow = Level(options["level"].upper()), options["slow"]
    try:
        cases = select(suite, profile, variant, expression=options["expression"], level=level, slow=slow, heavy=slow)
    except SelectionError as error:
        click.echo(f"wireproof: {error}", err=True)
        context.exit(USAGE)
    click.echo("\n".join(f"{level_of(one, suite, profile):6} {one.id}  {one.title}" for one in cases))
    click.echo(f"{len(cases)} cases of {suite.protocol} {profile} {variant}", err=True)
    context.exit(0)
