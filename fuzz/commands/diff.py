"""`wireproof fuzz diff`: sends the same bytes to two or more servers and reports answers that differ in meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from wireproof.conformance.commands.target_options import SIMULATION, Target, listeners_of, target_of
from wireproof.conformance.model.targets import TargetError, listeners_of_each
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.run.probe import ProbeError, version_of
from wireproof.conformance.run.processes import StartError
from wireproof.conformance.suite.cases import load_suite
from wireproof.fuzz.commands.features_option import FEATURES, check_listeners, features_at
from wireproof.fuzz.commands.notes import say_what_is_missing
from wireproof.fuzz.commands.options import PROTOCOLS, Options
from wireproof.fuzz.commands.server import EVERY, FOUND, INTERRUPTED, QUIET, TIMEOUT, USAGE, checked, spoken_by
from wireproof.fuzz.differential.compared_servers import ComparedServer, LiveServer, SimulatedServer
from wireproof.fuzz.differential.diff_campaign import CERTAIN, Cluster, DiffCampaign, DiffLimits
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.finding_files import write_evidence
from wireproof.fuzz.findings.findings_folder import save
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.live_campaign import CampaignProgress
from wireproof.protocols import protocol, protocol_names

ORACLE = "servers answer alike"
SHOWN = 80
WIDTH = 140
"""Columns of the tables without a terminal."""


@click.command(context_settings={"show_default": True}, epilog=PROTOCOLS)
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.argument("targets", metavar="TARGET...", nargs=-1)
@click.option(
    "--target-command",
    "commands",
    multiple=True,
    help="Command that starts another server; {port} is replaced by a free port. Repeatable.",
)
@click.option(
    "--ready-timeout", type=click.FloatRange(0.1), default=15.0, help="Seconds that a server may take to listen."
)
@click.option("--time", "seconds", type=click.IntRange(1), help="Seconds to fuzz.  [default: 60]")
@click.option("--runs", type=click.IntRange(1), help="Scripts to play, instead of a time.")
@click.option("--seed", type=int, default=1, help="Seed of the mutations.")
@click.option(
    "--findings", type=click.Path(path_type=Path, file_okay=False), default=Path("findings"), help="Folder of findings."
)
@click.option("--profile", default="auto", help="Profile that all servers speak; auto detects each.")
@click.option("--variant", "--width", default="auto", help="Layout variant; auto detects each.")
@FEATURES
@click.option(
    "--listener",
    "listeners",
    multiple=True,
    metavar="NAME=ADDRESS",
    help="Where a server listens beside its usual address, once for all but the simulation, or once for each; "
    "they declare the feature of that name, too. One that is started may print it instead: listening NAME ADDRESS.",
)
@click.option("--allow-remote", is_flag=True, help="Allow servers on other machines: their data may be lost.")
@click.pass_context
def command(context: click.Context, /, name: str, targets: tuple[str, ...], **options: Any) -> None:
    """Send the same bytes to two or more servers of PROTOCOL and compare the meaning of their answers.

    A TARGET is tcp://HOST:PORT, unix:///PATH or simulation (the reference server in this process). What the protocol's
    document leaves open is learnt first and listed apart, as known quirks.

    Exit codes: 0 no difference, 1 differences, 2 usage or a server that serves nobody, 130 interrupted.

    \b
    wireproof fuzz diff PROTOCOL tcp://127.0.0.1:9000 --target-command "my-server --port {port}" --time 60
    """
    try:
        code = _diff(name, targets, options)
    except (TargetError, StartError, ProbeError) as error:
        click.echo(f"wireproof: {error}", err=True)
        code = USAGE
    except OSError as error:
        click.echo(f"wireproof: {error.strerror or error}", err=True)
        code = USAGE
    context.exit(code)


def _diff(name: str, texts: Sequence[str], options: Options) -> int:
    commands = options["commands"]
    if len(texts) + len(commands) < 2:
        raise TargetError(f"expected two or more of TARGET and --target-command; got {len(texts) + len(commands)}")
    with ExitStack() as stack:
        common = {"budgets": False, "out": None, "ready_timeout": options["ready_timeout"]}
        started = [stack.enter_context(target_of(text, {**common, "target_command": None})) for text in texts]
        started += [stack.enter_context(target_of(None, {**common, "target_command": one})) for one in commands]
        outside = [at for at, one in enumerate(started) if one.label != SIMULATION]
        listeners = zip(outside, listeners_of_each(options["listeners"], len(outside)), strict=True)
        live = {at: _live(name, started[at], there, options, stack) for at, there in listeners}
        contexts = [one.context for one in live.values()] or [_default(name, options)]
        if len({one.variant for one in contexts}) > 1:
            spoken = ", ".join(f"{one.label} {one.context.variant}" for one in live.values())
            raise TargetError(f"the servers use different variants, so the same bytes differ in meaning: {spoken}")
        first = contexts[0]
        servers = [
            live.get(at) or SimulatedServer(one.label, replace(first, others=[])) for at, one in enumerate(started)
        ]
        return _report(name, servers, options)


def _default(name: str, options: Options) -> FuzzContext:
    spoken = protocol(name)
    profile = spoken.default_profile if options["profile"] == "auto" else options["profile"]
    variant = spoken.default_variant if options["variant"] == "auto" else options["variant"]
    if profile not in spoken.profiles or variant not in spoken.profiles[profile].variants:
        raise TargetError(f"--profile, --variant: there is no {profile} {variant}")
    return FuzzContext(name, profile, variant)


def _live(name: str, target: Target, listeners: Mapping[str, str], options: Options, stack: ExitStack) -> LiveServer:
    options = {**options, "listeners": [f"{key}={one}" for key, one in listeners.items()]}
    address = checked(target.address, allow_remote=options["allow_remote"])
    spoken = spoken_by(name, address, options["profile"], options["variant"])
    version = asyncio.run(version_of(load_suite(name), address, spoken, TIMEOUT))
    context = FuzzContext(
        name, spoken.profile, spoken.variant, features=features_at(name, options, target, address, spoken)
    )
    live = stack.enter_context(LiveTarget(context, address, target.server, listeners=listeners_of(options)))
    check_listeners(live)
    return LiveServer(target.label, version, live)


def _report(name: str, servers: Sequence[ComparedServer], options: Options) -> int:
    """Fuzz, keep and print the findings; return the exit code."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    runs, seconds = options["runs"] or 0, options["seconds"] or 0
    status = console.status("learning which answers may differ") if console.is_terminal else nullcontext()

    def report(progress: CampaignProgress) -> None:
        if status is not None and hasattr(status, "update"):
            status.update(str(progress))
        elif progress.executions % EVERY == 0:
            click.echo(str(progress))

    limits = DiffLimits(seconds or (0 if runs else 60), runs)
    campaign = DiffCampaign(servers, load_suite(name), options["seed"], limits, report)
    with status:
        interrupted = _compare(campaign, lambda cluster: _keep(cluster, servers, options))
    for letter, server in zip(ascii_uppercase, servers, strict=False):
        console.print(
            f"{letter}: {server.label}, {server.context.profile} {server.context.variant}, {server.version}",
            markup=False,
        )
    if campaign.quirks:
        console.print(
            _table("Known quirks: answers in which conforming servers may differ", campaign.quirks.values(), servers)
        )
    if campaign.found:
        console.print(_table("Differences", campaign.found.values(), servers))
    why = "interrupted: " if interrupted else f"{campaign.stopped}: " if campaign.stopped else ""
    flaky = f", {sum(campaign.flaky.values())} not reproduced" if campaign.flaky else ""
    click.echo(f"{why}{campaign.progress}, {number_of(len(campaign.quirks), 'quirk')}{flaky}")
    for label, times in campaign.ends.items():
        click.echo(f"{label} ended or served nobody {times} {'time' if times == 1 else 'times'}")
    return _code(campaign, interrupted=interrupted)


