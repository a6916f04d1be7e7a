"""`wireproof fuzz machine`: a stateful machine against a server in this process or a live one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wireproof.conformance.commands.target_options import Target, target_of
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.probe import ProbeError, version_of
from wireproof.conformance.run.processes import StartError
from wireproof.conformance.suite.cases import load_suite
from wireproof.fuzz.commands.options import PROTOCOLS, Options
from wireproof.fuzz.commands.renamed import CommandWithRenamedOptions
from wireproof.fuzz.commands.server import checked, spoken_by
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.finding_files import write_evidence
from wireproof.fuzz.findings.findings_folder import save
from wireproof.fuzz.known_targets import has_model
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live_settings import live_setting
from wireproof.fuzz.reproduction import SmallestFailure, smallest
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.step_failure import Setting, StepFailure
from wireproof.fuzz.store_steps import describe_step
from wireproof.protocols import protocol, protocol_names
from wireproof.reference_server.registry import has_server_model, server_model_of

if TYPE_CHECKING:
    from wireproof.fuzz.state_machine import Preset

QUIET, FOUND, USAGE, INTERRUPTED = 0, 1, 2, 130
PRESETS = ("ci", "deep")
TIMEOUT = 5.0
MOST_FINDINGS = 8
"""Findings of one profile and variant after which a run ends."""
NEXT_SEED = 1_000_003
"""What is added to the seed after a finding."""


def default_database() -> Path:
    """Return the default folder of Hypothesis' example database."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wireproof" / "examples"


@click.command(cls=CommandWithRenamedOptions, context_settings={"show_default": True}, epilog=PROTOCOLS)
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.argument("target", required=False)
@click.option("--target-command", help="Command that starts the server; {port} is replaced by a free port.")
@click.option(
    "--ready-timeout", type=click.FloatRange(0.1), default=15.0, help="Seconds that the server may take to listen."
)
@click.option("--profile", default="auto", help="Profile; auto: that of a live server, or all in this process.")
@click.option("--variant", "--width", default="auto", help="Layout variant; auto as for --profile.")
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    default="ci",
    help="How much to try. ci: 40 examples of 30 steps, the same each time; deep: 2000 examples of 80 steps.",
)
@click.option("--examples", type=click.IntRange(1), help="Number of examples, instead of that of the preset.")
@click.option("--steps", type=click.IntRange(1), help="Most steps of one example, instead of those of the preset.")
@click.option("--time", "seconds", type=click.IntRange(1), help="Seconds after which the run ends in any case.")
@click.option("--tolerance", type=click.IntRange(0), default=250, help="Milliseconds that a live server may be late.")
@click.option(
    "--reply-timeout", type=click.FloatRange(0.05), default=2.0, help="Seconds that a live server has for a reply."
)
@click.option(
    "--database",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of failed examples, tried first by preset deep.  [default: ~/.cache/wireproof/examples]",
)
@click.option(
    "--findings", type=click.Path(path_type=Path, file_okay=False), default=Path("findings"), help="Folder of findings."
)
@click.option("--seed", type=int, default=1, help="Seed of preset deep.")
@click.option("--allow-remote", is_flag=True, help="Allow a server on another machine: its data may be lost.")
@click.pass_context
def command(context: click.Context, /, name: str, target: str | None, **options: Any) -> None:
    """Send random requests to a server of PROTOCOL and compare it with the model of its document.

    On several connections it requests, subscribes, publishes, lets time pass, disconnects and reconnects; the model
    must allow every reply and push. With --time it goes on after a finding.
    Without a target the reference server runs in this process on a virtual clock, in every profile and variant that has
    a model.
    With TARGET (tcp://HOST:PORT, unix:///PATH) or --target-command time is real and waits are short.
    A failure is reduced to few steps, printed and kept.

    Exit codes: 0 nothing found, 1 something found, 2 usage or the server cannot be reached, 130 interrupted.

    \b
    wireproof fuzz machine PROTOCOL --preset deep --time 300
    wireproof fuzz machine PROTOCOL tcp://127.0.0.1:9000
    """
    if not has_model(name):
        raise click.UsageError(f"{name} has no model of a whole server, which `fuzz store` and `fuzz machine` need")
    try:
        code = (
            _in_process(name, options)
            if (target or options["target_command"]) is None
            else _live(name, target, options)
        )
    except ImportError as error:
        click.echo(f"wireproof: {error}", err=True)
        code = USAGE
    except (TargetError, StartError, ProbeError) as error:
        click.echo(f"wireproof: {error}", err=True)
        code = USAGE
    except OSError as error:
        click.echo(f"wireproof: {error.strerror or error}", err=True)
        code = USAGE
    except KeyboardInterrupt:
        code = INTERRUPTED
    context.exit(code)


