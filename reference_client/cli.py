"""The command line of the reference clients: their drivers, on stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import click

from wireproof.protocols.registry import MissingExtraError
from wireproof.reference_client.driver import DEADLINE, Driver
from wireproof.reference_client.registry import DrivenClient, driven_protocols

__all__ = ["command", "drive_command", "main"]

Clients = Callable[[str, str | None], type[DrivenClient]]
"""(protocol, name of a mutant) -> its SDK; the reference client for no name."""

CHUNK = 1 << 16
LONGEST_LINE = 256 * 1024 * 1024


def main() -> None:
    """Run the command line."""
    command.main(prog_name="python -m reference_client")


def drive_command(clients: Clients | None = None) -> click.Command:
    """Return the command that drives the reference clients; with `clients` it has the option `--mutant`."""

    def run(protocol: str, driver: bool, mutant: str | None = None, **given: Any) -> None:
        with suppress(KeyboardInterrupt):
            try:
                client_class = clients(protocol, mutant) if clients else None
                asyncio.run(_drive(protocol, client_class=client_class, **given))
            except (ValueError, MissingExtraError) as error:
                print(f"reference_client: {error}", file=sys.stderr)
                sys.exit(2)

    return click.Command(
        "reference_client",
        callback=run,
        params=[
            click.Argument(["protocol"], metavar="PROTOCOL", type=click.Choice(driven_protocols())),
            click.Option(
                ["--driver"],
                is_flag=True,
                required=True,
                help="Execute the commands on stdin (docs/writing-a-driver.md).",
            ),
            click.Option(["--profile"], help="The only profile to speak.  [default: every one]"),
            click.Option(["--width", "--variant", "variant"], help="The only width to speak.  [default: every one]"),
            click.Option(
                ["--deadline"], type=click.FloatRange(0.01), default=DEADLINE, help="Seconds the SDK waits for a reply."
            ),
            click.Option(["--mutant", "--fault", "mutant"], help="Mutant to drive.") if clients else _former_fault(),
        ],
        help="""Drive the reference SDK of PROTOCOL, until `quit` or the end of stdin.

        \b
        python -m reference_client throttr --driver --profile 7.3.2 --variant uint16
        """,
        context_settings={"show_default": True, "max_content_width": 110},
    )


def _former_fault() -> click.Option:
    """Return the deprecated option for mutants, which starts the program that drives them."""

    def start(context: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is None or context.resilient_parsing:
            return
        print("reference_client: --fault is deprecated: use 'python -m wireproof.mutants client'", file=sys.stderr)
        os.execv(sys.executable, [sys.executable, "-m", "wireproof.mutants", "client", *sys.argv[1:]])

    return click.Option(["--fault"], hidden=True, expose_value=False, callback=start)


async def _drive(
    protocol: str,
    *,
    profile: str | None,
    variant: str | None,
    deadline: float,
    client_class: type[DrivenClient] | None,
) -> None:
    stdout_closed = asyncio.Event()

    def say(message: Mapping[str, object]) -> None:
        try:
            sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            stdout_closed.set()

    driver = Driver(protocol, say, profile=profile, variant=variant, deadline=deadline, client_class=client_class)
    reading = asyncio.create_task(_take(driver, _lines()))
    stopping = asyncio.create_task(stdout_closed.wait())
    await asyncio.wait([reading, stopping], return_when=asyncio.FIRST_COMPLETED)
    reading.cancel()
    stopping.cancel()
    await driver.close()


async def _take(driver: Driver, lines: asyncio.StreamReader) -> None:
    while line := await lines.readline():
        if not driver.take(line):
            print(f"reference_client: expected a command, got {line[:100]!r}", file=sys.stderr)
        if driver.quitting:
            return


def _lines() -> asyncio.StreamReader:
    """Return a reader of stdin; a thread reads it, because pipes, files and terminals all block."""
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    loop = asyncio.get_running_loop()

    def read() -> None:
        with suppress(RuntimeError, OSError):
            while chunk := os.read(0, CHUNK):
                loop.call_soon_threadsafe(reader.feed_data, chunk)
            loop.call_soon_threadsafe(reader.feed_eof)

    threading.Thread(target=read, daemon=True).start()
    return reader


command = drive_command()