def _compare(campaign: DiffCampaign, keep: Callable[[Cluster], None]) -> bool:
    """Learn and compare; return whether that was interrupted."""
    try:
        campaign.learn()
        for cluster in campaign.run():
            keep(cluster)
    except KeyboardInterrupt:
        return True
    except StartError as error:  # what was found before is still shown
        campaign.lost, campaign.stopped = True, f"a server does not start again: {error}"
    return False


def _code(campaign: DiffCampaign, *, interrupted: bool) -> int:
    if campaign.found or interrupted:
        return FOUND if campaign.found else INTERRUPTED
    return USAGE if campaign.lost else QUIET


def _table(title: str, clusters: Iterable[Cluster], servers: Sequence[ComparedServer]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("clause", "answer to", *ascii_uppercase[: len(servers)], "deviating", "seen"):
        table.add_column(column, overflow="fold")
    for one in sorted(clusters, key=lambda one: one.clause or "~"):
        deviating = [
            letter for letter, server in zip(ascii_uppercase, servers, strict=False) if server.label in one.deviating
        ]
        why = one.why or (f"{', '.join(deviating)} differs from the reference" if deviating else "-")
        texts = [text if len(text) <= SHOWN else f"{text[:SHOWN]}…" for text in one.difference.texts]
        table.add_row(one.clause or "-", one.difference.request, *texts, why, str(one.times))
    return table


def _keep(cluster: Cluster, servers: Sequence[ComparedServer], options: Options) -> None:
    found, first = cluster.difference, servers[0].context
    answers = "; ".join(f"{server.label}: {text}" for server, text in zip(servers, found.texts, strict=True))
    finding = FuzzFinding(
        "differential",
        ORACLE,
        f"the answer to {found.request} differs: {answers}",
        found.shape,
        first.name,
        first.profile,
        first.variant,
        cluster.clause,
        state=found.where,
        target=" | ".join(server.label for server in servers),
        implementation=" | ".join(server.version for server in servers),
        script=cluster.script,
        executions=cluster.executions,
        seed=options["seed"],
    ).rerun(cluster.seen, CERTAIN)
    directory = save(options["findings"], finding)
    if directory is not None:
        deviating = next((server for server in servers if server.label in cluster.deviating), servers[-1])
        trace = deviating.play(with_fresh_canaries(cluster.script)).trace if cluster.seen else ()
        write_evidence(directory, finding, deviating.context, trace)
        say_what_is_missing()