def _in_process(name: str, options: Options) -> int:
    """Run every selected profile and variant in this process; return the exit code."""
    combinations = list(_combinations(name, options["profile"], options["variant"]))
    share = (options["seconds"] or 0) / len(combinations)
    codes = []
    known: frozenset[tuple[str, str | None, str]] = frozenset()
    for context in combinations:
        made, lasts = (context.name, context.profile, context.variant), reference_target.keeps_anything(name)
        transport = partial(InProcess, *made, is_lasting=lasts)
        setting = Setting(context, transport, restarts=lasts, known=known)
        codes.append(_run(setting, options, share, Target("", None), ""))
        known |= setting.ignored | ({setting.failure.key} if setting.failure is not None else frozenset())
    return max(codes)


def _combinations(name: str, profile: str, variant: str) -> Iterator[FuzzContext]:
    profiles = protocol(name).profiles
    if profile not in ("auto", *profiles):
        raise TargetError(f"--profile: expected auto, {', '.join(profiles)}; got {profile!r}")
    for one in profiles.values() if profile == "auto" else (profiles[profile],):
        if variant not in ("auto", *one.variants):
            raise TargetError(f"--variant: expected auto, {', '.join(one.variants)}; got {variant!r}")
        for width in one.variants if variant == "auto" else (variant,):
            if profile != "auto":
                _check_model(name, one.name, width)
            if has_server_model(name, profile=one.name, variant=width, shared=True):
                yield FuzzContext(name, one.name, width)


def _check_model(name: str, profile: str, variant: str) -> None:
    """Raise `TargetError` for a profile without a model of a whole server."""
    try:
        server_model_of(name, profile=profile, variant=variant, tolerance_ns=0, shared=True)
    except ValueError as error:
        raise TargetError(f"--profile: {error}") from None


def _live(name: str, text: str | None, options: Options) -> int:
    with target_of(text, {**options, "budgets": False, "out": None}) as target:
        address = checked(target.address, allow_remote=options["allow_remote"])
        spoken = spoken_by(name, address, options["profile"], options["variant"])
        context = FuzzContext(name, spoken.profile, spoken.variant)
        if context.by_state:
            raise TargetError(
                f"{name} is followed step by step in this process only: what it may send depends on what came before"
            )
        version = asyncio.run(version_of(load_suite(name), address, spoken, TIMEOUT))
        setting = live_setting(
            context, target, tolerance_ns=options["tolerance"] * 10**6, patience=options["reply_timeout"]
        )
        return _run(setting, options, options["seconds"] or 0, target, version)


def _run(setting: Setting, options: Options, seconds: float, target: Target, version: str) -> int:
    from wireproof.fuzz.state_machine import PRESETS, run

    preset = _preset(PRESETS[options["preset"]], options)
    ends = setting.ends = time.monotonic() + seconds if seconds else setting.ends
    context, code = setting.context, QUIET
    where = f"{context.name} {context.profile} {context.variant}"
    for number in range(MOST_FINDINGS):
        kept = (options["database"] or default_database()) if not number else None  # what is ignored would be forgotten
        failure = run(setting, preset, seed=options["seed"] + number * NEXT_SEED, database=kept)
        if failure is None:
            more = "nothing more" if code == FOUND else "nothing"
            played = f"{number_of(setting.examples, 'example')}, {number_of(setting.asked, 'request')}"
            click.echo(f"{where}: {more} found, {played}")
            return code
        code = FOUND
        if failure.key in setting.known:
            click.echo(f"{where}: {failure.violation.invariant}: as under another profile or variant, not shrunk again")
        else:
            _report(setting, failure, options, target, version, where)
        if not seconds or time.monotonic() >= ends:
            break
        setting.go_on(ends)
    return code


def _preset(preset: Preset, options: Options) -> Preset:
    examples, steps = options["examples"] or preset.examples, options["steps"] or preset.steps
    return replace(preset, examples=examples, steps=steps)


def _report(setting: Setting, failure: StepFailure, options: Options, target: Target, version: str, where: str) -> None:
    """Reduce a failure, print it and keep it."""
    setting.ends = float("inf")
    small = smallest(failure, setting)
    finding = _finding(setting, small, options, target, version)
    click.echo(f"{where}: {small.failure.violation}" + (f" [{finding.clause}]" if finding.clause else ""))
    for number, step in enumerate(small.failure.steps, 1):
        click.echo(f"  {number:3}. {describe_step(step)}")
    directory = save(options["findings"], finding)
    if directory is not None:
        try:
            write_evidence(directory, finding, setting.context, small.failure.check.trace)
        except Exception as error:
            click.echo(f"  the exchange is not written: {type(error).__name__}: {error}")
    kept = f"kept in {directory}" if directory else f"already known as {finding.id}"
    click.echo(f"  {finding.label}, after {number_of(setting.examples, 'example')}, {kept}")


def _finding(setting: Setting, small: SmallestFailure, options: Options, target: Target, version: str) -> FuzzFinding:
    context, violation = setting.context, small.failure.violation
    return FuzzFinding(
        "machine",
        violation.invariant,
        violation.detail,
        violation.shape,
        context.name,
        context.profile,
        context.variant,
        violation.clause,
        target=target.label,
        implementation=version,
        script=tuple(small.failure.check.script),
        executions=setting.examples,
        seed=options["seed"],
    ).rerun(small.seen, small.of)
