"""`wireproof ingest`: hands over to the Spark job, a process that shares nothing with the suite but records."""

from __future__ import annotations

import subprocess

import click

from wireproof.conformance.run.processes import module_command, module_environment

HANDED_OVER = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@click.command(context_settings=HANDED_OVER, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, /, arguments: tuple[str, ...]) -> None:
    """Take runs into a lake: Parquet under any Hadoop URI. Needs the extra: wireproof[spark]."""
    words = module_command("wireproof.spark.ingest", *arguments)
    context.exit(subprocess.run(words, env=module_environment(), check=False).returncode)
