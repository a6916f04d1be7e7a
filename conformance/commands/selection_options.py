"""Which cases a run plays, as options: the same of `wireproof test` and `wireproof test-sdk`; and the list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.run.selection import SelectionError, select
from wireproof.conformance.suite.case_traits import waits
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.verdict.records import level_of
from wireproof.protocols import protocol

__all__ = ["EFFORTS", "effort_option", "list_cases", "of_effort", "selection_options", "with_effort"]

USAGE = 2


def _any_of(expressions: Sequence[str]) -> str:
    """Return the expression that selects what one of several does."""
    return expressions[0] if len(expressions) == 1 else " or ".join(f"({one})" for one in expressions)


OPTIONS = (
    click.option(
        "-k",
        "expression",
        multiple=True,
        callback=lambda context, option, values: _any_of(values),
        help="Only cases whose id, title or clauses match: words with and, or, not; an id is that one alone. "
        "Given again: or those.",
    ),
    click.option("--level", type=click.Choice(["must", "should", "may"]), default="may", help="Lowest level to play."),
    click.option("--list", "lists", is_flag=True, help="Print level, id and title of the cases, and play nothing."),
)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much of the suite is played, and the time that is planned for it."""

    description: str
    options: Mapping[str, Any]
    """What it chooses where the user does not."""
    one_a_clause: bool = False
    """Of each clause the first case that lets no time pass and does not need the target for itself."""


EFFORTS = {
    "smoke": Effort(
        "one case a MUST clause that waits for nothing, each sent whole; it ends after 10 s",
        {"level": "must", "delivery": "whole", "max_time": 10.0},
        one_a_clause=True,
    ),
    "pr": Effort("all cases, and a sample of other segmentations; it ends after 60 s", {"max_time": 60.0}),
    "full": Effort(
        "all cases under all segmentations, slow ones too; it takes as long as it takes",
        {"delivery": "all", "slow": True},
    ),
}
effort_option = click.option(
    "--effort",
    type=click.Choice(list(EFFORTS)),
    help="smoke: a case a MUST clause, 10 s at most; pr: all cases, 60 s at most; full: under all segmentations.",
)


def with_effort(context: click.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with those that an effort chooses where the user named none."""
    effort = EFFORTS.get(options["effort"] or "")
    if effort is None:
        return dict(options)
    given = {
        name for name in effort.options if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    chosen = {name: value for name, value in effort.options.items() if name not in given}
    return {**options, **chosen}


def of_effort(cases: Sequence[Case], name: str | None) -> list[Case]:
    """Return the cases that an effort plays."""
    effort = EFFORTS.get(name or "")
    if effort is None or not effort.one_a_clause:
        return list(cases)
    found: dict[str, Case] = {}
    for case in cases:
        if not (waits(case) or case.exclusive or case.fresh_server):
            found.setdefault(case.clauses[0], case)
    return list(found.values())


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
    cases = of_effort(cases, options.get("effort"))
    click.echo("\n".join(f"{level_of(one, suite, profile):6} {one.id}  {one.title}" for one in cases))
    click.echo(f"{number_of(len(cases), 'case')} of {suite.protocol} {profile} {variant}", err=True)
    context.exit(0)
