"""`wireproof fuzz campaign`: replays what is known, then runs every engine for its share of the time, as in CI."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.live import Live

from wireproof.conformance.commands.target_options import Target, listeners_of, target_of
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.run.probe import ProbeError, version_of
from wireproof.conformance.run.processes import StartError
from wireproof.conformance.suite.cases import load_suite
from wireproof.fuzz import coverage_guided, property_based
from wireproof.fuzz.campaign.board import Board, EngineRow
from wireproof.fuzz.campaign.campaign_history import CampaignHistory
from wireproof.fuzz.campaign.engines import SERVER, EngineOptions, fuzz_own_code, fuzz_server, shares
from wireproof.fuzz.campaign.history_page import write_page
from wireproof.fuzz.campaign.regressions import Replayed, cases_made_of_findings, inputs, kept_findings
from wireproof.fuzz.commands.features_option import FEATURES, LISTENERS, check_listeners, features_at
from wireproof.fuzz.commands.options import PROTOCOLS, Options
from wireproof.fuzz.commands.report import OUTPUTS, kept_in, write_outputs
from wireproof.fuzz.commands.server import (
    FOUND,
    INTERRUPTED,
    QUIET,
    TIMEOUT,
    USAGE,
    check_edges,
    checked,
    counted,
    keep_found,
    spoken_by,
)
from wireproof.fuzz.coverage_guided import FuzzerProgress, FuzzerResult
from wireproof.fuzz.findings.finding import FindingError, FuzzFinding
from wireproof.fuzz.findings.findings_folder import save
from wireproof.fuzz.findings.of_own_code import finding_of
from wireproof.fuzz.known_targets import TARGETS, CodeTarget, has_model
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.live_campaign import CampaignFinding
from wireproof.protocols import protocol, protocol_names


@click.command(context_settings={"show_default": True}, epilog=PROTOCOLS)
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.argument("target", required=False)
@click.option("--target-command", help="Command that starts the server to fuzz; {port} is replaced by a free port.")
@click.option(
    "--ready-timeout", type=click.FloatRange(0.1), default=15.0, help="Seconds that the server may take to listen."
)
@click.option("--restarts", type=click.IntRange(0), default=200, help="Most restarts of the server.")
@click.option("--time", "seconds", type=click.IntRange(1), help="Seconds to fuzz, all engines together.  [default: 60]")
@click.option("--runs", type=click.IntRange(1), help="Executions of each engine, instead of a time.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("corpus"),
    help="Folder of inputs for each engine; replayed, then extended.",
)
@click.option(
    "--findings", type=click.Path(path_type=Path, file_okay=False), default=Path("findings"), help="Folder of findings."
)
@click.option("--seed", type=int, default=1, help="Seed of all engines.")
@click.option(
    "--interval", type=click.FloatRange(0.1), default=10.0, help="Seconds between progress lines without a terminal."
)
@click.option("--profile", default="auto", help="Profile that the server speaks; auto detects it.")
@click.option("--variant", "--width", default="auto", help="Layout variant; auto detects it.")
@FEATURES
@LISTENERS
@click.option("--allow-remote", is_flag=True, help="Allow a server on another machine: its data may be lost.")
@OUTPUTS[0]
@OUTPUTS[1]
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page with coverage and findings over time, of all campaigns on this corpus.",
)
@click.option("--minimise", is_flag=True, help="Remove from the corpus what reaches nothing of its own, at the end.")
@click.option("--coverage", is_flag=True, help="The server counts its edges, see `wireproof fuzz server --help`.")
@click.pass_context
def command(context: click.Context, /, name: str, target: str | None, **options: Any) -> None:
    """Replay what is known about PROTOCOL, then fuzz our own code and the server at TARGET (or --target-command).

    TARGET is tcp://HOST:PORT or unix:///PATH. Replayed are the corpus, the inputs and cases made from findings, and the
    findings in --findings; what still fails counts as found. With a server, it gets half of the time and our own code
    the other half.

    --time is that of all engines, with their seeds. Beyond it come the replay of what is known, the start of each
    engine, seeds that take more than half of the time of their engine, the reduction of a last finding, and --minimise.

    Exit codes: 0 nothing found, 1 something found, 2 usage or the server cannot be reached, 130 interrupted.

    \b
    wireproof fuzz campaign PROTOCOL --time 300 --corpus corpus --findings findings
    """
    try:
        code = _run(name, target, options)
    except (TargetError, StartError, ProbeError, FindingError, EngineError) as error:
        click.echo(f"wireproof: {error}", err=True)
        code = USAGE
    except OSError as error:
        click.echo(f"wireproof: {error.strerror or error}", err=True)
        code = USAGE
    context.exit(code)


def _run(name: str, text: str | None, options: Options) -> int:
    if text is None and options["target_command"] is None:
        return _Campaign(name, options)()
    made = {**options, "budgets": False, "out": None}
    with counted(options, text) as counters, target_of(text, made) as target:
        address = checked(target.address, allow_remote=options["allow_remote"])
        spoken = spoken_by(name, address, options["profile"], options["variant"])
        version = asyncio.run(version_of(load_suite(name), address, spoken, TIMEOUT))
        context = FuzzContext(
            name, spoken.profile, spoken.variant, features=features_at(name, options, target, address, spoken)
        )
        with LiveTarget(context, address, target.server, counters, listeners_of(options)) as live:
            check_listeners(live)
            check_edges(live)
            return _Campaign(name, options, live, target, version)()


@dataclass
class _Campaign:
    """One call of the command."""

    name: str
    options: Options
    live: LiveTarget | None = None
    target: Target | None = None
    version: str = ""
    gone: list[str] = field(default_factory=list)
    """Replays that no longer fail, and engines that found nothing."""
    shown: dict[str, str] = field(default_factory=dict)
    """Name -> description of what fails."""
    skipped: int = 0
    kept: list[FuzzFinding] = field(default_factory=list)
    """The findings of earlier campaigns."""
    history: CampaignHistory = field(init=False)

    def __call__(self) -> int:
        """Replay, fuzz and report; return the exit code."""
        folder: Path = self.options["findings"]
        kept = kept_in(folder) if folder.is_dir() else []
        self.kept = [one for _, one in kept]
        self.history = CampaignHistory(self.options["corpus"], findings=len(kept))
        interrupted = False
        try:
            self._replay(kept)
            self._fuzz()
        except KeyboardInterrupt:
            interrupted = True
        self._outputs(folder)
        result = number_of(len(self.shown), "finding") if self.shown else "nothing found"
        click.echo(f"{'interrupted: ' if interrupted else ''}{result}")
        return FOUND if self.shown else INTERRUPTED if interrupted else QUIET

    def _replay(self, kept: list[tuple[Path, FuzzFinding]]) -> None:
        for one in self._known(kept):
            if one.skipped:
                self.skipped += 1
                click.echo(f"{one.name} skipped: {one.skipped}")
            elif one.failure is None:
                self.gone.append(one.name)
            else:
                self.shown[one.name] = one.failure
                click.echo(f"{one.name} fails: {one.failure}")
        more = f", {self.skipped} skipped" if self.skipped else ""
        click.echo(f"replayed: {len(self.gone) + len(self.shown)}, {len(self.shown)} of them fail{more}")

    def _known(self, kept: list[tuple[Path, FuzzFinding]]) -> Iterator[Replayed]:
        for target in self._targets().values():
            for one in inputs(target, self.name, self.options["corpus"] / target.name):
                if one.data:
                    result = FuzzerResult(FuzzerProgress(0, 0, 0, 0), one.data, "")
                    found = finding_of(target, self.name, result, self.options["seed"])
                    self.history.findings += save(self.options["findings"], found) is not None
                yield one
        spoken = protocol(self.name)
        context = (
            self.live.context if self.live else FuzzContext(self.name, spoken.default_profile, spoken.default_variant)
        )
        yield from cases_made_of_findings(load_suite(self.name), context, self.live)
        yield from kept_findings(kept, TARGETS, self.live)

    def _targets(self) -> Mapping[str, CodeTarget]:
        """Return the targets of our own code that support the protocol."""
        return {key: one for key, one in TARGETS.items() if not one.needs_model or has_model(self.name)}

    def _fuzz(self) -> None:
        options = self.options
        seconds = options["seconds"] or (0 if options["runs"] else 60)
        targets = self._targets()
        for left_out in TARGETS.keys() - targets.keys():
            click.echo(f"engine {left_out} skipped: {self.name} has no model of a whole server")
        engines = [*targets, SERVER] if self.live else [*targets]
        _check_engines()
        engine_options = EngineOptions(
            self.name, options["corpus"], options["seed"], options["runs"] or 0, options["minimise"]
        )
        with _drawn(shares(engines, seconds), options["interval"]) as board:
            board.record = self.history.add
            for row in board.rows:
                if row.engine != SERVER:
                    self._keep(fuzz_own_code(targets[row.engine], engine_options, board, row))
                elif self.live is not None:
                    known = [one for one in self.kept if one.engine == SERVER and f"finding {one.id}" in self.shown]
                    stopped = fuzz_server(
                        self.live, engine_options, board, row, self._keep_found, options["restarts"], known
                    )
                    row.state = f"done: {stopped}" if stopped else row.state
                self.history.add(row, is_last=True)
        for row in board.rows:
            click.echo(row.line())
            if not row.findings:
                self.gone.append(f"engine {row.engine}")

    def _keep(self, found: FuzzFinding | None) -> None:
        if found is not None:
            directory = save(self.options["findings"], found)
            self._print_finding(found, directory)

    def _keep_found(self, one: CampaignFinding) -> None:
        assert self.live is not None
        assert self.target is not None
        options, context = self.options, self.live.context
        found, directory = keep_found(
            one, context, options["findings"], self.target.label, self.version, options["seed"]
        )
        self._print_finding(found, directory)

    def _print_finding(self, found: FuzzFinding, directory: Path | None) -> None:
        self.shown[f"finding {found.id}"] = found.detail
        self.history.findings += directory is not None
        where = f"kept in {directory}" if directory else f"already known as {found.id}"
        click.echo(f"{found.engine}: {found.oracle}: {found.detail}\n  {found.label}, {where}")

    def _outputs(self, folder: Path) -> None:
        sarif, junit, html = self.options["sarif"], self.options["junit"], self.options["html"]
        if html is not None:
            everything = [one for _, one in kept_in(folder)] if folder.is_dir() else []
            write_page(html, self.name, self.history.points, everything)
        if sarif is None and junit is None:
            return
        kept = [(directory, one) for directory, one in kept_in(folder) if f"finding {one.id}" in self.shown]
        write_outputs(kept, sarif=sarif, junit=junit, checked=self.gone)


class EngineError(RuntimeError):
    """Raised when no engine for our own code is installed."""


def _check_engines() -> None:
    if coverage_guided.is_available():
        return
    if not property_based.IS_AVAILABLE:
        raise EngineError("neither atheris nor Hypothesis is installed: python -m pip install 'wireproof[fuzz]'")
    click.echo("atheris is not installed: fuzzing with Hypothesis, without coverage")


@contextmanager
def _drawn(engines: list[tuple[str, int]], interval: float) -> Iterator[Board]:
    """Yield the board: redrawn on a terminal, printed line by line elsewhere."""
    console = Console(highlight=False)
    if not console.is_terminal:
        yield Board.of(engines, lambda board, row: click.echo(row.line()), interval)
        return
    with ExitStack() as stack:
        live = Live(console=console, refresh_per_second=4)
        draw: Callable[[Board, EngineRow], None] = lambda board, row: live.update(board.table())  # noqa: E731
        board = Board.of(engines, draw, 0.25)
        live.update(board.table())
        stack.enter_context(live)
        yield board
