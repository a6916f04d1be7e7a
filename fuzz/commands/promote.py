"""`wireproof fuzz promote`: turns a finding into a case, so that the bug cannot return unnoticed."""

from __future__ import annotations

from pathlib import Path

import click

from wireproof.conformance.suite.cases import CaseError, load_suite, vectors_root
from wireproof.fuzz.findings.finding import FindingError
from wireproof.fuzz.findings.findings_folder import load
from wireproof.fuzz.promotion.entry import PromotionError, entry_of, refuse_what_is_gone
from wireproof.fuzz.promotion.promoted_steps import StepsError
from wireproof.fuzz.promotion.writing import add, keep_input
from wireproof.protocols import protocol_names

FILES = {"cases": "found.yaml", "frames": "found-frames.yaml"}


@click.command()
@click.argument("finding", type=click.Path(path_type=Path, exists=True))
@click.option("--out", type=click.Path(path_type=Path), help="File to append to; for an input, the folder.")
@click.option("--clause", help="Id of the broken clause, if the finding names none.")
@click.option("--id", "name", help="Id of the case: topic/name.")
def command(finding: Path, out: Path | None, clause: str | None, name: str | None) -> None:
    """Turn FINDING (its directory or finding.json) into a case in vectors/PROTOCOL/cases/.

    The case sends what the finding sends and expects what the reference server answers. It is written only if the
    reference and every conforming variant of it pass. A finding that no case can express is kept as an input that
    campaigns replay first.

    Exit codes: 0 written, 1 refused, 2 usage.

    \b
    wireproof fuzz promote findings/ID --clause CLAUSE
    """
    try:
        click.echo(_promoted(finding, out, clause, name))
    except (FindingError, PromotionError, StepsError, CaseError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot write: {error.strerror or error}") from None


def _promoted(finding: Path, out: Path | None, clause: str | None, name: str | None) -> str:
    found = load(finding)
    if found.protocol not in protocol_names():
        raise FindingError(f"expected a finding of {' or '.join(protocol_names())}, got {found.protocol!r}")
    suite = load_suite(found.protocol)
    if not found.script and found.engine != "parser":
        return f"{found.id}: kept as an input in {keep_input(found, out)}"
    made = entry_of(found, refuse_what_is_gone(found, suite, clause), name)
    if made is None:
        return f"{found.id}: no case can express it: kept as an input in {keep_input(found, out)}"
    kind, entry = made
    path = out or vectors_root() / found.protocol / "cases" / FILES[kind]
    left_open = add(path, kind, entry, suite)
    note = f"\nleft open, because conforming servers differ there: {', '.join(left_open)}" if left_open else ""
    return f"{found.id}: {entry['id']} written to {path}; now: wireproof vectors build {found.protocol}{note}"
