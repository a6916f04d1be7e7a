"""The options of commands that play cases under several segmentations of their bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from wireproof.conformance.run.segmentation_sample import (
    ALL,
    BUDGET,
    ONLY_WHOLE,
    SAMPLE,
    ChoiceError,
    SegmentationChoice,
    choice_of,
)
from wireproof.conformance.suite.segmentation import SEGMENTATIONS

KNOWN = "; ".join(f"{name}: {one.description}" for name, one in SEGMENTATIONS.items())

Command = TypeVar("Command", bound=Callable[..., Any])


def _known(context: click.Context, parameter: click.Parameter, text: str) -> str:
    try:
        choice_of(text)
    except ChoiceError as error:
        raise click.BadParameter(str(error), context, parameter) from None
    return text


def add_segmentation_options(command: Command) -> Command:
    """Add --segmentation and --segmentation-budget (formerly --delivery, --delivery-budget)."""
    budget = click.option(
        "--segmentation-budget",
        "--delivery-budget",
        "delivery_budget",
        type=click.FloatRange(0.0),
        default=BUDGET,
        help="Seconds for the sample of other segmentations.",
    )
    names = click.option(
        "--segmentation",
        "--delivery",
        "delivery",
        default=SAMPLE,
        callback=_known,
        metavar="NAME[,NAME]",
        help=f"How the bytes of cases that pass whole are cut, too: {SAMPLE}, {ALL}, or some of {KNOWN}.",
    )
    return names(budget(command))


def segmentations_of(options: Mapping[str, Any]) -> SegmentationChoice:
    """Return the segmentations to play; none where only MUST is played, because they count as SHOULD."""
    if options["delivery"] == SAMPLE and options["level"] == "must":
        return ONLY_WHOLE
    return choice_of(options["delivery"], options["delivery_budget"])
