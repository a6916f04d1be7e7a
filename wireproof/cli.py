"""The `wireproof` command: gathers each package's subcommands and imports one only when it is called."""

from __future__ import annotations

import errno
import os
import signal
import sys
from importlib import import_module

import click

from wireproof.command_table import COMMANDS, EXTRAS, FORMER, MAINTAINING
from wireproof.protocols.registry import MissingExtraError

USAGE, INTERRUPTED = 2, 130
NOT_WRITTEN = (errno.ENOSPC, errno.EIO, errno.EPIPE, errno.EFBIG, errno.EDQUOT)
"""Errors of a standard output that takes no more."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order above."""
        return [*COMMANDS, *MAINTAINING]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; None for a name that is not known."""
        if cmd_name in FORMER:
            click.echo(f"wireproof: '{cmd_name}' is deprecated: use '{FORMER[cmd_name]}'", err=True)
        module, _ = {**COMMANDS, **MAINTAINING}.get(FORMER.get(cmd_name, cmd_name), ("", ""))
        command: click.Command | None = import_module(module).command if module else None
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their one line of help, those of users first."""
        for title, commands in (("Commands", COMMANDS), ("Commands for maintainers", MAINTAINING)):
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="wireproof", prog_name="wireproof")
def command() -> None:
    """Conformance tests for binary messaging protocols: which clause, which byte, whose fault, how to replay it.

    \b
    wireproof test throttr tcp://127.0.0.1:9000 --out runs/mine
    wireproof matrix runs --out matrix
    """


def main() -> None:
    """Run the command line; exit codes are 0 pass, 1 failures, 2 usage, 3 harness error, 4 stale baseline.

    A script that starts wireproof with `&` leaves it with SIGINT ignored. It handles SIGINT all the same, because
    SIGTERM and SIGHUP end a run in the same way, and no process that the run started may outlive it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command.main(args=sys.argv[1:], prog_name="wireproof")
    except SystemExit as ending:
        if ending.code == INTERRUPTED:  # nothing is left to end, and a second Ctrl-C would take the exit code away
            for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(one, signal.SIG_IGN)
        raise
    except OSError as error:
        if error.errno not in NOT_WRITTEN or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered cannot be written, either
        click.echo(f"wireproof: cannot write to stdout: {error.strerror}", err=True)
        sys.exit(USAGE)
    except (MissingExtraError, ModuleNotFoundError) as error:
        click.echo(f"wireproof: {_advice(error)}", err=True)
        sys.exit(USAGE)


def _advice(error: Exception) -> str:
    """Return what to install; raises what is no missing extra."""
    if isinstance(error, MissingExtraError):
        return str(error)
    module = str(getattr(error, "name", None)).partition(".")[0]
    if module not in EXTRAS:
        raise error
    return str(MissingExtraError("this command", module, EXTRAS[module]))
