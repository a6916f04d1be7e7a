"""`wireproof mutant`: lists and serves the mutants of the reference servers, and the conforming variants."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console
from rich.table import Table

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.mutation.applicable import profiles_of
from wireproof.conformance.run import reference_target
from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.mutants.cli import serve
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.registry import server_mutants
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols.registry import MissingExtraError

PRINTED_WIDTH = 150
"""Columns where the output is no terminal."""


@click.command(context_settings={"show_default": True})
@click.argument("name", metavar="[PROTOCOL]", required=False, type=click.Choice(protocol_names()))
@click.argument("mutant", required=False)
@click.option("--list", "listed", is_flag=True, help="List what there is, with the clauses each breaks.")
@click.option("--json", "as_json", is_flag=True, help="List as JSON.")
@click.option("--profile", help="Profile to serve.  [default: the first in which the mutant differs]")
@click.option("--variant", "--width", help="Variant to serve.  [default: the usual one, if the mutant differs in it]")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="TCP port; 0 takes a free one.")
@click.pass_context
def command(
    context: click.Context,
    /,
    name: str | None,
    mutant: str | None,
    listed: bool,
    as_json: bool,
    profile: str | None,
    variant: str | None,
    host: str,
    port: int,
) -> None:
    """Serve the mutant MUTANT of the server of PROTOCOL until SIGTERM or SIGINT: does your own suite kill it?

    The first line printed is `listening tcp://HOST:PORT`. Mutants whose name begins with `legal-` are conforming
    variants that break no clause: a suite that fails them is wrong.

    \b
    wireproof mutant --list
    wireproof mutant throttr quota-low-byte --port 9000
    """
    if listed or as_json:
        _list([name] if name else protocol_names(), as_json)
        return
    if name is None or mutant is None:
        raise click.UsageError("expected PROTOCOL and MUTANT, or --list")
    known = server_mutants(name)
    if mutant in known:
        suite, spoken, found = load_suite(name), protocol(name), known[mutant]
        profile = profile or profiles_of(found, suite, list(spoken.profiles))[0]
        usual = spoken.default_variant
        variant = variant or (usual if not found.variants or usual in found.variants else found.variants[0])
    spoken = protocol(name)
    profile, variant = profile or spoken.default_profile, variant or spoken.default_variant
    with TemporaryDirectory(prefix="wireproof-mutant-") as scratch:
        arguments = reference_target.serving_arguments(name, profile=profile, variant=variant, scratch=Path(scratch))
        arguments += ["--mutant", mutant, "--host", host, "--port", str(port)]
        context.exit(serve.main(arguments, prog_name="wireproof mutant", standalone_mode=False) or 0)


def _list(names: Sequence[str], as_json: bool) -> None:
    found = []
    for name in names:
        try:
            found += [(name, one, load_suite(name)) for one in server_mutants(name).values()]
        except MissingExtraError as error:
            if len(names) == 1:
                raise
            click.echo(f"wireproof: left out: {error}", err=True)
    if as_json:
        click.echo(json.dumps([_as_json(name, one, suite) for name, one, suite in found], indent=2))
        return
    table = Table(box=None, header_style="bold")
    for title in ("mutant", "profiles", "variants", "breaks", "what the server does"):
        table.add_column(title, overflow="fold")
    for name, one, suite in found:
        profiles = " ".join(profiles_of(one, suite, list(protocol(name).profiles)))
        table.add_row(
            one.name, profiles, " ".join(one.variants) or "all", " ".join(one.clauses) or "nothing", one.description
        )
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PRINTED_WIDTH
    console.print(table)
    mutants = sum(not one.is_legal for _, one, _ in found)
    console.print(f"{number_of(mutants, 'mutant')}, {number_of(len(found) - mutants, 'conforming variant')}")


def _as_json(name: str, one: Mutant, suite: Suite) -> dict[str, object]:
    return {
        "protocol": name,
        "name": one.name,
        "told": one.description,
        "clauses": list(one.clauses),
        "profiles": profiles_of(one, suite, list(protocol(name).profiles)),
        "variants": list(one.variants or protocol(name).profiles[protocol(name).default_profile].variants),
        "legal": one.is_legal,
        "live": one.live,
    }
