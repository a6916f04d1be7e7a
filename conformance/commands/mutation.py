"""`wireproof self-check`: every known fault against every case; the suite must notice each and fail no legal server."""

from __future__ import annotations

import fnmatch
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from wireproof.conformance.commands.mutation_clients import check_clients
from wireproof.conformance.mutation import kill_matrix_page
from wireproof.conformance.mutation.clients import ClientCheck
from wireproof.conformance.mutation.kill_matrix import KINDS, Complaint, KillMatrix, Trial
from wireproof.conformance.mutation.mutation_run import Check, FaultlessError
from wireproof.conformance.mutation.random_edits import Fate, Tried
from wireproof.conformance.report.outputs import OutputError
from wireproof.conformance.suite.cases import CaseError, load_suite
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.registry import server_mutants
from wireproof.protocols import protocol, protocol_names

PROVED, UNPROVED, USAGE, HARNESS = 0, 1, 2, 3


@dataclass(frozen=True)
class _Wanted:
    """What the user wants tried and told: the options, by their names."""

    names: tuple[str, ...]
    groups: tuple[str, ...]
    sample: int
    repeat: int
    live: bool
    edits: int
    seed: int
    jobs: int
    warned: tuple[str, ...]
    out: Path | None
    details: bool


@click.command(context_settings={"show_default": True})
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option(
    "--role", type=click.Choice(["server", "client"]), default="server", help="Whose faults: of servers or SDKs."
)
@click.option("--profile", help="Profile to check under.  [default: the protocol's first]")
@click.option("--variant", "--width", help="Variant to check under.  [default: the protocol's usual one]")
@click.option(
    "--mutant",
    "--fault",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only these mutants; * and ? match. Repeatable.  [--fault: deprecated]",
)
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Only faults and cases of these clause groups.")
@click.option("--sample", type=click.IntRange(0), default=0, help="Only every Nth fault, said in the summary; 0: all.")
@click.option("--repeat", type=click.IntRange(1), default=1, help="Check as often; findings must be identical.")
@click.option(
    "--mutants",
    "edits",
    type=click.IntRange(0),
    default=0,
    help="Try as many automatic mutants too; survivors are told.",
)
@click.option("--live", is_flag=True, help="Try those that need a process of their own too, over sockets (minutes).")
@click.option("--seed", type=int, default=1, help="Which mutants: the same ones for the same seed.")
@click.option("--jobs", type=click.IntRange(0), default=0, help="Processes; 0: one a core.")
@click.option(
    "--warn", "warned", multiple=True, type=click.Choice(KINDS), help="Tell such complaints, exit 0 all the same."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write kill-matrix.json and a page here.")
@click.option("--details", is_flag=True, help="Tell each fault's kills, and those that blame another clause.")
@click.pass_context
def command(
    context: click.Context,
    /,
    name: str,
    role: str,
    profile: str | None,
    variant: str | None,
    **options: Any,
) -> None:
    """Hold every known fault of PROTOCOL against every case, and every legal odd server too.

    With --role client: the faults of the reference client against the cases for SDKs, each of which must be killed for
    a clause that it breaks; of the options, --profile, --variant, --fault, --group, --sample and --details count.

    Exits 0 when each wrong server is found out, no legal one is failed, every MUST and SHOULD case kills a fault or
    says why not, and at least 95 % of the kills blame a clause that is broken; 1 when not, a line for each complaint.
    What cases do not kill is left out where only some faults are tried.

    \b
    wireproof self-check throttr --out reports/kill-matrix
    wireproof self-check throttr --profile 7.3.2 --variant uint8 --group UPDATE --details
    """
    spoken, wanted, began = protocol(name), _Wanted(**options), time.monotonic()
    console = Console(highlight=False, soft_wrap=True)
    try:
        profile = _known("profile", profile or spoken.default_profile, spoken.profiles)
        variant = _known("variant", variant or spoken.default_variant, spoken.profiles[profile].variants)
        if role == "client":
            context.exit(PROVED if _clients(ClientCheck(name, profile, variant), console, wanted) else UNPROVED)
        check = Check(load_suite(name), profile, variant, wanted.jobs)
        chosen = _chosen(check, wanted)
        matrix = _checked(check, chosen, wanted, console)
        tried = check.mutants(wanted.edits, wanted.seed)
        if wanted.out is not None:
            kill_matrix_page.write(wanted.out, kill_matrix_page.document(check.suite, matrix, tried))
    except FaultlessError as error:
        click.echo(f"wireproof: {error}", err=True)
        context.exit(UNPROVED)
    except (OutputError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    except CaseError as error:
        click.echo(f"wireproof: the suite itself is wrong: {error}", err=True)
        context.exit(HARNESS)
    if wanted.details:
        _details(console, matrix)
    complaints = _complaints(console, matrix, wanted)
    _tell_mutants(console, tried)
    _sum_up(console, matrix, wanted, sum(one.live for one in chosen), time.monotonic() - began)
    context.exit(UNPROVED if any(one.kind not in wanted.warned for one in complaints) else PROVED)


def _clients(check: ClientCheck, console: Console, wanted: _Wanted) -> bool:
    """Say whether every wrong client is found out; the complaints are told."""
    return check_clients(
        check, console, mutants=wanted.names, groups=wanted.groups, sample=wanted.sample, details=wanted.details
    )


def _known(what: str, given: str, known: Collection[str]) -> str:
    """Return `given`; ValueError when it is none of `known`."""
    if given not in known:
        raise ValueError(f"unknown {what} {given!r}: expected {' or '.join(known)}")
    return given


def _chosen(check: Check, wanted: _Wanted) -> list[Mutant]:
    """Return the departures to try; ValueError when none is left."""
    found = [
        one
        for one in check.applicable(server_mutants(check.suite.protocol).values())
        if (not wanted.names or any(fnmatch.fnmatch(one.name, pattern) for pattern in wanted.names))
        and (not wanted.groups or any(check.suite.clauses[clause].group in wanted.groups for clause in one.clauses))
    ][:: wanted.sample or 1]
    if not found:
        asked = " ".join((*wanted.names, *wanted.groups)) or "all"
        raise ValueError(
            f"no fault of {asked} shows in {check.profile} {check.variant}; see 'wireproof impostor --list'"
        )
    return found


def _checked(check: Check, chosen: list[Mutant], wanted: _Wanted, console: Console) -> KillMatrix:
    """Return the matrix, the same each time; `FaultlessError` names what differs."""
    matrices = []
    for number in range(1, wanted.repeat + 1):
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"{check.profile} {check.variant}, run {number}", total=len(chosen))
            matrices.append(check.run(chosen, _advance(progress, task), live=wanted.live and number == 1))
        if matrices[-1].differs_from(matrices[0]):
            raise FaultlessError(f"run {number} differs from the first: {matrices[-1].differs_from(matrices[0])}")
    return matrices[0]


def _advance(progress: Progress, task: object) -> Callable[[Trial], None]:
    return lambda trial: progress.advance(task)  # type: ignore[arg-type]


def _complaints(console: Console, matrix: KillMatrix, wanted: _Wanted) -> list[Complaint]:
    """Tell the complaints and return them; of some faults only, nothing follows for what a case does not kill."""
    some = wanted.sample > 1 or bool(wanted.names)
    found = [one for one in matrix.complaints(wanted.groups) if not (some and one.kind == "toothless")]
    for one in found:
        console.print(one.told, markup=False)
    return found


def _details(console: Console, matrix: KillMatrix) -> None:
    for trial in matrix.trials:
        console.print(f"{trial.mutant.name}: {len(trial.kills)} kills, {len(trial.misblamed)} misblamed")
        for one in trial.kills:
            mark = "  MISBLAMED" if one in trial.misblamed else ""
            console.print(f"    {one.case} {one.verdict} {one.blamed}: {(one.got or '')[:160]}{mark}", markup=False)


def _tell_mutants(console: Console, tried: Sequence[Tried]) -> None:
    """Tell what became of the mutants; survivors are questions to a reader, not complaints: some change nothing."""
    for one in tried:
        if one.fate is Fate.SURVIVED:
            console.print(f"mutant survives: {one.mutant}", markup=False)
    if tried:
        counts = Counter(one.fate for one in tried)
        console.print(f"{len(tried)} mutants: {', '.join(f'{counts[fate]} {fate}' for fate in Fate)}")


def _sum_up(console: Console, matrix: KillMatrix, wanted: _Wanted, alone: int, seconds: float) -> None:
    """Tell the figures; `alone` faults show in a process of their own only."""
    if alone and not wanted.live:
        console.print(f"{alone} faults left out: they show in a process of their own only (--live)")
    how = f"sampled 1 in {wanted.sample}, " if wanted.sample > 1 else ""
    right, kills = matrix.blame
    found = len(matrix.mutants) - len(matrix.survivors) - sum(one.error is not None for one in matrix.mutants)
    legal = len(matrix.trials) - len(matrix.mutants)
    console.print(
        f"{matrix.profile} {matrix.variant}: {how}{found} of {len(matrix.mutants)} wrong servers found out, "
        f"{legal - len(matrix.false_alarms)} of {legal} legal ones passed; "
        f"{len(matrix.cases)} cases, {kills} kills, {right} blame a broken clause; {seconds:.1f} s"
    )
