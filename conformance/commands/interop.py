"""`wireproof interop`: every client against every server, and who broke the protocol first."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from wireproof.conformance.commands.closing_report import FAILURES, HARNESS, INTERRUPTED, PASSED, RESULTS, USAGE
from wireproof.conformance.interop.interop_run import Interop
from wireproof.conformance.interop.participants import clients_of, server_of, servers_of
from wireproof.conformance.interop.results import Side, StepResult
from wireproof.conformance.interop.results_page import PairingResult, show, write
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.console import console_of
from wireproof.conformance.report.outputs import OutputError
from wireproof.conformance.report.work_progress import waiting
from wireproof.conformance.run.probe import ProbeError, Spoken, detect
from wireproof.conformance.run.processes import StartError as ServerStartError
from wireproof.conformance.run.selection import SelectionError
from wireproof.conformance.sdk.driver_process import DriverEndedError, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import DriverMessageError
from wireproof.conformance.sdk.transports import DriverStartError
from wireproof.conformance.suite.cases import CaseError, load_suite
from wireproof.protocols import protocol, protocol_names

USAGE_ERRORS = (
    *(DriverEndedError, DriverMessageError, NoAnswerError, OutputError, ProbeError),
    *(SelectionError, ServerStartError, DriverStartError, TargetError),
)


@click.command(context_settings={"show_default": True})
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--driver", "drivers", multiple=True, metavar="COMMAND", help="Starts a client's driver; repeatable.")
@click.option(
    "--server", "servers", multiple=True, metavar="TARGET", help="A server: tcp://HOST:PORT, unix:///PATH or a command."
)
@click.option(
    "--listener",
    "listeners",
    multiple=True,
    metavar="NAME=ADDRESS",
    help="Where a server listens for a harness, once for all servers or for each; {data} as in its command.",
)
@click.option("--no-reference", is_flag=True, help="Leave out the reference client and server where others are named.")
@click.option("--profile", help="Document or release to speak.  [default: a server at an address is asked]")
@click.option("--variant", "--width", help="Layout variant to speak.  [default: a server at an address is asked]")
@click.option("--timeout", type=click.FloatRange(0.05), default=5.0, help="Seconds to wait for any one answer.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the records of every side.")
@click.option("--quiet", "-q", is_flag=True, help="Print the last line only.")
@click.pass_context
def command(context: click.Context, /, name: str, out: Path | None, **options: Any) -> None:
    """Put every client (the command of its driver) and every server of PROTOCOL through the same operations, pair by
    pair, with a proxy between them that judges both; the reference client and server take part.

    What is played is in vectors/PROTOCOL/interop.yaml, or derived from the layouts where that is not there.

    Exit codes: 0 all pairs agree, 1 somebody broke the protocol, 2 usage or somebody that does not start, 3 wireproof's
    own fault. A command of a server may have '{port}' in it; without, it must print a line 'listening ADDRESS'.

    \b
    wireproof interop throttr --driver 'node driver.mjs' --server 'my-server --port {port}' --out runs/interop
    wireproof interop psrt --driver 'python docs/drivers/psrt-py/driver.py' --server './psrtd.sh {port} {data}'
    """
    try:
        code = _played(name, out, options)
    except USAGE_ERRORS as error:
        click.echo(f"wireproof: {error}", err=True)
        code = USAGE
    except CaseError as error:
        click.echo(f"wireproof: error in the suite: {error}", err=True)
        code = HARNESS
    except KeyboardInterrupt:
        click.echo("wireproof: interrupted", err=True)
        code = INTERRUPTED
    context.exit(code)


def _played(name: str, out: Path | None, options: dict[str, Any]) -> int:
    spoken = _spoken(name, options)
    reference = not options["no_reference"]
    clients = clients_of(name, options["drivers"], reference=reference or not options["drivers"])
    servers = servers_of(
        name,
        options["servers"],
        spoken.profile,
        spoken.variant,
        reference=reference or not options["servers"],
        listeners=options["listeners"],
    )
    console = console_of(quiet=options["quiet"])
    interop = Interop(load_suite(name), spoken, options["timeout"])
    try:
        with waiting(lambda: f"{number_of(len(interop.results), 'pair')} played", quiet=options["quiet"]):
            asyncio.run(interop.run(clients, servers, _ignored))
    except USAGE_ERRORS:
        raise
    except Exception as error:
        click.echo(f"wireproof: harness error: {type(error).__name__}: {error}", err=True)
        return HARNESS
    code = _code(interop.results)
    if out is not None:
        write(out, interop.columns, code)
    show(console, interop.results)
    where = f"; records in {out}" if out else ""
    result = RESULTS.get(code, "nothing was played")
    agreed = sum(one.agreed for one in interop.results)
    total = sum(len(one.played) for one in interop.results)
    pairs = number_of(len(interop.results), "pair")
    click.echo(f"{result}: {pairs}, {agreed} of {total} operations agree{where}")
    return code


def _ignored(result: PairingResult, played: StepResult) -> None:
    """Ignore results as they arrive."""


def _code(results: list[PairingResult]) -> int:
    if not any(one.played for one in results):
        return USAGE
    broke = any(one.guilty(side) for one in results for side in (Side.CLIENT, Side.SERVER))
    return FAILURES if broke else PASSED


def _spoken(name: str, options: dict[str, Any]) -> Spoken:
    """Return what is spoken: what was named, else what the first server at an address says, else the usual."""
    known = protocol(name)
    found = _asked(name, options) or Spoken(known.default_profile, known.default_variant)
    profile, variant = options["profile"] or found.profile, options["variant"] or found.variant
    if profile not in known.profiles:
        raise SelectionError(f"--profile: expected {', '.join(known.profiles)}; got {profile!r}")
    if variant not in known.profiles[profile].variants:
        raise SelectionError(f"--variant: expected {', '.join(known.profiles[profile].variants)}; got {variant!r}")
    return Spoken(profile, variant)


def _asked(name: str, options: dict[str, Any]) -> Spoken | None:
    if options["profile"] or options["variant"]:
        return None
    address = next((one.address for one in map(server_of, options["servers"]) if one.address is not None), None)
    if address is None:
        return None
    try:
        return asyncio.run(detect(load_suite(name), address, options["timeout"]))
    except OSError as error:
        raise TargetError(f"nothing to test at {address}: {error.strerror or error}") from None
