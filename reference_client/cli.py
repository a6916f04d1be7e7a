"""The command line of the reference clients: their drivers, on stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import click

from reference_client.driver import DEADLINE, Driver
from reference_client.registry import driven_protocols

__all__ = ["command", "main"]

CHUNK = 1 << 16
LONGEST_LINE = 256 * 1024 * 1024


def main() -> None:
    """Run the command line."""
    command.main(prog_name="python -m reference_client")


@click.command(context_settings={"show_default": True, "max_content_width": 110})
@click.argument("protocol", metavar="PROTOCOL", type=click.Choice(driven_protocols()))
@click.option("--driver", is_flag=True, required=True, help="Do what lines on stdin say (docs/writing-a-driver.md).")
@click.option("--profile", help="The only profile to speak.  [default: every one]")
@click.option("--width", "--variant", "variant", help="The only width to speak.  [default: every one]")
@click.option("--deadline", type=click.FloatRange(0.01), default=DEADLINE, help="Seconds the SDK waits for a reply.")
@click.option("--fault", help="Be wrong in this one known way (`wireproof self-check` has them).")
def command(
    protocol: str, driver: bool, profile: str | None, variant: str | None, deadline: float, fault: str | None
) -> None:
    """Drive the reference SDK of PROTOCOL, until `quit` or the end of stdin.

    \b
    python -m reference_client throttr --driver --profile 7.3.2 --variant uint16
    """
    with suppress(KeyboardInterrupt):
        try:
            asyncio.run(_drive(protocol, profile, variant, deadline, fault))
        except ValueError as error:
            print(f"reference_client: {error}", file=sys.stderr)
            sys.exit(2)


async def _drive(protocol: str, profile: str | None, variant: str | None, deadline: float, fault: str | None) -> None:
    over = asyncio.Event()

    def say(message: Mapping[str, Any]) -> None:
        try:
            sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            over.set()

    driver = Driver(protocol, say, profile=profile, variant=variant, deadline=deadline, fault=fault)
    reading = asyncio.create_task(_take(driver, _lines()))
    stopping = asyncio.create_task(over.wait())
    await asyncio.wait([reading, stopping], return_when=asyncio.FIRST_COMPLETED)
    reading.cancel()
    stopping.cancel()
    await driver.close()


async def _take(driver: Driver, lines: asyncio.StreamReader) -> None:
    while line := await lines.readline():
        if not driver.take(line):
            print(f"reference_client: no command: {line[:100]!r}", file=sys.stderr)
        if driver.quitting:
            return


def _lines() -> asyncio.StreamReader:
    """Return stdin, whatever it is: pipes, files and terminals are all read by a thread."""
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    loop = asyncio.get_running_loop()

    def read() -> None:
        with suppress(RuntimeError, OSError):
            while chunk := os.read(0, CHUNK):
                loop.call_soon_threadsafe(reader.feed_data, chunk)
            loop.call_soon_threadsafe(reader.feed_eof)

    threading.Thread(target=read, daemon=True).start()
    return reader
