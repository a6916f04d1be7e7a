"""Plays a record or a case again, by its id, with the command that played it."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from wireproof.conformance.commands import sdk, test
from wireproof.conformance.report.record_search import RECORD_ID, again, records_with
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.names import names_like
from wireproof.fuzz.commands.options import Options
from wireproof.fuzz.commands.show import run_folders
from wireproof.protocols.registry import left_out, usable_protocols

__all__ = ["play_again"]

REPRODUCED, GONE = 1, 0
COMMANDS = {"test": test.command, "test-sdk": sdk.command}


def play_again(identifier: str, target: str | None, options: Options) -> int:
    """Play what an id stands for; return 1 if it fails still, 0 if it passes, else what the command returned.

    Raises `click.UsageError` for an id of nothing, and for a case without a target.
    """
    words = _words(identifier, target, options)
    click.echo(f"wireproof {shlex.join(words)}", err=True)
    code = COMMANDS[words[0]].main(args=words[1:], prog_name=f"wireproof {words[0]}", standalone_mode=False)
    code = code if isinstance(code, int) else GONE
    if code in (REPRODUCED, GONE):
        click.echo(f"{'REPRODUCED' if code == REPRODUCED else 'GONE'} {identifier}")
    return code


def _words(identifier: str, target: str | None, options: Options) -> list[str]:
    runs: tuple[Path, ...] = tuple(options["runs"])
    found = (
        records_with(identifier, run_folders(runs)) if runs or target is None or RECORD_ID.fullmatch(identifier) else []
    )
    if found:
        return again(*found[0], _target(target, options), options["listeners"])
    suites = {name: load_suite(name) for name in usable_protocols()}
    protocols = [name for name, suite in suites.items() if any(one.id == identifier for one in suite.cases)]
    if not protocols:
        known = [one.id for suite in suites.values() for one in suite.cases]
        near = names_like(identifier, known)
        hint = f"; names like it: {', '.join(near)}" if near else "; --runs DIR says where records are"
        raise click.UsageError(f"no finding, record or case {identifier!r}{hint}{left_out()}")
    place = _target(target, options)
    if not place:
        raise click.UsageError(
            f"no run has {identifier!r}: name a target, as wireproof replay {identifier} tcp://HOST:PORT"
        )
    heard = [word for one in options["listeners"] for word in ("--listener", one)]
    return ["test", protocols[0], *place, *heard, "-k", identifier]


def _target(target: str | None, options: Options) -> list[str]:
    """Return the words that name the target which the user wants; none where that is the one of the run."""
    if options["target_command"]:
        return ["--target-command", options["target_command"], "--ready-timeout", str(options["ready_timeout"])]
    return [target] if target else []
