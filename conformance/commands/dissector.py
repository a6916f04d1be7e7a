"""`wireproof dissector`: prints a dissector for Wireshark (Lua) or a layer for scapy, made of a protocol's layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from wireproof.conformance.report.dissectors.dissector_plan import Plan, plan_of
from wireproof.conformance.report.dissectors.lua_dissector import lua_dissector
from wireproof.conformance.report.dissectors.scapy_layer import scapy_layer
from wireproof.protocols import protocol, protocol_names

OPTIONS = (
    click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names())),
    click.option("--profile", help="Document or release that is spoken.  [default: the usual one]"),
    click.option("--variant", "--width", help="Layout variant (a width, say).  [default: the usual one]"),
)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.group()
def command() -> None:
    """Dissectors for other tools, made of the layouts (docs/dissectors.md).

    \b
    wireproof dissector lua throttr --profile 7.3.2 --variant uint16 > throttr.lua
    tshark -X lua_script:throttr.lua -r capture.pcapng
    wireproof dissector scapy psrt > psrt_layer.py
    """


@command.command()
@_options
def lua(name: str, profile: str | None, variant: str | None) -> None:
    """Print a dissector for Wireshark and tshark."""
    click.echo(lua_dissector(_plan(name, profile, variant)), nl=False)


@command.command()
@_options
def scapy(name: str, profile: str | None, variant: str | None) -> None:
    """Print a Python module with a packet class for each message; it needs scapy alone."""
    click.echo(scapy_layer(_plan(name, profile, variant)), nl=False)


def _plan(name: str, profile: str | None, variant: str | None) -> Plan:
    """Return the plan; `click.UsageError` for a profile or variant that there is not. Says what is not read."""
    spoken = protocol(name)
    profile = profile or spoken.default_profile
    if profile not in spoken.profiles:
        raise click.UsageError(f"--profile: expected {', '.join(spoken.profiles)}; got {profile!r}")
    variants = spoken.profiles[profile].variants
    usual = spoken.default_variant if spoken.default_variant in variants else next(iter(variants))
    variant = variant or usual
    if variant not in variants:
        raise click.UsageError(f"--variant: expected {', '.join(variants)}; got {variant!r}")
    plan = plan_of(spoken, profile, variant)
    for sentence in plan["left_out"]:
        click.echo(f"wireproof: {sentence}", err=True)
    return plan
