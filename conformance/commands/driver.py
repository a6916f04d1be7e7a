"""`wireproof driver`: helps whoever writes the driver of an SDK (docs/writing-a-driver.md)."""

from __future__ import annotations

import asyncio

import click
from rich.console import Console
from rich.markup import escape

from wireproof.conformance.report.console import console_of
from wireproof.conformance.sdk.check_results import CheckResult
from wireproof.conformance.sdk.driver_check import DriverCheck
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.operation_fields import fields_text
from wireproof.conformance.sdk.transports import (
    DriverStartError,
    DriverTransport,
    FifoTransport,
    ProcessTransport,
    parse_driver,
)
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols.plain import Plain, PlainError

RIGHT, WRONG = "right", "WRONG"
ATTACHED_DEADLINE = 3600.0
"""Seconds for an answer while its author steps through the driver."""


@click.group()
def command() -> None:
    """Help with writing the driver of an SDK; see docs/writing-a-driver.md."""


@command.command()
@click.argument("driver", metavar="[COMMAND]", required=False)
@click.option(
    "--protocol",
    "spoken",
    type=click.Choice(protocol_names()),
    help="Protocol to try it with.  [default: the driver's]",
)
@click.option("--profile", help="Profile to try it with.  [default: the protocol's, if the driver speaks it]")
@click.option(
    "--variant", "--width", help="Variant to try it with.  [default: the protocol's, if the driver speaks it]"
)
@click.option("--timeout", type=click.FloatRange(0.05), default=5.0, show_default=True, help="Seconds for an answer.")
@click.option("--attach", is_flag=True, help="Start nothing: wait until you start the driver, in a debugger say.")
@click.option("--trace", is_flag=True, help="Print every line in both directions before what it came to.")
@click.pass_context
def check(
    context: click.Context,
    /,
    driver: str | None,
    spoken: str | None,
    profile: str | None,
    variant: str | None,
    timeout: float,
    attach: bool,
    trace: bool,
) -> None:
    """Talk to the driver that COMMAND starts, against a reference server, and say what is right or wrong in each line.

    Exits 0 when all is right, 1 when something is wrong, 2 for usage.

    \b
    wireproof driver check 'node driver.js'
    wireproof driver check --attach
    """
    console = console_of(quiet=False)
    if (driver is None) != attach:
        raise click.UsageError("expected either a COMMAND that starts the driver, or --attach")
    wires: DriverTransport
    try:
        wires = (
            ProcessTransport(parse_driver(driver))
            if driver
            else FifoTransport(lambda detail: click.echo(detail, err=True))
        )
    except DriverStartError as error:
        raise click.UsageError(str(error)) from None
    deadline = ATTACHED_DEADLINE if attach else timeout
    wrong = asyncio.run(_check(console, wires, deadline, spoken, profile, variant, trace=trace, restarts=not attach))
    context.exit(1 if wrong else 0)


@command.command()
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.argument("operation", required=False)
@click.option("--profile", help="Profile of the fields.  [default: the protocol's]")
@click.option("--variant", "--width", help="Variant of the fields.  [default: the protocol's]")
def fields(name: str, operation: str | None, profile: str | None, variant: str | None) -> None:
    """Show what the fields of OPERATION, or of every operation, are: bytes, numbers, words or flags.

    Exits 2 for an operation, profile or variant that is not known.

    \b
    wireproof driver fields throttr insert
    wireproof driver fields throttr --profile 7.1.0 --variant uint64
    """
    spoken = protocol(name)
    try:
        plain = Plain(spoken, profile or spoken.default_profile, variant or spoken.default_variant)
        text = fields_text(plain, [operation] if operation else list(plain.operations))
    except PlainError as error:
        raise click.UsageError(str(error)) from None
    click.echo(text)


async def _check(
    console: Console,
    wires: DriverTransport,
    deadline: float,
    protocol: str | None,
    profile: str | None,
    variant: str | None,
    *,
    trace: bool,
    restarts: bool,
) -> int:
    counts = {RIGHT: 0, WRONG: 0}
    async with DriverProcess(wires, deadline=deadline, start_deadline=max(deadline, 20.0)) as process:
        async for finding in DriverCheck(process, protocol, profile, variant, restarts=restarts).run():
            if trace:
                for line in process.transcript:
                    console.print(f"[dim]{escape(line)}[/]", soft_wrap=True)
                process.transcript.clear()
            counts[_show(console, finding)] += 1
    console.print(f"{counts[RIGHT]} right, {counts[WRONG]} wrong")
    return counts[WRONG]


def _show(console: Console, finding: CheckResult) -> str:
    word = WRONG if finding.wrong else RIGHT
    style = "red" if finding.wrong else "green"
    note = f" [dim]({escape(finding.note)})[/]" if finding.note else ""
    console.print(f"[{style}]{word}[/]  {escape(finding.name)}{note}", soft_wrap=True)
    for line in finding.wrong:
        for part in line.splitlines():
            console.print(f"         {escape(part)}", soft_wrap=True)
    return word
