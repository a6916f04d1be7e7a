"""What a run writes, as options: the same of `wireproof test` and `wireproof test-sdk`."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from wireproof.conformance.report.outputs import KeptEvidence
from wireproof.conformance.report.run_page import PAGE

__all__ = ["open_page", "output_options", "recorded_options"]

REPEATED = frozenset({"features", "limits", "listeners"})

OPTIONS = (
    click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder for index.html, records.jsonl and run.json.",
    ),
    click.option(
        "--evidence",
        type=click.Choice([one.value for one in KeptEvidence]),
        default=KeptEvidence.FAILURES.value,
        help="Of which plays the exchange is kept.",
    ),
    click.option("--open", "opens", is_flag=True, help="Then show index.html of --out in the browser."),
    click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML there."),
    click.option("--sarif", type=click.Path(path_type=Path, dir_okay=False), help="Write the causes as SARIF there."),
    click.option(
        "--badge", type=click.Path(path_type=Path, dir_okay=False), help="Write a badge for shields.io there (JSON)."
    ),
    click.option(
        "--requirements",
        metavar="SET",
        help="Requirement set that decides the exit code, such as throttr-7.3.2@1 (wireproof requirements list): what"
        " is newer is played and shown, and fails nothing.",
    ),
    click.option(
        "--baseline",
        type=click.Path(path_type=Path),
        help="Known failures, a case or clause a line (wireproof baseline writes one); stale ones exit 4.",
    ),
)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what a run writes."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def open_page(folder: Path | None, *, opens: bool) -> None:
    """Show the page of a run; without a folder there is none."""
    if opens and folder is not None:
        webbrowser.open((folder / PAGE).resolve().as_uri())


def recorded_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run as run.json has them: text, and lists where an option was repeated."""
    given = {name: value for name, value in options.items() if value not in (None, False, "", ())}
    return {name: list(value) if name in REPEATED else str(value) for name, value in given.items()}
