"""`wireproof mutation`: every mutant against every case; each must be killed, and no conforming variant failed."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, TaskID

from wireproof.conformance.commands.mutation_clients import run_clients
from wireproof.conformance.commands.mutation_edits import ScoredEdits, score_edits
from wireproof.conformance.commands.mutation_gate import combination, gate
from wireproof.conformance.commands.mutation_subsumption import print_subsumption
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.mutation import kill_matrix_page
from wireproof.conformance.mutation.clients import ClientMutationRun
from wireproof.conformance.mutation.gate import play_name
from wireproof.conformance.mutation.kill_matrix import KINDS, Complaint, KillMatrix
from wireproof.conformance.mutation.last_kills import default_file, write_last_kills
from wireproof.conformance.mutation.mutant_result import MutantResult
from wireproof.conformance.mutation.mutation_run import MutationRun, ReferenceFailsError
from wireproof.conformance.report.outputs import OutputError
from wireproof.conformance.report.work_progress import Steps
from wireproof.conformance.suite.cases import CaseError, load_suite
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.registry import server_mutants
from wireproof.protocols import protocol, protocol_names

PROVED, UNPROVED, USAGE, HARNESS = 0, 1, 2, 3


@dataclass(frozen=True)
class _Options:
    """The options that say what to run and what to print, by their names."""

    names: tuple[str, ...]
    groups: tuple[str, ...]
    sample: int
    repeat: int
    live: bool
    edits: int
    seed: int
    edits_only: bool
    minimum_score: float
    jobs: int
    warned: tuple[str, ...]
    out: Path | None
    details: bool
    gate: bool
    previous: Path | None
    subsumption: tuple[Path, ...]
    by_case: bool

    @property
    def kept(self) -> Path:
        """The file with the last killing cases."""
        return self.previous or default_file()


@click.command(context_settings={"show_default": True})
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option(
    "--role", type=click.Choice(["server", "client"]), default="server", help="Mutants of the server or of the client."
)
@click.option(
    "--by-case", is_flag=True, help="With --role client: each MUST and SHOULD case must kill a mutant or say why not."
)
@click.option("--profile", help="Profile to run under.  [default: the protocol's first]")
@click.option("--variant", "--width", help="Variant to run under.  [default: the protocol's usual one]")
@click.option(
    "--mutant",
    "--fault",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only these mutants; * and ? match. Repeatable.  [--fault: deprecated]",
)
@click.option(
    "--group", "groups", multiple=True, metavar="GROUP", help="Only mutants and cases of these clause groups."
)
@click.option(
    "--sample", type=click.IntRange(0), default=0, help="Only every Nth mutant, as the summary reports; 0: all."
)
@click.option("--repeat", type=click.IntRange(1), default=1, help="Run as often; findings must be identical.")
@click.option("--gate", is_flag=True, help="Stop each mutant at its first kill; try last time's killing case first.")
@click.option(
    "--previous",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file that keeps the killing cases.  [default: in the user's cache folder]",
)
@click.option(
    "--subsumption",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Run nothing: of the kill matrices in and below DIR, print which mutants are subsumed in all. Repeatable.",
)
@click.option("--mutants", "edits", type=click.IntRange(0), default=0, help="Run as many random edits, too.")
@click.option("--seed", type=int, default=1, help="Which random edits: the same ones for the same seed.")
@click.option("--edits-only", is_flag=True, help="Run the random edits of --mutants and nothing else.")
@click.option(
    "--minimum-score",
    type=click.FloatRange(0, 100),
    default=90,
    help="Percent of the random edits, equivalent ones left out, that must be killed.",
)
@click.option("--live", is_flag=True, help="Run those that need a process of their own too, over sockets (minutes).")
@click.option("--jobs", type=click.IntRange(0), default=0, help="Processes; 0: one a core.")
@click.option(
    "--warn", "warned", multiple=True, type=click.Choice(KINDS), help="Print such complaints, exit 0 all the same."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write kill-matrix.json and a page here.")
@click.option(
    "--details",
    is_flag=True,
    help="Print each mutant's kills as they are found, and wrong blame.",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    name: str,
    role: str,
    profile: str | None,
    variant: str | None,
    **given: Any,
) -> None:
    """Run every mutant and every conforming variant of PROTOCOL against every case.

    With --role client: the mutants of the reference client against the cases for SDKs, each of which must be killed
    for a clause that it breaks; of the options, --profile, --variant, --mutant, --group, --sample and --details count.

    Exits 0 when each mutant is killed, no conforming variant is failed, every MUST and SHOULD case kills a mutant or
    says why not, at least 95 % of the kills blame a clause that is broken, and the random edits reach --minimum-score;
    1 when not, a line for each complaint. Cases that kill nothing are left out where only some mutants are run.

    \b
    wireproof mutation throttr --gate
    wireproof mutation throttr --out reports/kill-matrix
    wireproof mutation throttr --edits-only --mutants 300 --seed 1
    """
    spoken, options = protocol(name), _Options(**given)
    console = Console(highlight=False, soft_wrap=True)
    try:
        profile = _known("profile", profile or spoken.default_profile, spoken.profiles)
        variant = _known("variant", variant or spoken.default_variant, spoken.profiles[profile].variants)
        if options.subsumption:
            print_subsumption(console, name, options.subsumption)
            context.exit(PROVED)
        if role == "client":
            passed = _clients(ClientMutationRun(name, profile, variant), console, options)
        else:
            passed = _servers(MutationRun(load_suite(name), profile, variant, options.jobs), console, options)
    except ReferenceFailsError as error:
        click.echo(f"wireproof: {error}", err=True)
        context.exit(UNPROVED)
    except (OutputError, ValueError) as error:
        raise click.UsageError(str(error)) from None
    except CaseError as error:
        click.echo(f"wireproof: the suite itself is wrong: {error}", err=True)
        context.exit(HARNESS)
    context.exit(PROVED if passed else UNPROVED)


def _clients(run: ClientMutationRun, console: Console, options: _Options) -> bool:
    """Run the mutants of the client; say whether all are killed."""
    return run_clients(
        run,
        console,
        mutants=options.names,
        groups=options.groups,
        sample=options.sample,
        details=options.details,
        previous=options.kept if options.by_case else None,
    )


def _servers(run: MutationRun, console: Console, options: _Options) -> bool:
    """Run what the options ask for of the server; say whether nothing is left to complain about."""
    passed = True
    matrix = None
    if options.gate:
        passed = gate(run, _chosen(run, options), console, options.kept)
    elif not options.edits_only:
        matrix, passed = _matrix(run, console, options)
    scored = score_edits(run, options.edits, options.seed, console) if options.edits else None
    if options.out is not None and matrix is not None:
        edits = scored.score.results if scored is not None else ()
        kill_matrix_page.write(options.out, kill_matrix_page.document(run.suite, matrix, edits))
    return passed and (scored is None or _is_high_enough(console, scored, options.minimum_score))


def _is_high_enough(console: Console, scored: ScoredEdits, minimum: float) -> bool:
    if scored.score.percent < minimum:
        console.print(f"the score of the random edits is {scored.score.percent:.1f} %; wanted {minimum:g} %")
        return False
    return True


def _known(what: str, given: str, known: Collection[str]) -> str:
    """Return `given`; ValueError when it is none of `known`."""
    if given not in known:
        raise ValueError(f"unknown {what} {given!r}: expected {' or '.join(known)}")
    return given


def _chosen(run: MutationRun, options: _Options) -> list[Mutant]:
    """Return the mutants to run; ValueError when none is left."""
    found = [
        one
        for one in run.applicable(server_mutants(run.suite.protocol).values())
        if (not options.names or any(fnmatch.fnmatch(one.name, pattern) for pattern in options.names))
        and (not options.groups or any(run.suite.clauses[clause].group in options.groups for clause in one.clauses))
    ][:: options.sample or 1]
    if not found:
        asked = " ".join((*options.names, *options.groups)) or "all"
        raise ValueError(f"no mutant of {asked} differs in {run.profile} {run.variant}; see 'wireproof mutant --list'")
    return found


def _matrix(run: MutationRun, console: Console, options: _Options) -> tuple[KillMatrix, bool]:
    """Return the kill matrix, printed, and whether there is nothing to complain about."""
    began = time.monotonic()
    chosen = _chosen(run, options)
    matrix = _repeated(run, chosen, options, console)
    kills = {
        one.mutant.name: play_name(one.kills[0].case, one.kills[0].segmentations)
        for one in matrix.mutants
        if one.kills and not one.mutant.live
    }
    write_last_kills(options.kept, combination(run), kills)
    complaints = _complaints(console, matrix, options)
    _sum_up(console, matrix, options, sum(one.live for one in chosen), time.monotonic() - began)
    return matrix, all(one.kind in options.warned for one in complaints)


def _repeated(run: MutationRun, chosen: list[Mutant], options: _Options, console: Console) -> KillMatrix:
    """Return the matrix, the same each time; `ReferenceFailsError` names what differs.

    With `details` what kills a mutant is printed as it is found, in the first run; what survives, or is found under
    other segmentations alone, at its end.
    """
    matrices: list[KillMatrix] = []
    details = _Details(console) if options.details else None
    for number in range(1, options.repeat + 1):
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"{run.profile} {run.variant}, run {number}", total=len(chosen))
            steps = Steps(len(chosen), "mutants", quiet=console.is_terminal or console.quiet)
            advance = _advance(progress, task, steps, details if number == 1 else None)
            matrices.append(run.kill_matrix(chosen, advance, live=options.live and number == 1))
        if details is not None and number == 1:
            details.finish(matrices[0])
        if matrices[-1].differs_from(matrices[0]):
            raise ReferenceFailsError(f"run {number} differs from the first: {matrices[-1].differs_from(matrices[0])}")
    return matrices[0]


def _advance(
    progress: Progress, task: TaskID, steps: Steps, details: _Details | None
) -> Callable[[MutantResult], None]:
    def advance(result: MutantResult) -> None:
        progress.advance(task)
        steps()
        if details is not None and result.kills:
            details.show(result)

    return advance


def _complaints(console: Console, matrix: KillMatrix, options: _Options) -> list[Complaint]:
    """Print the complaints and return them; of some mutants only, nothing follows for what a case does not kill."""
    some = options.sample > 1 or bool(options.names)
    found = [one for one in matrix.complaints(options.groups) if not (some and one.kind == "kills-nothing")]
    for one in found:
        console.print(one.message, markup=False)
    return found


class _Details:
    """Prints what kills each mutant, once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: set[str] = set()

    def show(self, result: MutantResult) -> None:
        """Print the kills of one mutant, and those that blame another clause."""
        name, kills = result.mutant.name, number_of(len(result.kills), "kill")
        self._shown.add(name)
        self._console.print(f"{name}: {kills}, {len(result.misblamed)} misblamed")
        for one in result.kills:
            mark = "  MISBLAMED" if one in result.misblamed else ""
            self._console.print(
                f"    {one.case} {one.verdict} {one.blamed}: {(one.got or '')[:160]}{mark}", markup=False
            )

    def finish(self, matrix: KillMatrix) -> None:
        """Print those that are left."""
        for result in matrix.results:
            if result.mutant.name not in self._shown:
                self.show(result)


def _sum_up(console: Console, matrix: KillMatrix, options: _Options, live: int, seconds: float) -> None:
    """Print the figures; `live` mutants differ in a process of their own only."""
    if live and not options.live:
        console.print(f"left out: {number_of(live, 'mutant')} that only a process of their own shows (--live)")
    how = f"sampled 1 in {options.sample}, " if options.sample > 1 else ""
    right, kills = matrix.blame
    killed = len(matrix.mutants) - len(matrix.survivors) - sum(one.error is not None for one in matrix.mutants)
    variants = len(matrix.results) - len(matrix.mutants)
    single = sum(len(one.kills) == 1 for one in matrix.mutants)
    console.print(f"{single} of {len(matrix.mutants)} mutants are killed by exactly one case")
    console.print(
        f"{matrix.profile} {matrix.variant}: {how}{killed} of {len(matrix.mutants)} mutants killed, "
        f"{variants - len(matrix.false_alarms)} of {variants} conforming variants passed; "
        f"{number_of(len(matrix.cases), 'case')}, {number_of(kills, 'kill')} by written ones, {right} blame a broken "
        f"clause; {seconds:.1f} s"
    )
