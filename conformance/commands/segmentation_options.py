"""The options of commands that play cases under other deliveries than whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from wireproof.conformance.run.segmentation_sample import (
    ALL,
    BUDGET,
    ONLY_WHOLE,
    SAMPLE,
    Choice,
    ChoiceError,
    choice_of,
)
from wireproof.conformance.suite.segmentation import DELIVERIES

KNOWN = "; ".join(f"{name}: {one.told}" for name, one in DELIVERIES.items())

Command = TypeVar("Command", bound=Callable[..., Any])


def _known(context: click.Context, parameter: click.Parameter, text: str) -> str:
    try:
        choice_of(text)
    except ChoiceError as error:
        raise click.BadParameter(str(error), context, parameter) from None
    return text


def delivery_options(command: Command) -> Command:
    """Add --delivery and --delivery-budget."""
    budget = click.option(
        "--delivery-budget",
        type=click.FloatRange(0.0),
        default=BUDGET,
        help="Seconds for the sample of other deliveries.",
    )
    names = click.option(
        "--delivery",
        default=SAMPLE,
        callback=_known,
        metavar="NAME[,NAME]",
        help=f"How cases that pass whole are sent, too: {SAMPLE}, {ALL}, or some of {KNOWN}.",
    )
    return names(budget(command))


def deliveries_of(options: Mapping[str, Any]) -> Choice:
    """Return what the options ask for: no sample where only MUST is played, for it weighs as a SHOULD."""
    if options["delivery"] == SAMPLE and options["level"] == "must":
        return ONLY_WHOLE
    return choice_of(options["delivery"], options["delivery_budget"])
