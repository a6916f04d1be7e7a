"""`wireproof fuzz planted`: plants faults that a seed draws, and shows which ones the fuzzers find and which not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import click

from wireproof.conformance.model.wording import number_of
from wireproof.fuzz.planted.engine_runs import EngineRun
from wireproof.fuzz.planted.listed_faults import listed_faults
from wireproof.fuzz.planted.planted_table import PlantedTable
from wireproof.fuzz.planted.planting import FaultResult, PlantingOptions, control, planted
from wireproof.protocols import protocol_names

ENOUGH, TOO_FEW = 0, 1


@click.command(context_settings={"show_default": True})
@click.option(
    "--protocol",
    "protocols",
    type=click.Choice(protocol_names()),
    multiple=True,
    help="Plant in the code of this protocol and in the code that all share. Repeatable.  [default: all]",
)
@click.option("--seed", "seeds", type=int, multiple=True, default=(1,), help="Which faults are drawn. Repeatable.")
@click.option("--number", type=click.IntRange(1), default=24, help="Faults of each seed.")
@click.option("--time", "seconds", type=click.IntRange(1), default=20, help="Seconds of each engine on each fault.")
@click.option("--part", default="", metavar="TEXT", help="Only parts with this text in their name: codec, scheduler.")
@click.option(
    "--minimum-share", type=click.FloatRange(0, 100), default=0, help="Percent of the faults that must be found."
)
@click.option(
    "--faults",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Plant the faults that this file lists, instead of drawn ones: --seed is that of the engines only.",
)
@click.option("--every-engine", is_flag=True, help="Let all engines look for each fault, also after one has found it.")
@click.option("--no-control", is_flag=True, help="Do not run the engines on the code without a fault.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as JSON to this file.")
@click.option(
    "--markdown", type=click.Path(path_type=Path, dir_okay=False), help="Write the tables as Markdown to this file."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    protocols: tuple[str, ...],
    seeds: tuple[int, ...],
    number: int,
    seconds: int,
    part: str,
    minimum_share: float,
    faults: Path | None,
    every_engine: bool,
    no_control: bool,
    out: Path | None,
    markdown: Path | None,
) -> None:
    """Plant faults drawn by --seed, one at a time, in a copy of this project, and run the fuzzers there.

    Faults are random edits of codecs, scheduler, transports and servers, and mutants of servers. Each engine runs as
    its command does, until one of them finds something. Faults that nobody finds are listed, too. With --faults they
    are read from a file that somebody wrote.

    Exit codes: 0 enough is found, and nothing without a fault; 1 otherwise; 2 usage.

    \b
    wireproof fuzz planted --seed 11 --number 10
    wireproof fuzz planted --protocol NAME --seed 11 --seed 12 --markdown planted-faults.md --minimum-share 70
    """
    chosen = protocols or tuple(protocol_names())
    some = [PlantingOptions(chosen, seed, number, seconds, part, faults, every_engine) for seed in seeds]
    try:
        list(listed_faults(faults) if faults is not None else ())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--faults") from None
    runs = [] if no_control else _printed(control(some[0]))
    results: list[FaultResult] = []
    about = {"command": _command_line(context), "version": version("wireproof"), "seconds": seconds}
    about["minimum_share"] = minimum_share
    about |= {"by_all": True} if every_engine else {}
    about |= {"origin": f"listed in `{faults}`", "explained": str(faults)} if faults is not None else {}
    for options in some:
        for result in planted(options):
            results.append(result)
            click.echo(_line(result))
            _write(PlantedTable(results, runs, about), out, markdown)
    table = PlantedTable(results, runs, about)
    click.echo(table.summary)
    for run in table.false_alarms:
        click.echo(f"without a fault, {run.engine} {run.status}: {run.detail}")
    context.exit(ENOUGH if table.is_enough and not table.false_alarms else TOO_FEW)


def _printed(runs: Iterable[EngineRun]) -> list[EngineRun]:
    found: list[EngineRun] = []
    for run in runs:
        click.echo(f"without a fault: {run.engine}: {run.status} in {run.seconds:.0f} s")
        found.append(run)
    return found


def _line(result: FaultResult) -> str:
    if not result.starts:
        return f"{result.seed} {result.fault.part}: {result.fault}: makes no server"
    run = result.found_by
    if run is None:
        tried = ", ".join(f"{one.engine} {one.status}" for one in result.runs)
        return f"{result.seed} {result.fault.part}: {result.fault}: NOT FOUND ({tried})"
    where = f"{run.engine}, {number_of(run.executions, 'execution')}, {run.seconds:.0f} s"
    return f"{result.seed} {result.fault.part}: {result.fault}: found by {where}: {run.detail[:120]}"


def _write(table: PlantedTable, out: Path | None, markdown: Path | None) -> None:
    if out is not None:
        out.write_text(json.dumps(table.to_json(), indent=1) + "\n", encoding="utf-8")
    if markdown is not None:
        markdown.write_text(table.to_markdown(), encoding="utf-8")


def _command_line(context: click.Context) -> str:
    given = context.params
    words = [f"--protocol {one}" for one in given["protocols"]] + [f"--seed {one}" for one in given["seeds"]]
    words += [f"--number {given['number']}", f"--time {given['seconds']}"]
    words += [f"--part {given['part']}"] if given["part"] else []
    words += [f"--faults {given['faults']}"] if given["faults"] else []
    words += ["--every-engine"] if given["every_engine"] else []
    words += [f"--minimum-share {given['minimum_share']:g}"] if given["minimum_share"] else []
    words += ["--no-control"] if given["no_control"] else []
    return " ".join(["wireproof fuzz planted", *words])
