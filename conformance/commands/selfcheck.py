"""`wireproof self-check`: every known fault against every case; the suite must notice each and fail no legal server."""

from __future__ import annotations

import fnmatch
import time

import click
from rich.console import Console

from conformance.cases import load_suite
from conformance.records import Run
from conformance.runner import Plan, Settings
from conformance.selection import select
from conformance.selfcheck.departures import applicable
from conformance.selfcheck.matrix import KillMatrix
from conformance.selfcheck.trial import Ground
from conformance.selfcheck.trials import run_trials
from protocols import protocol, protocol_names
from reference_server.registry import deviations


@click.command()
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--profile", help="Profile to check under.  [default: the protocol's first]")
@click.option("--variant", help="Variant to check under.  [default: the protocol's usual one]")
@click.option("--fault", "faults", multiple=True, metavar="NAME", help="Only these faults; * and ? match. Repeatable.")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Only faults and cases of these clause groups.")
@click.option("--details", is_flag=True, help="Tell each fault's kills, and those that blame another clause.")
@click.pass_context
def command(
    context: click.Context,
    /,
    name: str,
    profile: str | None,
    variant: str | None,
    faults: tuple[str, ...],
    groups: tuple[str, ...],
    details: bool,
) -> None:
    """Hold every known fault of PROTOCOL against every case, in simulation.

    Exits 0 when each wrong server is found out, no legal one is failed, and every case earns its place.
    """
    began = time.monotonic()
    suite, spoken = load_suite(name), protocol(name)
    run = Run(
        protocol=name,
        profile=profile or spoken.default_profile,
        variant=variant or spoken.default_variant,
        target="simulation",
        implementation="impostors",
        namespace="selfcheck",
    )
    plan = Plan(run, suite, select(suite, run.profile, run.variant, heavy=False), Settings())
    chosen = [
        one
        for one in applicable(deviations(name).values(), suite, run.profile, run.variant)
        if not one.live
        and (not faults or any(fnmatch.fnmatch(one.name, pattern) for pattern in faults))
        and (not groups or any(suite.clauses[clause].group in groups for clause in one.clauses))
    ]
    ground = Ground(plan)
    trials = run_trials(ground, chosen)
    cases = [case for case in plan.cases if not groups or suite.clauses[case.clauses[0]].group in groups]
    matrix = KillMatrix(run.profile, run.variant, plan.cases, ground.levels, trials)
    console = Console(highlight=False, soft_wrap=True)
    if details:
        for trial in trials:
            console.print(f"{trial.deviation.name}: {len(trial.kills)} kills, {len(trial.misblamed)} misblamed")
            for one in trial.kills[:400]:
                mark = "" if one not in trial.misblamed else "  MISBLAMED"
                console.print(f"    {one.case} {one.verdict} {one.blamed} {one.got}{mark}", markup=False)
    mine = {case.id for case in cases}
    for line in matrix.complaints():
        if " kills nothing" not in line or line.split()[0] in mine:
            console.print(line, markup=False)
    right, kills = matrix.blame
    console.print(
        f"{len(trials)} departures x {len(plan.cases)} cases under {run.profile} {run.variant}: {kills} kills, "
        f"{right} blame a broken clause; {time.monotonic() - began:.1f} s"
    )
