"""`wireproof identify`: which protocol, profile and variant a server speaks, with the evidence for it."""

from __future__ import annotations

import asyncio

import click

from wireproof.conformance.model.targets import TargetError, parse_address
from wireproof.conformance.run.identify import PATIENCE, Identity, identified
from wireproof.conformance.run.probe import no_connection
from wireproof.protocols import protocol_names

KNOWN, UNKNOWN, USAGE = range(3)


@click.command(context_settings={"show_default": True})
@click.argument("target")
@click.option("--protocol", "only", type=click.Choice(protocol_names()), help="Ask for this protocol only.")
@click.option("--timeout", type=click.FloatRange(0.05), default=PATIENCE, help="Seconds to wait for any one answer.")
@click.pass_context
def command(context: click.Context, /, target: str, only: str | None, timeout: float) -> None:
    """Say what the server at TARGET (tcp://HOST:PORT, unix:///PATH) speaks, and how that is known.

    It takes about two seconds and leaves the server as it was. Exit codes: 0 known, 1 not known, 2 nothing there.

    \b
    wireproof identify tcp://127.0.0.1:9000
    """
    try:
        address = parse_address(target)
        found, refused = asyncio.run(identified(address, [only] if only else protocol_names(), timeout))
    except TargetError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        click.echo(f"wireproof: nothing to ask at {target}: {no_connection(error)}", err=True)
        context.exit(USAGE)
    for one in found:
        _show(one, target)
    if not found:
        click.echo(f"{target} speaks no protocol that is known:")
        for name, why in refused.items():
            click.echo(f"  {name}: {why}")
    context.exit(KNOWN if found else UNKNOWN)


def _show(one: Identity, target: str) -> None:
    spoken = f"{one.protocol} {one.spoken.profile} {one.spoken.variant}"
    click.echo(f"{target} speaks {spoken}" + (f", version {one.version}" if one.version != "unknown" else ""))
    for line in one.evidence:
        click.echo(f"  because {line}")
    for line in one.quirks:
        click.echo(f"  note    {line}")
    if one.alike:
        names = ", ".join(other.profile for other in one.alike)
        click.echo(f"  note    the same bytes would come of {names}: --profile names one of those")
    test = f"wireproof test {one.protocol} {target} --profile {one.spoken.profile} --variant {one.spoken.variant}"
    click.echo(f"  next    {test} --out runs/mine")
