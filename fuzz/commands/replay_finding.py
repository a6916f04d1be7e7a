"""`wireproof replay`: is a finding, a record or a case still reproduced?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from wireproof.conformance.commands.target_options import listeners_of, target_of
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.run.processes import StartError
from wireproof.fuzz.commands.features_option import LISTENERS, check_listeners_of
from wireproof.fuzz.commands.options import Options
from wireproof.fuzz.commands.play_again import play_again
from wireproof.fuzz.commands.server import checked
from wireproof.fuzz.commands.show import finding_at
from wireproof.fuzz.differential.diff_reproduction import unlike_reference
from wireproof.fuzz.findings.finding import SCRIPT_ENGINES, STEP_ENGINE, FindingError, FuzzFinding
from wireproof.fuzz.findings.findings_folder import load
from wireproof.fuzz.findings.of_own_code import broken
from wireproof.fuzz.known_targets import TARGETS, CodeTarget
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.live_reproduction import shown
from wireproof.fuzz.live_settings import broken_now
from wireproof.fuzz.seed_replay import replayed_seeds
from wireproof.fuzz.store_steps import describe_step, steps_of
from wireproof.protocols import protocol_names

GONE, REPRODUCED = 0, 1


@click.command()
@click.argument("identifier", metavar="ID")
@click.argument("target", required=False)
@click.option("--target-command", help="Command that starts the server; {port} is replaced by a free port.")
@click.option(
    "--ready-timeout", type=click.FloatRange(0.1), default=15.0, help="Seconds that the server may take to listen."
)
@LISTENERS
@click.option("--allow-remote", is_flag=True, help="Allow a server on another machine: its data may be lost.")
@click.option(
    "--runs",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Where to look for records. Repeatable.  [default: runs/, else the current folder]",
)
@click.pass_context
def command(context: click.Context, /, identifier: str, target: str | None, **options: Any) -> None:
    """Play again what ID stands for: a record of a run (12 hex digits), a case, or a finding (its id below findings/,
    its directory or finding.json). REPRODUCED exits 1, GONE exits 0, usage errors 2.

    A record is played on TARGET, else where its run was; a case on TARGET, else where the last run was that has it.

    A finding of a live server is replayed on TARGET (tcp://HOST:PORT, unix:///PATH) or --target-command, never on the
    address in the file. A difference between servers is replayed as a comparison of that server with the reference.

    \b
    wireproof replay 956425a57f8d
    wireproof replay query/fields-of-the-answer tcp://127.0.0.1:9000
    wireproof replay findings/ID
    wireproof replay findings/ID tcp://127.0.0.1:9000
    """
    finding = finding_at(identifier)
    if finding is None:
        context.exit(play_again(identifier, target, options))
    try:
        found = load(finding)
        detail = _shown(found, target, options)
    except (FindingError, TargetError, StartError) as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"cannot replay: {error.strerror or error}") from None
    if detail is not None:
        click.echo(f"REPRODUCED {found.id}: {detail}")
    else:
        click.echo(f"GONE {found.id}: {found.oracle} holds for this input")
    for number, step in enumerate(_steps(found), 1):
        click.echo(f"  {number:3}. {step}")
    context.exit(GONE if detail is None else REPRODUCED)


def _steps(found: FuzzFinding) -> Iterable[str]:
    """Return what the input of a finding does, one step a line."""
    if found.engine in TARGETS:
        return found.steps or TARGETS[found.engine].described(found.protocol, found.data).steps
    if found.engine == STEP_ENGINE:
        return map(describe_step, steps_of(found.script, _context(found)))
    return ()


def _shown(found: FuzzFinding, target: str | None, options: Options) -> str | None:
    """Return what is reproduced, as text; None for nothing."""
    if found.engine in SCRIPT_ENGINES:
        return _on_server(found, target, options)
    return _by_steps(found, target, options) if found.engine == "machine" else _on_own_code(found)


def _context(found: FuzzFinding) -> FuzzContext:
    if found.protocol not in protocol_names():
        raise FindingError(f"expected a finding of {' or '.join(protocol_names())}, got {found.protocol!r}")
    return FuzzContext(found.protocol, found.profile, found.variant)


def _by_steps(found: FuzzFinding, text: str | None, options: Options) -> str | None:
    """Replay steps on the named target; without one in this process, where they were found there."""
    if not found.target and text is None and options["target_command"] is None:
        return broken_now(found, _context(found), None)
    with target_of(text, {**options, "budgets": False, "out": None}) as target:
        checked(target.address, allow_remote=options["allow_remote"])
        return broken_now(found, _context(found), target)


def _on_own_code(found: FuzzFinding) -> str | None:
    """Return the broken invariant, as text; None for nothing."""
    if found.engine not in TARGETS:
        raise FindingError(f"findings of engine {found.engine} cannot be replayed")
    target = TARGETS[found.engine]
    if not found.data and not found.steps:
        return _while_seeds_are_made(target, found)
    violation = broken(target, found.protocol, found.data)
    return None if violation is None else f"{violation} ({found.protocol} {found.profile} {found.variant})"


def _while_seeds_are_made(target: CodeTarget, found: FuzzFinding) -> str | None:
    """Make the seeds again, for a finding without an input; return what breaks, as text."""
    result = replayed_seeds(target, found.protocol, found.seed, seconds=0).broken
    return result.output if result is not None and result.without_input is not None else None


def _on_server(found: FuzzFinding, text: str | None, options: Options) -> str | None:
    context = _context(found)
    with target_of(text, {**options, "budgets": False, "out": None}) as target:
        address = checked(target.address, allow_remote=options["allow_remote"])
        with LiveTarget(context, address, target.server, listeners=listeners_of(options)) as live:
            check_listeners_of(live, found.script)
            return shown(live, found) if found.engine == "server" else unlike_reference(live, found)
