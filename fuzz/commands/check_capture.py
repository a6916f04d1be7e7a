"""`wireproof check-capture`: judges both sides of a capture; an exchange of it becomes a case on request."""

from __future__ import annotations

from pathlib import Path

import click

from wireproof.conformance.commands.check_capture import CheckedCapture, capture_options, check_capture
from wireproof.conformance.suite.cases import load_suite

RIGHT, BROKEN = range(2)


@click.command()
@capture_options
@click.option(
    "--case",
    "case_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Add the first exchange that breaks the protocol to this file of cases, with what a right server answers.",
)
@click.option("--clause", help="With --case: what the case is about.  [default: the clause that was broken]")
@click.pass_context
def command(
    context: click.Context,
    /,
    file: Path,
    name: str,
    profile: str | None,
    variant: str | None,
    ports: tuple[int, ...],
    case_file: Path | None,
    clause: str | None,
) -> None:
    """Judge the TCP connections of a capture (.pcap, .pcapng): who broke the protocol first, and in which packet.

    Replies are read as answers to the requests before them. Connections whose beginning is not in the capture are left
    out. Exit codes: 0 nobody broke the protocol, 1 somebody did, 2 usage.

    \b
    wireproof check-capture traffic.pcapng --protocol throttr --port 9000
    wireproof check-capture traffic.pcapng --case found.yaml
    """
    checked = check_capture(file, name, profile, variant, ports)
    if case_file is not None:
        click.echo(_case(checked, case_file, clause))
    context.exit(BROKEN if checked.is_broken else RIGHT)


def _case(checked: CheckedCapture, path: Path, clause: str | None) -> str:
    """Write the case; return what to say of it. Raises `click.UsageError` where no case can express the exchange."""
    from wireproof.fuzz.promotion.captured_case import captured_case
    from wireproof.fuzz.promotion.entry import PromotionError
    from wireproof.fuzz.promotion.promoted_steps import StepsError
    from wireproof.fuzz.promotion.writing import add

    verdict = next((one for one in checked.verdicts if one.violation is not None), checked.verdicts[0])
    suite = load_suite(checked.protocol)
    try:
        entry = captured_case(verdict, suite, checked.spoken, clause)
        left_open = add(path, "cases", entry, suite)
    except (PromotionError, StepsError, OSError) as error:
        raise click.UsageError(f"no case: {error}") from None
    open_ = f"; left open, because right servers differ: {', '.join(left_open)}" if left_open else ""
    return f"{path}: case {entry['id']}{open_}"
