"""`wireproof clauses`: each clause with its cases, mutants and verdicts; holes fail, open questions are listed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.clause_coverage import (
    AnyMutant,
    ClauseEntry,
    Runs,
    coverage,
    holes,
    open_questions,
    read_runs,
)
from wireproof.conformance.report.outputs import JOURNAL
from wireproof.conformance.sdk.play.sdk_suite import sdk_cases
from wireproof.conformance.suite.cases import load_suite, vectors_root
from wireproof.conformance.suite.combinations import coverage_of, read_combinations
from wireproof.mutants.registry import client_mutants, server_mutants
from wireproof.protocols import protocol_names
from wireproof.reference_client.registry import driven_protocols

PRINTED_WIDTH = 150
"""Columns where the output is no terminal."""
NAMED = 3
"""Cases and mutants named of each clause in the table."""


@click.command()
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--runs", multiple=True, type=click.Path(path_type=Path, exists=True), help="Runs to read. Repeatable.")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Only these clause groups. Repeatable.")
@click.option("--brief", is_flag=True, help="One line a group instead of one a clause.")
@click.option("--coverage", "pairs", is_flag=True, help="Print the pairs of values that cases of combinations hold.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.pass_context
def command(
    context: click.Context,
    /,
    name: str,
    runs: tuple[Path, ...],
    groups: tuple[str, ...],
    brief: bool,
    pairs: bool,
    as_json: bool,
) -> None:
    """List for each clause of PROTOCOL which cases play it, which mutants break it, and what was observed in RUNS.

    Exits 1 when a clause has no case, or is a MUST or SHOULD that no mutant breaks and no reason is given; with
    --coverage, when a pair of values is in no case.
    """
    if pairs:
        context.exit(1 if _print_coverage(name) else 0)
    suite = load_suite(name)
    suite = replace(suite, cases=suite.cases + sdk_cases(name))
    found = read_runs(runs) if runs else Runs()
    for folder in found.incomplete:
        click.echo(f"wireproof: incomplete run: {folder} (plays without a final verdict: {JOURNAL})", err=True)
    entries = [one for one in coverage(suite, _mutants(name), found) if not groups or one.clause.group in groups]
    if not entries:
        known = ", ".join(dict.fromkeys(one.group for one in suite.clauses.values()))
        raise click.UsageError(f"no clause in {', '.join(groups)}: the groups are {known}")
    missing = list(holes(entries))
    if as_json:
        click.echo(json.dumps({"clauses": [_as_json(one) for one in entries], "holes": missing}, indent=1))
    else:
        _show(entries, missing, found, brief=brief)
    context.exit(1 if missing else 0)


def _print_coverage(name: str) -> int:
    """Print how many pairs the cases of each request hold, and each pair that none holds; return how many those are."""
    file = read_combinations(vectors_root() / name / "combinations.yaml")
    found = coverage_of(file) if file is not None else []
    for one in found:
        click.echo(f"{one.request:16} {one.cases:4} cases hold {one.pairs - len(one.missing)} of {one.pairs} pairs")
        for pair in one.missing:
            click.echo(f"  no case: {pair}")
    total, missing = sum(one.pairs for one in found), sum(len(one.missing) for one in found)
    click.echo(f"{name}: {total - missing} of {total} pairs in {number_of(sum(one.cases for one in found), 'case')}")
    return missing


def _mutants(name: str) -> list[AnyMutant]:
    """Return the mutants of the server and of the client."""
    clients = client_mutants(name) if name in driven_protocols() else {}
    return [*server_mutants(name).values(), *clients.values()]


def _show(entries: Sequence[ClauseEntry], missing: Sequence[str], runs: Runs, *, brief: bool) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PRINTED_WIDTH
    console.print(_by_group(entries) if brief else _by_clause(entries))
    questions = open_questions(entries)
    if questions:
        console.print("\nThe document is silent, and implementations differ:")
    for one in questions:
        console.print(f"  {one.clause.id} {one.clause.text}", markup=False)
        for who, what in one.seen.items():
            console.print(f"      {who}: {what}", markup=False)
    for line in missing:
        console.print(line, markup=False, soft_wrap=True)
    read = f"; {number_of(len(runs.records), 'record')} read" if runs.records or runs.skipped else ""
    read += f", {number_of(runs.skipped, 'line')} of another kind" if runs.skipped else ""
    asked = number_of(len(questions), "open question")
    console.print(f"{number_of(len(entries), 'clause')}, {number_of(len(missing), 'hole')}, {asked}{read}")


def _by_clause(entries: Sequence[ClauseEntry]) -> Table:
    table = Table(box=None, header_style="bold")
    for title in ("clause", "level", "cases", "mutants", "seen"):
        table.add_column(title, overflow="fold")
    for one in entries:
        levels = "/".join(dict.fromkeys(one.clause.levels.values()))
        seen = ", ".join(sorted(set(one.seen.values())))
        mutants = _few(one.mutants) or (f"none: {one.clause.no_fault}" if one.clause.no_fault else "")
        table.add_row(one.clause.id, levels, _few(one.cases), mutants, seen)
    return table


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return " ".join(names[:NAMED]) + more


def _by_group(entries: Sequence[ClauseEntry]) -> Table:
    table = Table(box=None, header_style="bold")
    for title in ("group", "clauses", "with cases", "binding", "with mutants"):
        table.add_column(title, justify="left" if title == "group" else "right")
    for group, some in groupby(entries, key=lambda one: one.clause.group):
        members = list(some)
        binding = [one for one in members if one.binds and not one.clause.no_fault]
        cells = (
            len(members),
            sum(bool(one.cases) for one in members),
            len(binding),
            sum(bool(b.mutants) for b in binding),
        )
        table.add_row(group, *map(str, cells))
    return table


def _as_json(one: ClauseEntry) -> dict[str, object]:
    return {
        "id": one.clause.id,
        "text": one.clause.text,
        "levels": {profile: level.value for profile, level in one.clause.levels.items()},
        "cases": list(one.cases),
        "faults": list(one.mutants),
        "no_fault": one.clause.no_fault or None,
        "seen": dict(one.seen),
        "silent": one.is_silent,
    }
