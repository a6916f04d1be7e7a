"""Judges both sides of the connections in a capture, without talking to anybody, and prints what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from wireproof.conformance.interop.captured_streams import CapturedConnection, CaptureError, captured_connections
from wireproof.conformance.interop.captured_verdicts import JUDGED, CapturedVerdict, judged, likeliest
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.clause_sentences import sentence_of
from wireproof.conformance.run.probe import Spoken
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols.registry import left_out, usable_protocols

__all__ = ["CheckedCapture", "capture_options", "check_capture"]

AUTO = "auto"


OPTIONS = (
    click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False)),
    click.option(
        "--protocol",
        "name",
        type=click.Choice([AUTO, *protocol_names()]),
        default=AUTO,
        show_default=True,
        help="What is spoken.",
    ),
    click.option("--profile", help="Document or release that is spoken; found out where it is left out."),
    click.option("--variant", "--width", help="Layout variant that is spoken; found out where it is left out."),
    click.option("--port", "ports", type=int, multiple=True, help="Only servers at this port. Repeatable."),
)


def capture_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which capture is read, and as what."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class CheckedCapture:
    """What a capture was read as, and the verdict on each of its connections."""

    protocol: str
    spoken: Spoken
    verdicts: Sequence[CapturedVerdict]

    @property
    def is_broken(self) -> bool:
        """Whether somebody broke the protocol."""
        return any(one.violation is not None for one in self.verdicts)


def check_capture(
    file: Path, name: str, profile: str | None, variant: str | None, ports: tuple[int, ...]
) -> CheckedCapture:
    """Judge the connections of a capture, and print the verdicts. Raises `click.UsageError`."""
    names = usable_protocols() if name == AUTO else [name]
    known = ports or tuple(protocol(one).default_port for one in names)
    try:
        every = captured_connections(file, known)
    except (CaptureError, OSError) as error:
        raise click.UsageError(str(error)) from None
    wanted = [one for one in every if one.begun and _talks(one) and (not ports or one.server[1] in ports)]
    if left := len(every) - len(wanted):
        click.echo(
            f"wireproof: {number_of(left, 'connection')} left out: without bytes, beginning or that port", err=True
        )
    if not wanted:
        raise click.UsageError(f"no TCP connection to judge in {file}{left_out() if name == AUTO else ''}")
    candidates = likeliest(wanted, names, profile, variant)
    if not candidates:
        raise click.UsageError(f"no profile {profile or 'of any name'} with a variant {variant or 'of any name'}")
    (spoken_name, spoken), *others = candidates
    alike = ", ".join(f"{other} {one.profile} {one.variant}" for other, one in others)
    fits = f" ({alike} would fit as well)" if alike else ""
    click.echo(f"read as {spoken_name} {spoken.profile} {spoken.variant}{fits}")
    verdicts = [judged(one, spoken_name, spoken) for one in wanted]
    for one in verdicts:
        _show(one, spoken_name)
    bad = sum(one.violation is not None for one in verdicts)
    seen = number_of(len(verdicts), "connection")
    click.echo(f"{seen}, {bad} in which somebody broke the protocol; {JUDGED}")
    return CheckedCapture(spoken_name, spoken, verdicts)


def _talks(connection: CapturedConnection) -> bool:
    return any(one.kind in (Kind.SENT, Kind.RECEIVED) for one in connection.events)


def _show(verdict: CapturedVerdict, name: str) -> None:
    connection, seen = verdict.connection, verdict.violation
    if seen is None:
        what = "can be read in two ways: nobody is to blame" if verdict.undecided else "well-formed"
        click.echo(f"{connection.name}: {what}{f' ({connection.note})' if connection.note else ''}")
        return
    cited = f" [{seen.clause}]" if seen.clause else ""
    click.echo(f"{connection.name}: the {verdict.side} broke the protocol first, packet {verdict.packet}{cited}")
    click.echo(f"    byte {seen.offset} of what it sent: {seen.detail}")
    if sentence := sentence_of(name, seen.clause):
        click.echo(f"    {seen.clause}: {sentence}")
