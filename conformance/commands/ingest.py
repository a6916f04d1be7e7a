"""`wireproof ingest`: hands over to the Spark job, a process that shares nothing with the suite but records."""

from __future__ import annotations

import subprocess

import click

from wireproof.conformance.report.work_progress import waiting
from wireproof.conformance.run.processes import module_command, module_environment


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--lake", required=True, metavar="URI", help="A folder, or a URI such as hdfs://name/lake.")
@click.option("--rebuild", is_flag=True, help="Make all aggregates anew; the result is the same.")
@click.option("--no-refresh", is_flag=True, help="Leave the aggregates for later.")
@click.option("--compact", is_flag=True, help="Merge small batches into one.")
@click.option(
    "--vacuum", type=float, metavar="HOURS", help="Delete what no batch names and is older than so many hours."
)
@click.option("--follow", is_flag=True, help="Keep running: take finished runs that are moved into the folder RUN.")
@click.option("--interval", type=float, metavar="S", help="With --follow: look again each S seconds (default 10).")
@click.option("--for", "seconds", type=float, metavar="S", help="With --follow: end after S seconds.")
@click.option("--master", metavar="URL", help="Spark master; default local[*].")
@click.pass_context
def command(context: click.Context, /, runs: tuple[str, ...], **options: object) -> None:
    """Take runs into a lake: Parquet under any Hadoop URI, with aggregates that follow each new run.

    RUN is a folder with runs, findings of fuzzing or kill matrices at any depth, a file of records, or a URI of one.
    A run that the lake has is left alone,
    so the command may be repeated. Lines that are no records go to the table `quarantine`, with file and reason. Exit
    codes: 0 done, 2 nothing was changed. Needs the extra: wireproof[spark].
    """
    words: list[str] = []
    for name, value in options.items():
        option = "--" + {"seconds": "for"}.get(name, name).replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    with waiting("Spark is at work"):
        done = subprocess.run(
            module_command("wireproof.spark.ingest", *words, "--", *runs), env=module_environment(), check=False
        )
    context.exit(done.returncode)
