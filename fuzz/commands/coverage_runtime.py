"""`wireproof fuzz coverage-runtime`: prints where the C file is with which servers count their edges."""

from __future__ import annotations

from pathlib import Path

import click

from wireproof.fuzz import edges

RUNTIME = Path(edges.__file__).with_name("trace_pc_guard.c")


@click.command()
def command() -> None:
    """Print the path of the C file to link into a server for `wireproof fuzz server --coverage`.

    \b
    clang -c -O1 "$(wireproof fuzz coverage-runtime)" -o coverage.o
    clang -fsanitize-coverage=trace-pc-guard my_server.c coverage.o -o my-server
    """
    click.echo(RUNTIME)
