"""The command line of the mutants: that of the reference servers with `--mutant NAME`, and `client` for SDKs."""

from __future__ import annotations

import sys

import click

from wireproof.mutants.registry import mutant_client, server_patch
from wireproof.reference_client.cli import drive_command
from wireproof.reference_server.cli import Servers

__all__ = ["main", "serve"]


class MutantServers(Servers):
    """The subcommands of the reference servers, each with `--mutant`."""

    patches = staticmethod(server_patch)


@click.group(cls=MutantServers, context_settings={"show_default": True, "max_content_width": 110})
def serve() -> None:
    """Serve a mutant of a reference server until SIGTERM or SIGINT.

    \b
    python -m wireproof.mutants throttr --mutant quota-low-byte --port 9000
    python -m wireproof.mutants client throttr --driver --mutant NAME
    """


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["client"]:
        drive_command(mutant_client)(args=sys.argv[2:], prog_name="python -m wireproof.mutants client")
    serve(prog_name="python -m wireproof.mutants")
