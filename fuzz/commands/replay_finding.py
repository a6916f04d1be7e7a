"""`wireproof replay`: does a finding still show?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wireproof.conformance.commands.target_options import target_of
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.run.processes import StartError
from wireproof.fuzz.commands.server import checked
from wireproof.fuzz.differential.diff_reproduction import unlike_reference
from wireproof.fuzz.findings.finding import SCRIPT_ENGINES, FindingError, FuzzFinding
from wireproof.fuzz.findings.findings_folder import load
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import TARGETS
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.live_reproduction import shown
from wireproof.fuzz.live_settings import broken_now
from wireproof.protocols import protocol_names

GONE, REPRODUCED = 0, 1


@click.command()
@click.argument("finding", type=click.Path(path_type=Path, exists=True))
@click.argument("target", required=False)
@click.option("--target-command", help="Start this server for it, as `wireproof test` does.")
@click.option("--ready-timeout", type=click.FloatRange(0.1), default=15.0, help="Seconds it may take to listen.")
@click.option("--allow-remote", is_flag=True, help="The target may be on another machine: it is yours to break.")
@click.pass_context
def command(context: click.Context, /, finding: Path, target: str | None, **options: Any) -> None:
    """Play the input of FINDING (its directory, or finding.json) again: REPRODUCED exits 1, GONE exits 0.

    What was found on a live server is played on the one named: TARGET or --target-command; where servers differed, its
    answers are held against those of the reference server.
    """
    try:
        found = load(finding)
        detail = _shown(found, target, options)
    except (FindingError, TargetError, StartError) as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"cannot play it: {error.strerror or error}") from None
    if detail is not None:
        click.echo(f"REPRODUCED {found.id}: {detail}")
        context.exit(REPRODUCED)
    click.echo(f"GONE {found.id}: {found.oracle} holds for this input")
    context.exit(GONE)


def _shown(found: FuzzFinding, target: str | None, options: dict[str, Any]) -> str | None:
    """Return what shows, in words; None when nothing does."""
    if found.engine in SCRIPT_ENGINES:
        return _on_server(found, target, options)
    return _by_steps(found, target, options) if found.engine == "machine" else _on_own_code(found)


def _context(found: FuzzFinding) -> FuzzContext:
    if found.protocol not in protocol_names():
        raise FindingError(f"expected a finding of {' or '.join(protocol_names())}, got {found.protocol!r}")
    return FuzzContext(found.protocol, found.profile, found.variant)


def _by_steps(found: FuzzFinding, text: str | None, options: dict[str, Any]) -> str | None:
    """Play it on the target that is named; what was found in this process is played there unless one is."""
    if not found.target and text is None and options["target_command"] is None:
        return broken_now(found, _context(found), None)
    with target_of(text, {**options, "budgets": False, "out": None}) as target:
        checked(target.address, allow_remote=options["allow_remote"])
        return broken_now(found, _context(found), target)


def _on_own_code(found: FuzzFinding) -> str | None:
    """Return what shows, in words; None when nothing does."""
    if found.engine not in TARGETS:
        raise FindingError(f"a finding of engine {found.engine} cannot be replayed yet")
    try:
        TARGETS[found.engine].check(found.protocol, found.data)
    except InvariantError as violation:
        return str(violation)
    return None


def _on_server(found: FuzzFinding, text: str | None, options: dict[str, Any]) -> str | None:
    context = _context(found)
    with target_of(text, {**options, "budgets": False, "out": None}) as target:
        address = checked(target.address, allow_remote=options["allow_remote"])
        with LiveTarget(context, address, target.server) as live:
            return shown(live, found) if found.engine == "server" else unlike_reference(live, found)
