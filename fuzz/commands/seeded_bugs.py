"""`wireproof fuzz seeded-bugs`: seeds known bugs and counts the executions that each engine needs to find them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from wireproof.conformance.model.wording import number_of
from wireproof.fuzz import coverage_guided
from wireproof.fuzz.commands.renamed import CommandWithRenamedOptions
from wireproof.fuzz.known_targets import default_protocol, has_model
from wireproof.fuzz.seeded_bugs.bug_engines import ENGINES
from wireproof.fuzz.seeded_bugs.catalogue import all_bugs
from wireproof.fuzz.seeded_bugs.table import BugRow, BugTable, planned, planned_controls
from wireproof.protocols import protocol_names

FOUND_ALL, MISSED, INTERRUPTED = 0, 1, 130
PRINTED_WIDTH = 150
"""Columns without a terminal."""


@click.command(cls=CommandWithRenamedOptions, context_settings={"show_default": True})
@click.option("--protocol", "name", type=click.Choice(protocol_names()), default=default_protocol())
@click.option("--engine", type=click.Choice(list(ENGINES)), help="Only the bugs of this engine.")
@click.option("--bug", "pattern", default="", metavar="TEXT", help="Only bugs with this text in their name.")
@click.option("--budget-factor", type=click.FloatRange(0, min_open=True), default=1.0, help="Factor for all budgets.")
@click.option("--seed", "seeds", type=int, multiple=True, default=(1,), help="Seed of the engines; repeatable.")
@click.option(
    "--control",
    "only_control",
    is_flag=True,
    help="Only runs without a bug, of every engine: nothing may be found.",
)
@click.option("--hypothesis", is_flag=True, help="Use Hypothesis even if atheris is installed.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the table as JSON to this file.")
@click.option(
    "--markdown", type=click.Path(path_type=Path, dir_okay=False), help="Write the table as Markdown to this file."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    name: str,
    engine: str | None,
    pattern: str,
    budget_factor: float,
    seeds: tuple[int, ...],
    only_control: bool,
    hypothesis: bool,
    out: Path | None,
    markdown: Path | None,
) -> None:
    """Seed each known bug in our own code or in a reference server, and check that its engine finds it.

    Each bug has a budget of executions from the default seeds. A control run of each engine has no bug and must find
    nothing.

    The files are written after each run, and say which runs are missing.

    Exit codes: 0 all bugs found and nothing else, 1 a bug was missed or a control run found something, 2 usage,
    130 interrupted.

    \b
    wireproof fuzz seeded-bugs --engine scheduler
    wireproof fuzz seeded-bugs --engine store --control --budget-factor 0.2
    wireproof fuzz seeded-bugs --out table.json --markdown table.md
    """
    chosen = [one for one in all_bugs(name) if engine in (None, one.engine) and pattern in one.mutant]
    if not (chosen or only_control):
        raise click.UsageError(f"no bug of engine {engine or 'any'} has {pattern!r} in its name")
    guided = coverage_guided.is_available() and not hypothesis
    if not guided:
        click.echo("inputs are drawn by Hypothesis, without coverage; the budgets are those of atheris")
    controls = partial(planned_controls, name, _engines(name, engine), all_bugs(default_protocol()))
    plan = controls if only_control else partial(planned, name, chosen)
    runs = plan(factor=budget_factor, seeds=seeds, guided=guided)
    about = {"command": _command_line(context), "version": _version(), "seeds": list(seeds), "protocol": name}
    found = BugTable(runs, about)
    interrupted = not _measured(found, out, markdown)
    _print(found.rows)
    click.echo(_summary(found.rows, only_control))
    if interrupted:
        click.echo(f"interrupted: {number_of(len(found.missing), 'run')} of {len(runs)} missing")
        context.exit(INTERRUPTED)
    context.exit(FOUND_ALL if all(one.is_right for one in found.rows) else MISSED)


def _summary(rows: Sequence[BugRow], only_control: bool) -> str:
    if only_control:
        return f"{sum(one.is_right for one in rows)} of {number_of(len(rows), 'control run')} found nothing"
    bugs = [one for one in rows if one.bug]
    return f"{sum(one.is_right for one in bugs)} of {len(bugs)} bugs found within their budgets"


def _engines(name: str, engine: str | None) -> list[str]:
    """Return the engines that can fuzz a protocol; the scheduler, which all share, with the default one only."""
    left_out = {"scheduler"} if name != default_protocol() else set()
    left_out |= set() if has_model(name) else {"store", "machine"}
    return [one for one in ENGINES if one not in left_out and engine in (None, one)]


def _measured(found: BugTable, out: Path | None, markdown: Path | None) -> bool:
    """Measure all runs and write the files after each of them; return whether none is missing."""

    def write() -> None:
        if out is not None:
            _replace(out, json.dumps(found.to_json(), indent=2) + "\n")
        if markdown is not None:
            _replace(markdown, found.to_markdown())

    console = Console(highlight=False)
    try:
        with console.status("seeding bugs") as status:
            for one in found.measure():
                write()
                status.update(f"{one.mutant}: {one.result}")
                if not console.is_terminal:
                    click.echo(f"{one.engine} {one.mutant}: {one.result}", err=True)
    except KeyboardInterrupt:
        return False
    return True


def _replace(path: Path, text: str) -> None:
    """Write a file in one step: who ends the run meanwhile leaves what was there before. Raises `OSError`."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def _print(found: Iterable[BugRow]) -> None:
    console = Console(highlight=False)
    width = console.width if console.is_terminal else PRINTED_WIDTH
    table = Table(box=None, header_style="bold")
    for title in ("bug", "part", "engine", "seed", "executions", "budget", "s", "found"):
        table.add_column(title, justify="right" if title in ("seed", "executions", "budget", "s") else "left")
    for one in found:
        part, style = one.bug.part if one.bug else "control", None if one.is_right else "red"
        cells = (
            one.mutant,
            part,
            one.engine,
            str(one.seed),
            one.result,
            f"{one.budget:,}",
            f"{one.seconds:.1f}",
            _short(one),
        )
        table.add_row(*cells, style=style)
    Console(highlight=False, width=width).print(table)


def _short(one: BugRow) -> str:
    return one.outcome.detail.partition(": ")[0][:60]


def _command_line(context: click.Context) -> str:
    given = context.params
    named = {"engine": given["engine"], "bug": given["pattern"]}
    options = [f"--protocol {given['name']}"] if given["name"] != default_protocol() else []
    options += [f"--{key} {value}" for key, value in named.items() if value]
    options += [f"--seed {seed}" for seed in given["seeds"]]
    options += [f"--budget-factor {given['budget_factor']:g}"] if given["budget_factor"] != 1 else []
    options += ["--control"] if given["only_control"] else []
    return " ".join(["wireproof fuzz seeded-bugs", *options])


def _version() -> str:
    from importlib.metadata import version

    return version("wireproof")
