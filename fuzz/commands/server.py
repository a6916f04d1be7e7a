"""`wireproof fuzz server`: fuzzes a live server, given by address or started by command."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from wireproof.conformance.commands.target_options import Target, listeners_of, target_of
from wireproof.conformance.model.targets import Address, TargetError
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.run.probe import ProbeError, Spoken, ask_spoken, no_connection, version_of
from wireproof.conformance.run.processes import StartError
from wireproof.conformance.suite.cases import load_suite
from wireproof.fuzz.commands.features_option import FEATURES, LISTENERS, check_listeners, features_at
from wireproof.fuzz.commands.notes import say_what_is_missing
from wireproof.fuzz.commands.options import PROTOCOLS, Options
from wireproof.fuzz.edges.counters import VARIABLE, Counters, shared_counters
from wireproof.fuzz.findings.clause_of_finding import clause_of
from wireproof.fuzz.findings.finding import FindingError, FuzzFinding
from wireproof.fuzz.findings.finding_files import write_evidence
from wireproof.fuzz.findings.findings_folder import load, load_all, save
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.live_campaign import Campaign, CampaignFinding, CampaignLimits, CampaignProgress
from wireproof.protocols import protocol, protocol_names

QUIET, FOUND, USAGE, INTERRUPTED = 0, 1, 2, 130
EVERY = 200
"""Executions between two progress lines without a terminal."""
TIMEOUT = 5.0


@click.command(context_settings={"show_default": True}, epilog=PROTOCOLS)
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.argument("target", required=False)
@click.option(
    "--target-command",
    help="Command that starts the server; {port} is replaced by a free port. Restarted when it ends.",
)
@click.option(
    "--ready-timeout", type=click.FloatRange(0.1), default=15.0, help="Seconds that the server may take to listen."
)
@click.option("--restarts", type=click.IntRange(0), default=200, help="Most restarts of the server.")
@click.option(
    "--time",
    "seconds",
    type=click.IntRange(1),
    help="Seconds to fuzz; a reduction that has begun is finished.  [default: 60]",
)
@click.option("--runs", type=click.IntRange(1), help="Number of executions, instead of a time.")
@click.option("--rate", type=click.FloatRange(0.0), default=0.0, help="Most executions a second; 0: no limit.")
@click.option("--seed", type=int, default=1, help="Seed of the mutations.")
@click.option(
    "--findings", type=click.Path(path_type=Path, file_okay=False), default=Path("findings"), help="Folder of findings."
)
@click.option("--profile", default="auto", help="Profile that the server speaks; auto detects it.")
@click.option("--variant", "--width", default="auto", help="Layout variant; auto detects it.")
@click.option(
    "--known",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="Finding, or folder of findings, that is known: not reported again, and its death is steered around.",
)
@FEATURES
@LISTENERS
@click.option("--tls", is_flag=True, help="The target speaks TLS, also where no feature says so.")
@click.option(
    "--coverage",
    is_flag=True,
    help="The target counts its edges in the file that $WIREPROOF_COVERAGE names (docs/fuzzing.md): scripts that take "
    "new ones are mutated further.",
)
@click.option("--allow-remote", is_flag=True, help="Allow a server on another machine: its data may be lost.")
@click.pass_context
def command(context: click.Context, /, name: str, target: str | None, **options: Any) -> None:
    """Fuzz a live server of PROTOCOL at TARGET (tcp://HOST:PORT, unix:///PATH) or started by --target-command.

    Valid conversations are mutated and played; scripts that show new behaviour are mutated further. A failure is
    reduced, replayed three times and kept. The data of the server may be lost.

    Exit codes: 0 nothing found, 1 something found, 2 usage or a server that serves nobody, 130 interrupted.

    \b
    wireproof fuzz server PROTOCOL --target-command "my-server --port {port}" --time 60
    """
    try:
        code = _fuzz(name, target, options)
    except (TargetError, StartError, ProbeError, FindingError) as error:
        click.echo(f"wireproof: {error}", err=True)
        code = USAGE
    except OSError as error:
        click.echo(f"wireproof: {error.strerror or error}", err=True)
        code = USAGE
    context.exit(code)


def _fuzz(name: str, text: str | None, options: Options) -> int:
    made = {**options, "budgets": False, "out": None}
    with counted(options, text) as counters, target_of(text, made) as target:
        address = checked(target.address, allow_remote=options["allow_remote"])
        spoken = spoken_by(name, address, options["profile"], options["variant"])
        features = features_at(name, options, target, address, spoken)
        context = FuzzContext(name, spoken.profile, spoken.variant, features=features, tls=options["tls"])
        version = asyncio.run(version_of(load_suite(name), address, spoken, TIMEOUT))
        with LiveTarget(context, address, target.server, counters, listeners_of(options)) as live:
            check_listeners(live)
            check_edges(live)
            return _ServerFuzzing(live, target, version, options)()


def counted(options: Options, address: str | None) -> AbstractContextManager[Counters | None]:
    """Return a context of the counters that the target shares; of None without `--coverage`.

    Raises `TargetError` if a target at an address shares no file.
    """
    if not options["coverage"]:
        return nullcontext()
    if address is not None and not os.environ.get(VARIABLE):
        raise TargetError(f"--coverage: expected {VARIABLE}=FILE here and in the target at {address}; it is not set")
    return shared_counters()


def check_edges(live: LiveTarget) -> None:
    """Raise `TargetError` if a target that should count its edges does not."""
    if live.counters is not None and not any(live.play((), patience=TIMEOUT).edges or b""):
        raise TargetError(
            f"--coverage: the target counted no edge in {live.counters.path} while it served a connection; expected "
            "one that is instrumented (docs/fuzzing.md)"
        )


def checked(address: Address | None, *, allow_remote: bool) -> Address:
    """Return `address` if it may be fuzzed: one of this machine unless `allow_remote`. Raises `TargetError`."""
    if address is None:
        raise TargetError("expected tcp://HOST:PORT, unix:///PATH or --target-command: a simulation is no live server")
    if not allow_remote and address.scheme == "tcp" and not _is_loopback(address.host):
        raise TargetError(f"{address} is no loopback address: give --allow-remote if its data may be lost")
    return address


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def spoken_by(name: str, address: Address, profile: str, variant: str) -> Spoken:
    """Return the profile and variant of the target, asked for even where they are named.

    Raises `TargetError` when nothing listens or a name is unknown, `ProbeError` when something else is spoken.
    """
    profiles = protocol(name).profiles
    if profile != "auto" and profile not in profiles:
        raise TargetError(f"--profile: expected auto, {', '.join(profiles)}; got {profile!r}")
    if "auto" not in (profile, variant) and variant not in profiles[profile].variants:
        raise TargetError(f"--variant: expected auto, {', '.join(profiles[profile].variants)}; got {variant!r}")
    try:
        found, warning = asyncio.run(ask_spoken(load_suite(name), address, TIMEOUT, profile, variant))
    except OSError as error:
        raise TargetError(f"nothing to fuzz at {address}: {no_connection(error)}") from None
    if warning:
        click.echo(f"wireproof: {warning}", err=True)
    return found


@dataclass(frozen=True)
class _ServerFuzzing:
    """One call of the command."""

    live: LiveTarget
    target: Target
    version: str
    options: Options
    began: float = field(default_factory=time.monotonic)

    def __call__(self) -> int:
        """Fuzz and keep the findings; return the exit code."""
        console, options = Console(highlight=False), self.options
        runs, seconds = options["runs"] or 0, options["seconds"] or 0
        limits = CampaignLimits(seconds or (0 if runs else 60), runs, options["rate"], restarts=options["restarts"])
        status = console.status("fuzzing") if console.is_terminal else nullcontext()

        def report(progress: CampaignProgress) -> None:
            if status is not None and hasattr(status, "update"):
                status.update(str(progress))
            elif progress.executions % EVERY == 0:
                click.echo(str(progress))

        campaign = Campaign(self.live, seed=options["seed"], limits=limits, report=report)
        campaign.steer_around(known_findings(options["known"]))
        if not options["rate"]:
            campaign.progress.empty_client = self.live.empty_client_rate()
            campaign.progress.began, campaign.progress.began_cpu = time.monotonic(), time.process_time()
        found, interrupted = 0, False
        try:
            with status:
                for one in campaign.run():
                    found += 1
                    self._keep(one)
        except KeyboardInterrupt:
            interrupted = True
        why = "interrupted: " if interrupted else f"{campaign.stopped}: " if campaign.stopped else ""
        click.echo(f"{why}{campaign.progress}")
        click.echo(campaign.cost)
        click.echo(f"{campaign.drawn}")
        if campaign.deaths:
            met, avoided = campaign.deaths.met, campaign.deaths.avoided
            left_out = number_of(avoided, "script")
            click.echo(
                f"known deaths and hangs: met {number_of(met, 'time')} more, {left_out} not played because of them"
            )
        if found or interrupted:
            return FOUND if found else INTERRUPTED
        return USAGE if campaign.lost else QUIET

    def _keep(self, one: CampaignFinding) -> None:
        options = self.options
        finding, directory = keep_found(
            one, self.live.context, options["findings"], self.target.label, self.version, options["seed"]
        )
        where = f"kept in {directory}" if directory else f"already known as {finding.id}"
        after = f"{time.monotonic() - self.began:.0f} s and {number_of(one.executions, 'execution')}"
        click.echo(f"{finding.oracle}: {finding.detail} [{finding.clause or 'no clause'}; {finding.shape}]")
        click.echo(f"  {finding.label}, after {after}, {number_of(len(finding.script), 'step')}, {where}")


def known_findings(paths: Iterable[Path]) -> list[FuzzFinding]:
    """Return the findings of directories, files and folders of findings. Raises `FindingError`."""
    found: list[FuzzFinding] = []
    for path in paths:
        is_one = path.is_file() or (path / "finding.json").exists()
        found += [load(path)] if is_one else load_all(path)
    return found


def keep_found(
    one: CampaignFinding, context: FuzzContext, folder: Path, target: str, version: str, seed: int
) -> tuple[FuzzFinding, Path | None]:
    """Write a finding below `folder`; return it and its directory, None if it was known. Raises `OSError`."""
    what, suspicion = one.what, one.what.suspicion
    finding = FuzzFinding(
        "server",
        suspicion.oracle,
        suspicion.detail,
        suspicion.shape,
        context.name,
        context.profile,
        context.variant,
        clause_of(suspicion, context),
        target=target,
        implementation=version,
        script=what.script,
        executions=one.executions,
        seed=seed,
    ).rerun(what.seen, what.of)
    directory = save(folder, finding)
    if directory is not None:
        trace, words = (what.play.trace, what.play.words) if what.play else ((), ())
        write_evidence(directory, finding, context, trace, words)
        say_what_is_missing()
    return finding, directory
