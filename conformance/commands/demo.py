"""`wireproof demo`: the main job on the project's own servers: every profile and width, and wrong ones beside them."""

from __future__ import annotations

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.work_progress import Progress, waiting
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.processes import StartError, module_command, module_environment, running_server
from wireproof.conformance.verdict.records import wireproof_version
from wireproof.mutants.registry import demonstration_mutants
from wireproof.protocols import protocol, protocol_names

SIDE_BY_SIDE = 2
PRINTED_WIDTH = 110
"""Columns where the output is no terminal."""
LONGEST = 300.0
"""Seconds after which one run of the suite is given up."""


Result = tuple[int, dict[str, Any]]
"""Exit code of a run and its run.json (empty when there is none)."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One server of the demonstration."""

    protocol: str
    profile: str
    variant: str
    mutant: str | None = None

    @property
    def name(self) -> str:
        """Its name in records and in the matrix."""
        return f"mutant {self.mutant}" if self.mutant else "wireproof reference"

    @property
    def folder(self) -> str:
        """Name of its run's folder."""
        return "-".join(filter(None, (self.protocol, self.profile, self.variant, self.mutant)))


@click.command()
@click.option("--runs", type=click.Path(path_type=Path), default=Path("reports/runs/demo"), help="Folder for the runs.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("reports/matrix"), help="Folder for the matrix.")
@click.option("--no-matrix", is_flag=True, help="Stop after the runs (no Spark, no Java).")
@click.option("--simulate", is_flag=True, help="Play the reference servers in simulation: no sockets, no mutants.")
@click.option("--sample", is_flag=True, help="Of each protocol one mutant and one server; what is left out is printed.")
@click.pass_context
def command(context: click.Context, /, runs: Path, out: Path, no_matrix: bool, simulate: bool, sample: bool) -> None:
    """Test the reference servers of every protocol, profile and variant, and two mutants of each, then fold the matrix.

    Exits 0 when every reference server passes and every mutant fails.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PRINTED_WIDTH
    began = time.monotonic()
    contestants = [one for one in _contestants() if not (simulate and one.mutant)]
    if sample:
        everything, contestants = contestants, _sampled(contestants)
        left_out = [one.folder for one in everything if one not in contestants]
        console.print(f"left out by --sample: {', '.join(left_out) or 'nothing'}")
    play = _simulate if simulate else _test
    with Progress(len(contestants)) as progress, ThreadPoolExecutor(SIDE_BY_SIDE) as pool:

        def played(one: Contestant) -> Result:
            with progress.under_way(one.folder):
                return play(one, runs / one.folder)

        results = list(pool.map(played, contestants))
    console.print(_table(contestants, results))
    tested = number_of(len(contestants), "server")
    console.print(f"{tested} tested in {time.monotonic() - began:.1f} s; records in {runs}")
    as_expected = all(
        (code == 1) if one.mutant else (code == 0) for one, (code, _) in zip(contestants, results, strict=True)
    )
    if not as_expected:
        click.echo("a reference server failed, or a mutant passed: see above", err=True)
    if not no_matrix:
        arguments = (str(runs), "--out", str(out))
        with waiting("Spark folds the matrix, which takes some 15 s"):
            folded = subprocess.run(
                module_command("wireproof.spark.job", *arguments), env=module_environment(), check=False
            )
        if folded.returncode:
            context.exit(folded.returncode)
        click.echo(f"open {out / 'index.html'}")
    context.exit(0 if as_expected else 1)


def _contestants() -> list[Contestant]:
    found = []
    for name in protocol_names():
        spoken = protocol(name)
        found += [
            Contestant(name, profile.name, variant)
            for profile in spoken.profiles.values()
            for variant in profile.variants
        ]
        found += [
            Contestant(name, spoken.default_profile, spoken.default_variant, mutant)
            for mutant in demonstration_mutants(name)
        ]
    return found


def _sampled(contestants: list[Contestant]) -> list[Contestant]:
    """Return of each protocol one mutant, and the newest profile under one variant."""
    found: list[Contestant] = []
    for one in contestants:
        newest = list(protocol(one.protocol).profiles.values())[-1]
        if one.mutant is not None:
            wanted = not any(other.mutant for other in found if other.protocol == one.protocol)
        else:
            wanted = one.profile == newest.name and one.variant == list(newest.variants)[-1]
        if wanted:
            found.append(one)
    return found


def _test(one: Contestant, folder: Path) -> Result:
    """Start the server and play the suite against it."""
    try:
        with TemporaryDirectory(prefix="wireproof-demo-") as scratch:
            serve = reference_target.serving_arguments(
                one.protocol, profile=one.profile, variant=one.variant, scratch=Path(scratch)
            )
            module = "wireproof.mutants" if one.mutant else "wireproof.reference_server"
            mutant = ["--mutant", one.mutant] if one.mutant else []
            beside = reference_target.listeners(one.protocol, Path(scratch))
            with running_server(module_command(module, *serve, *mutant)) as address:
                return _play(one, address, folder, *(f"--listener={name}=unix://{at}" for name, at in beside.items()))
    except StartError as error:
        click.echo(f"{one.folder}: {error}", err=True)
        return 3, {}


def _simulate(one: Contestant, folder: Path) -> Result:
    return _play(one, "simulation", folder)


def _play(one: Contestant, target: str, folder: Path, *more: str) -> Result:
    """Play the suite in a process of its own; return its exit code and run.json."""
    play = [
        "test", one.protocol, target, "--profile", one.profile, "--variant", one.variant, "--out", str(folder),
        "--name", one.name, "--implementation-version", wireproof_version(), "--quiet",
        *(f"--feature={feature}" for feature in sorted(reference_target.features(one.protocol))), *more,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            module_command("wireproof", *play),
            env=module_environment(),
            check=False,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired as error:
        click.echo(f"{one.folder}: {error}", err=True)
        return 3, {}
    summary = folder / "run.json"
    if not summary.exists():
        click.echo(f"{one.folder}: {done.stderr.strip() or done.stdout.strip()}", err=True)
        return done.returncode or 3, {}
    found: dict[str, Any] = json.loads(summary.read_text(encoding="utf-8"))
    return done.returncode, found


def _table(contestants: list[Contestant], results: list[Result]) -> Table:
    table = Table(title="wireproof demo", title_justify="left")
    for name in ("protocol", "server", "profile", "variant"):
        table.add_column(name)
    for name in ("MUST", "SHOULD", "MAY observed", "exit"):
        table.add_column(name, justify="right")
    for one, (code, summary) in zip(contestants, results, strict=True):
        counts = summary.get("counts", {})
        cells = [_score(counts.get(level, {})) for level in ("MUST", "SHOULD")]
        observed = str(sum(counts.get("MAY", {}).values()))
        style = "green" if code == 0 else "red"
        table.add_row(one.protocol, one.name, one.profile, one.variant, *cells, observed, str(code), style=style)
    return table


def _score(counts: dict[str, int]) -> str:
    return f"{counts.get('pass', 0)}/{sum(counts.values())}" if counts else "-"
