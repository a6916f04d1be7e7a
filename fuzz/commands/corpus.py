"""`wireproof fuzz corpus`: merges and minimises folders of inputs and reports what they reach of our code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from wireproof.conformance.model.wording import number_of
from wireproof.fuzz import corpus as corpora
from wireproof.fuzz.known_targets import TARGETS, default_protocol
from wireproof.fuzz.reached import minimal, reached, report
from wireproof.protocols import protocol_names

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.group()
def command() -> None:
    """Merge and minimise folders of inputs, and report what they reach.

    \b
    wireproof fuzz corpus merge corpus/mine --into corpus/parser --target parser
    wireproof fuzz corpus coverage corpus/parser --target parser
    """


@command.command()
@click.argument("folders", nargs=-1, required=True, type=FOLDER)
@click.option("--into", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to add to.")
@click.option("--target", type=click.Choice(sorted(TARGETS)), help="Add only inputs that reach something new.")
@click.option("--protocol", "name", type=click.Choice(protocol_names()), default=default_protocol(), show_default=True)
def merge(folders: tuple[Path, ...], into: Path, target: str | None, name: str) -> None:
    """Add the inputs of FOLDERS to the folder --into; with --target only those that reach a new step of our code."""
    found = [data for folder in folders for data in corpora.inputs(folder).values()]
    if target is not None:
        check = _check(target, name)
        kept = corpora.inputs(into).values() if into.is_dir() else ()
        known = frozenset(step for data in kept for step in reached(lambda data=data: check(data)))  # type: ignore[misc]
        found = minimal(found, check, known)
    click.echo(f"{number_of(corpora.merge(into, found), 'input')} added to {into}")


@command.command()
@click.argument("folder", type=FOLDER)
@click.option("--target", type=click.Choice(sorted(TARGETS)), required=True, help="What the inputs are for.")
@click.option("--protocol", "name", type=click.Choice(protocol_names()), default=default_protocol(), show_default=True)
def coverage(folder: Path, target: str, name: str) -> None:
    """Print how many lines of each of our files the inputs of FOLDER reach."""
    check, kept = _check(target, name), corpora.inputs(folder)
    steps = frozenset(step for data in kept.values() for step in reached(lambda data=data: check(data)))  # type: ignore[misc]
    for file, lines in report(steps).items():
        click.echo(f"{lines:6} {file}")
    click.echo(f"{number_of(len(steps), 'step')} by {number_of(len(kept), 'input')}")


def _check(target: str, name: str) -> Callable[[bytes], None]:
    return lambda data: TARGETS[target].check(name, data)
