"""`wireproof fuzz`: lists its subcommands and imports one only when it is called."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from wireproof.conformance.run.processes import ended_by_signals
from wireproof.fuzz.commands.options import PROTOCOLS
from wireproof.protocols.registry import MissingExtraError

OWN_FAULT = 3

COMMANDS = {
    "parser": (
        "wireproof.fuzz.commands.own_code",
        "parser",
        "Fuzz the codec of a protocol: both sides, every profile and variant.",
    ),
    "scheduler": ("wireproof.fuzz.commands.own_code", "scheduler", "Fuzz the TTL scheduler against its model."),
    "store": (
        "wireproof.fuzz.commands.own_code",
        "store",
        "Fuzz a reference server against the model of its document.",
    ),
    "transport": (
        "wireproof.fuzz.commands.own_code",
        "transport",
        "Fuzz the stream transport with real sessions: any pace, any reader.",
    ),
    "machine": (
        "wireproof.fuzz.commands.machine",
        "command",
        "Compare a server with the model of its document, step by step.",
    ),
    "server": (
        "wireproof.fuzz.commands.server",
        "command",
        "Fuzz a live server: mutated conversations, oracles, attribution.",
    ),
    "diff": (
        "wireproof.fuzz.commands.diff",
        "command",
        "Send the same bytes to two or more servers and compare the answers.",
    ),
    "campaign": (
        "wireproof.fuzz.commands.campaign",
        "command",
        "Replay what is known, then run every engine, as in CI.",
    ),
    "report": ("wireproof.fuzz.commands.report", "command", "List findings; write them as SARIF and JUnit XML."),
    "promote": (
        "wireproof.fuzz.commands.promote",
        "command",
        "Turn a finding into a case that expects what the reference answers.",
    ),
    "seeded-bugs": (
        "wireproof.fuzz.commands.seeded_bugs",
        "command",
        "Seed known bugs and count the executions that each engine needs to find them.",
    ),
    "planted": (
        "wireproof.fuzz.commands.planted",
        "command",
        "Plant random faults in a copy of this project; show which ones the fuzzers find.",
    ),
    "coverage-runtime": (
        "wireproof.fuzz.commands.coverage_runtime",
        "command",
        "Print where the C file is that counts edges of a server for --coverage.",
    ),
    "corpus": ("wireproof.fuzz.commands.corpus", "command", "Merge and minimise folders of inputs."),
}
"""Name -> (module, its click command, one line of help)."""


class LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        found: click.Command = getattr(import_module(module), name)
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke a command; an exception that none handles is our own fault: one line and exit code 3.

        What asyncio logs about the sockets of fuzzed servers does not reach the console. SIGTERM and SIGHUP do what
        Ctrl-C does, so that engines and servers, which are processes of their own, are ended, too.
        """
        try:
            with _quiet("asyncio"), ended_by_signals():
                return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit, OSError, ImportError, MissingExtraError):
            raise
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name} line {place.lineno}"
            click.echo(f"wireproof: own fault: {type(error).__name__}: {error} in {where}", err=True)
            ctx.exit(OWN_FAULT)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with one line of help each."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Drop what a logger is given."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


@click.group(cls=LazyGroup, epilog=PROTOCOLS)
def command() -> None:
    """Search for bugs that no case covers. Exit codes: 0 nothing found, 1 something found, 2 usage.

    \b
    wireproof fuzz parser PROTOCOL --time 60 --corpus corpus/parser
    wireproof fuzz scheduler --time 60
    wireproof fuzz server PROTOCOL --target-command "my-server --port {port}" --time 60
    wireproof fuzz diff PROTOCOL simulation tcp://127.0.0.1:9000
    wireproof fuzz campaign PROTOCOL --time 600
    """
