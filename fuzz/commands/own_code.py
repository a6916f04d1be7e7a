"""`wireproof fuzz parser`, `scheduler` and `store`: fuzz our own code under atheris or Hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.console import Console

from wireproof.conformance.model.wording import number_of
from wireproof.fuzz import corpus as corpora
from wireproof.fuzz import coverage_guided, property_based
from wireproof.fuzz.commands.options import PROTOCOLS, Options
from wireproof.fuzz.coverage_guided import FuzzerProgress, FuzzerResult
from wireproof.fuzz.findings.findings_folder import save
from wireproof.fuzz.findings.of_own_code import finding_of
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import TARGETS, CodeTarget, default_protocol, has_model
from wireproof.fuzz.seed_replay import replayed_seeds
from wireproof.protocols import protocol_names

MOST_SEEDS = 2000
QUIET, FOUND = 0, 1


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--time", "seconds", type=click.IntRange(1), help="Seconds to fuzz.  [default: 60]"),
        click.option("--runs", type=click.IntRange(1), help="Number of executions, instead of a time."),
        click.option(
            "--corpus",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder of inputs; replayed, then extended.",
        ),
        click.option(
            "--findings",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder of findings.  [default: findings]",
        ),
        click.option("--seed", type=int, default=1, show_default=True, help="Seed of the engine."),
        click.option(
            "--engine",
            type=click.Choice(["auto", "atheris", "hypothesis"]),
            default="auto",
            show_default=True,
            help="auto: atheris if it is installed, else Hypothesis.",
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class _CodeFuzzing:
    """One call of a command."""

    target: CodeTarget
    protocol: str
    seconds: int
    runs: int
    corpus: Path | None
    findings: Path
    seed: int
    engine: str

    def __call__(self) -> int:
        """Fuzz, reduce and keep the finding; return the exit code."""
        console = Console(highlight=False)
        engine = self._engine(console)
        known = self._replay_corpus(console)
        result = known or self._fuzz(console, use_atheris=engine == "atheris")
        if not result.found:
            click.echo(f"{self.target.name}: nothing found, {_describe_progress(result.progress)}")
            return QUIET
        finding = finding_of(self.target, self.protocol, result, self.seed)
        directory = save(self.findings, finding)
        click.echo(f"{self.target.name}: {finding.detail} ({finding.protocol} {finding.profile} {finding.variant})")
        for number, step in enumerate(finding.steps, 1):
            click.echo(f"  {number:3}. {step[:200]}")
        where = f"kept in {directory}" if directory else f"already known as {finding.id}"
        after = number_of(result.progress.executions, "execution")
        click.echo(f"found after {after}, {number_of(len(finding.data), 'byte')}, {where}")
        return FOUND

    def _replay_corpus(self, console: Console) -> FuzzerResult | None:
        """Check every input of the corpus; return a result if one breaks an invariant, else None."""
        if self.corpus is None or not self.corpus.is_dir():
            return None
        kept = corpora.inputs(self.corpus)
        for number, data in enumerate(kept.values(), 1):
            try:
                self.target.check(self.protocol, data)
            except InvariantError as violation:
                return FuzzerResult(FuzzerProgress(number, 0, len(kept), 0), data, str(violation))
        console.print(f"{number_of(len(kept), 'input')} of {self.corpus} replayed")
        return None

    def _engine(self, console: Console) -> str:
        """Return the engine that is used. Raises `UsageError` if it is not installed."""
        use_atheris = coverage_guided.is_available() and self.engine != "hypothesis"
        if not use_atheris:
            if self.engine == "atheris":
                raise click.UsageError(
                    "--engine atheris: atheris is not installed: python -m pip install 'wireproof[fuzz]'"
                )
            if self.engine == "auto":
                console.print("atheris is not installed: fuzzing with Hypothesis, without coverage")
            if not property_based.IS_AVAILABLE:
                raise click.UsageError("Hypothesis is not installed: python -m pip install 'wireproof[fuzz]'")
        return "atheris" if use_atheris else "hypothesis"

    def _fuzz(self, console: Console, *, use_atheris: bool) -> FuzzerResult:
        replayed = replayed_seeds(self.target, self.protocol, self.seed, most=self.runs)
        if replayed.broken is not None:
            return replayed.broken
        console.print(f"{replayed.checked} of {len(set(replayed.seeds))} seeds replayed")
        with console.status("fuzzing") as status, TemporaryDirectory(prefix="wireproof-corpus-") as scratch:

            def report(progress: FuzzerProgress) -> None:
                status.update(f"{self.target.name}: {_describe_progress(progress)}")

            how: dict[str, Any] = {
                "seconds": self.seconds, "executions": self.runs, "seed": self.seed, "report": report,
            }  # fmt: skip
            if not use_atheris:
                return property_based.run(self.target, self.protocol, **how)
            folder = self.corpus or Path(scratch)
            corpora.seed(folder, replayed.seeds, MOST_SEEDS, self.seed)
            return coverage_guided.run(self.target, self.protocol, folder, **how)


def _describe_progress(progress: FuzzerProgress) -> str:
    seen = f", coverage {progress.coverage}" if progress.coverage else ""
    return (
        f"{number_of(progress.executions, 'execution')}, {progress.per_second} a second{seen}, corpus {progress.corpus}"
    )


def _run(target: str, name: str, options: Options) -> int:
    runs, seconds = options["runs"] or 0, options["seconds"] or 0
    if not runs and not seconds:
        seconds = 60
    findings = options["findings"] or Path("findings")
    return _CodeFuzzing(
        TARGETS[target], name, seconds, runs, options["corpus"], findings, options["seed"], options["engine"]
    )()


@click.command(epilog=PROTOCOLS)
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@_options
@click.pass_context
def parser(context: click.Context, /, name: str, **options: Any) -> None:
    """Feed mutated streams to the codec of PROTOCOL: both sides, every profile and variant.

    Only named errors may be raised, every segmentation must read the same, and what is read must encode to the same
    bytes. Exit codes: 0 nothing found, 1 something found, 2 usage.

    \b
    wireproof fuzz parser PROTOCOL --time 60 --corpus corpus/parser
    """
    context.exit(_run("parser", name, options))


@click.command()
@_options
@click.pass_context
def scheduler(context: click.Context, /, **options: Any) -> None:
    """Apply random operations to the TTL scheduler and to its model, and compare.

    Exit codes: 0 nothing found, 1 something found, 2 usage.

    \b
    wireproof fuzz scheduler --time 60 --corpus corpus/scheduler
    """
    context.exit(_run("scheduler", default_protocol(), options))


@click.command(epilog=PROTOCOLS)
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@_options
@click.pass_context
def transport(context: click.Context, /, name: str, **options: Any) -> None:
    """Feed conversations of PROTOCOL to the stream transport at any pace, with readers of any speed.

    Exit codes: 0 nothing found, 1 something found, 2 usage.

    \b
    wireproof fuzz transport PROTOCOL --time 60 --corpus corpus/transport
    """
    context.exit(_run("transport", name, options))


@click.command(epilog=PROTOCOLS)
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@_options
@click.pass_context
def store(context: click.Context, /, name: str, **options: Any) -> None:
    """Send random requests to a reference server of PROTOCOL, let time pass, and compare it with its model.

    Exit codes: 0 nothing found, 1 something found, 2 usage.

    \b
    wireproof fuzz store PROTOCOL --time 60 --corpus corpus/store
    """
    if not has_model(name):
        raise click.UsageError(f"{name} has no model of a whole server, which `fuzz store` and `fuzz machine` need")
    context.exit(_run("store", name, options))
