"""The `wireproof` command: gathers each package's subcommands and imports one only when it is called."""

from __future__ import annotations

import sys
from importlib import import_module

import click

COMMANDS = {
    "test": ("conformance.commands.test", "Test a server: play every case, judge it, write records."),
    "test-sdk": ("conformance.commands.sdk", "Test an SDK: play the server to it, judge what it sends and reports."),
    "interop": ("conformance.commands.interop", "Every client against every server, and who broke the protocol first."),
    "vectors": ("conformance.commands.vectors", "Build, check and show the byte-exact vectors."),
    "self-check": ("conformance.commands.selfcheck", "Prove the suite: every known fault against every case."),
    "impostor": ("conformance.commands.impostor", "Serve a server that is wrong in one known way; --list them."),
    "clauses": ("conformance.commands.clauses", "Tell what stands behind each clause: cases, faults, verdicts seen."),
    "fuzz": ("fuzz.commands.group", "Look for what no case holds yet: in our own code, and on servers."),
    "driver": ("conformance.commands.driver", "Check the driver of an SDK line by line, while it is written."),
    "replay": ("fuzz.commands.replay", "Say whether a finding still shows."),
    "matrix": ("conformance.commands.matrix", "Fold any number of runs into compatibility matrices (Spark)."),
    "docs": ("conformance.commands.docs", "Render the pages that repeat the data (clauses, layouts)."),
    "demo": ("conformance.commands.demo", "Test the reference servers and two wrong ones, and show the matrix."),
}
"""Name -> (module with a click command called `command`, one line of help)."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; None for a name that is not known."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their one line of help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="wireproof", prog_name="wireproof")
def command() -> None:
    """Conformance tests for binary messaging protocols: which clause, which byte, whose fault, how to replay it.

    \b
    wireproof test throttr tcp://127.0.0.1:9000 --out runs/mine
    wireproof matrix runs --out matrix
    """


def main() -> None:
    """Run the command line; exit codes are 0 green, 1 failures, 2 usage, 3 harness fault, 4 stale baseline."""
    command.main(args=sys.argv[1:], prog_name="wireproof")


if __name__ == "__main__":
    main()
