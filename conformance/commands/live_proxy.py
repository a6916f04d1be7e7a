"""`wireproof proxy`: stands between a user's clients and server and says which side breaks the protocol first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import click

from wireproof.conformance.interop.captured_verdicts import JUDGED
from wireproof.conformance.interop.live_proxy import LiveProxy, SeenTraffic, listening
from wireproof.conformance.model.targets import Address, TargetError, parse_address
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.model.violation import Violation
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.monitor.monitor import Monitor
from wireproof.conformance.report.clause_sentences import sentence_of
from wireproof.conformance.run.identify import PATIENCE, identified
from wireproof.conformance.run.probe import AUTO, ProbeError, Spoken, ask_spoken, no_connection
from wireproof.conformance.run.processes import ended_by_signals, run_until_ended
from wireproof.conformance.suite.cases import load_suite
from wireproof.protocols import protocol, protocol_names

RIGHT, BROKEN, USAGE = range(3)


@click.command(context_settings={"show_default": True})
@click.argument("places", metavar="[PROTOCOL] LISTEN SERVER", nargs=-1)
@click.option("--profile", default=AUTO, help="Document or release that is spoken; auto asks the server.")
@click.option("--variant", "--width", default=AUTO, help="Layout variant; auto asks the server.")
@click.option("--time", "seconds", type=click.FloatRange(0.1), help="End after so many seconds.  [default: on Ctrl-C]")
@click.pass_context
def command(
    context: click.Context, /, places: tuple[str, ...], profile: str, variant: str, seconds: float | None
) -> None:
    """Listen at LISTEN, forward to SERVER (tcp://HOST:PORT, unix:///PATH), and judge both sides of PROTOCOL live.

    Port 0 of LISTEN is any that is free; the first line of stdout names it.
    Without PROTOCOL the server is asked for it, as by `wireproof identify`. Nothing that crosses is changed.
    Exit codes: 0 nobody broke the protocol, 1 somebody did, 2 usage.

    \b
    wireproof proxy tcp://127.0.0.1:9001 tcp://127.0.0.1:9000
    wireproof proxy throttr tcp://127.0.0.1:9001 tcp://127.0.0.1:9000
    """
    given, listen, server = _places(context, places)
    try:
        at, to = parse_address(listen, any_port=True), parse_address(server)
        name = given or _asked(to)
        spoken, warning = asyncio.run(ask_spoken(load_suite(name), to, 2.0, profile, variant))
    except (TargetError, ProbeError) as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"nothing to forward to at {server}: {no_connection(error)}") from None
    if warning:
        click.echo(f"wireproof: {warning}", err=True)

    def report(connection: str, first: Violation) -> None:
        side = "client" if first.side is Guilty.HARNESS else "server"
        cited = f" [{first.clause}] {sentence_of(name, first.clause)}" if first.clause else ""
        click.echo(
            f"connection {connection}: the {side} broke the protocol first, "
            f"byte {first.offset} of what it sent: {first.detail}{cited}"
        )

    known = protocol(name)
    proxy = LiveProxy(to, lambda: Monitor(known, spoken.profile, spoken.variant), report)
    try:
        with ended_by_signals(), suppress(KeyboardInterrupt):
            run_until_ended(_serve(proxy, at, to, name, spoken, seconds))
    except OSError as error:
        raise click.UsageError(f"cannot listen at {listen}: {error.strerror or error}") from None
    click.echo(_closing(proxy.tally))
    context.exit(BROKEN if proxy.tally.client or proxy.tally.server else RIGHT)


def _places(context: click.Context, places: Sequence[str]) -> tuple[str, str, str]:
    """Return protocol ("" where it is left out), LISTEN and SERVER."""
    *given, listen, server = places if len(places) in (2, 3) else ("",) * 4
    if not server:
        raise click.UsageError(f"expected [PROTOCOL] LISTEN SERVER, got {number_of(len(places), 'argument')}")
    known = click.Choice(protocol_names())
    return known.convert(given[0], context.command.params[0], context) if given else "", listen, server


def _asked(server: Address) -> str:
    """Return the protocol that a server speaks. Raises OSError, UsageError where that is not known."""
    found, _ = asyncio.run(identified(server, protocol_names(), PATIENCE))
    names = {one.protocol for one in found}
    if len(names) != 1:
        speaks = " or ".join(sorted(names)) or "no protocol that is known"
        raise click.UsageError(f"{server} speaks {speaks}: name PROTOCOL before LISTEN")
    return names.pop()


async def _serve(proxy: LiveProxy, at: Address, to: Address, name: str, spoken: Spoken, seconds: float | None) -> None:
    async with listening(proxy, at) as port:
        where = f"tcp://{at.host}:{port}" if port else str(at)
        click.echo(f"listening {where}, forwarding to {to} as {name} {spoken.profile} {spoken.variant}")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.Event().wait()


def _closing(tally: SeenTraffic) -> str:
    more = f", {tally.unread} too large to judge" if tally.unread else ""
    more += f", {tally.refused} not taken by the server" if tally.refused else ""
    seen = number_of(tally.connections, "connection")
    return f"{seen}: {tally.client} broken by the client, {tally.server} by the server{more}; {JUDGED}"
