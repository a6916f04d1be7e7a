"""`wireproof show`: what an id on a console, in JUnit, on a page or in a folder stands for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from wireproof.conformance.commands.explanation import UnknownIdError, explained
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.bundle import write_bundle
from wireproof.conformance.report.clause_sentences import sentence_of
from wireproof.conformance.report.derived_vectors import DeriveError
from wireproof.conformance.report.record_search import RECORD_ID, records_with, shown_record
from wireproof.conformance.suite.cases import CaseError
from wireproof.fuzz.commands.options import Options
from wireproof.fuzz.findings.finding import FindingError, FuzzFinding
from wireproof.fuzz.findings.findings_folder import load

__all__ = ["command", "finding_at", "run_folders"]

RUNS = (Path("runs"), Path())
"""Where runs are looked for, unless somebody says where: the first that exists."""
FINDINGS = Path("findings")
MOST_LINES, LONGEST_LINE = 20, 160


def run_folders(given: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the folders to look for runs in."""
    return given or next(((one,) for one in RUNS if one.is_dir()), ())


def finding_at(identifier: str) -> Path | None:
    """Return the folder or file of a finding: a path, or an id below findings/; None for neither."""
    for path in (Path(identifier), FINDINGS / identifier):
        if (path / "finding.json").is_file() or (path.is_file() and path.suffix == ".json"):
            return path
    return None


@click.command()
@click.argument("identifier", metavar="ID")
@click.option(
    "--runs",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Where to look for records. Repeatable.  [default: runs/, else the current folder]",
)
@click.option("--profile", help="The profile of examples in bytes.")
@click.option("--variant", "--width", help="The variant of examples in bytes.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the bundle of the record there: record.json, exchange.txt, replay.py, capture.pcapng.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the record or finding as JSON.")
def command(identifier: str, **options: Any) -> None:
    """Show what ID stands for: a case, clause or vector, a record (12 hex digits) of a run, or a finding.

    \b
    wireproof show THR-INSERT-3
    wireproof show 956425a57f8d --runs runs/mine
    wireproof show findings/3f2a
    """
    try:
        click.echo("\n".join(_lines(identifier, options)))
    except (UnknownIdError, FindingError) as error:
        raise click.UsageError(str(error)) from None
    except (CaseError, DeriveError, OSError) as error:
        raise click.ClickException(str(error)) from None


def _lines(identifier: str, options: Options) -> Iterator[str]:
    if (path := finding_at(identifier)) is not None:
        yield from _finding(path, as_json=options["as_json"])
    elif RECORD_ID.fullmatch(identifier):
        yield from _record(identifier, options)
    else:
        yield from explained(identifier, options["profile"], options["variant"])


def _finding(path: Path, *, as_json: bool) -> Iterator[str]:
    found = load(path)
    if as_json:
        yield json.dumps(found.to_json(), indent=1)
        return
    spoken = f"{found.protocol} {found.profile} {found.variant}"
    yield f"finding {found.id}: {found.oracle}, of wireproof fuzz {found.engine} ({spoken})"
    yield f"  what was seen: {found.detail}"
    if found.clause:
        yield f"  clause {found.clause}: {sentence_of(found.protocol, found.clause)}"
    seen, tries = found.reproduced
    yield f"  seen again in {seen} of {tries} tries" if tries else "  not tried again"
    shown = {"implementation": found.implementation, "target": found.target, "state": found.state, "shape": found.shape}
    yield from (f"  {name}: {value}" for name, value in shown.items() if value)
    yield f"  found: {found.found_at}, by wireproof {found.found_by}, after {number_of(found.executions, 'execution')}"
    yield from _exchange(path if path.is_dir() else path.parent, found)
    yield f"  play it again: wireproof replay {path}"


def _exchange(folder: Path, found: FuzzFinding) -> Iterator[str]:
    """Yield the first lines of what crossed, or of what the input does."""
    file = folder / "exchange.txt"
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()[2:]
    except OSError:
        lines = list(found.steps)
    for line in lines[:MOST_LINES]:
        yield f"    {line if len(line) <= LONGEST_LINE else f'{line[:LONGEST_LINE]}…'}"
    if len(lines) > MOST_LINES:
        yield f"    … and {number_of(len(lines) - MOST_LINES, 'line')} more{f' in {file}' if file.exists() else ''}"


def _record(identifier: str, options: Options) -> Iterator[str]:
    folders = run_folders(options["runs"])
    records = records_with(identifier, folders)
    if not records:
        where = ", ".join(map(str, folders)) or "runs"
        raise UnknownIdError(f"no record {identifier} below {where}: --runs DIR looks elsewhere")
    run, record = records[0]
    if options["bundle"]:
        files = write_bundle(options["bundle"], run, record)
    if options["as_json"]:
        yield json.dumps(record, indent=1)
        return
    yield from shown_record(run, record)
    if len(records) > 1:
        yield f"  {len(records) - 1} other runs have it, too: {', '.join(one['verdict'] for _, one in records[1:6])}"
    if options["bundle"]:
        yield f"  bundle: {', '.join(map(str, files))}"
    where = "".join(f" --runs {one}" for one in options["runs"])
    yield f"  play it again: wireproof replay {identifier}{where}"
