"""What `wireproof test` prints at the end of a run: causes, the table, what is stale or unsupported, the last line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import click
from rich.console import Console

from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.baseline import Comparison, failing
from wireproof.conformance.report.console import (
    closing_line,
    segmentation_summary,
    show_causes,
    show_table,
    unsupported_summary,
)
from wireproof.conformance.run.plan import Plan
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.suite.case_traits import parameters_in
from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.crashes import is_unplayed
from wireproof.conformance.verdict.records import Record, Run

__all__ = ["FAILURES", "HARNESS", "INTERRUPTED", "PASSED", "RESULTS", "STALE", "USAGE", "closing_report", "exit_code"]

PASSED, FAILURES, USAGE, HARNESS, STALE = range(5)
INTERRUPTED = 130
RESULTS = {
    PASSED: "passed",
    FAILURES: "failed",
    USAGE: "nothing tested",
    HARNESS: "harness error",
    STALE: "stale baseline",
}
"""Exit code -> the word that the closing line begins with."""
Hint = Callable[[Run, set[str], set[str]], list[str]]
"""Run, cases that did not pass, cases that were played -> what may explain many failures."""


def exit_code(records: Sequence[Record], comparison: Comparison) -> int:
    """Return the exit code of a run that came to its end."""
    if comparison.new:
        return FAILURES
    if any(one["verdict"] == Verdict.HARNESS_ERROR and not one.get("not_required") for one in records):
        return HARNESS
    if all(one["verdict"] == Verdict.UNSUPPORTED for one in records):
        return USAGE
    return STALE if comparison.is_out_of_date else PASSED


def closing_report(
    console: Console,
    plan: Plan,
    records: Sequence[Record],
    comparison: Comparison,
    code: int,
    where: Path | None,
    hint: Hint,
) -> None:
    """Print it. `where`: the folder of the run."""
    run = plan.run
    if plan.stopped:
        left = sum(is_unplayed(one) for one in records)
        click.echo(f"wireproof: the run ended: {plan.stopped}; {number_of(left, 'case')} not played", err=True)
    show_causes(console, causes_of(records), where)
    show_table(console, run, records)
    if summary := segmentation_summary(records, plan.tally):
        console.print(summary, soft_wrap=True)
    if alone := len(plan.played_alone):
        console.print(f"{number_of(alone, 'case')} of those that allow others beside them played alone", soft_wrap=True)
    for line in comparison.lines:
        click.echo(line, err=True)
    played = {one["case"] for one in records if not is_unplayed(one)}
    bad = {one["case"] for one in failing(records)} & played
    for line in hint(run, bad, played):
        console.print(line, soft_wrap=True)
    faulty = sum(one["verdict"] == Verdict.HARNESS_ERROR for one in records)
    if faulty:
        click.echo(
            f"wireproof: harness error in {faulty} of {len(records)} plays: they do not judge the target",
            err=True,
        )
    if unsupported := unsupported_summary(records):
        console.print(unsupported, soft_wrap=True)
    if slow := slow_summary(plan, {one["case"] for one in records}):
        console.print(slow, soft_wrap=True)
    click.echo(closing_line(RESULTS[code], records, run, where))


def slow_summary(plan: Plan, played: Collection[str]) -> str:
    """Return how many cases were left out because they take long, and how to play them; "" for none.

    Of a run that was asked for a part of the cases nothing is reported.
    """
    run, known = plan.run, plan.suite.parameters
    left = [
        case
        for case in applicable(plan.suite, run.profile, run.variant)
        if (case.slow or case.heavy) and not case.budget and case.id not in played
    ]
    if run.partial or not left:
        return ""
    waits_for = sorted({name for case in left if case.slow for name in parameters_in(case, known)})
    short = " ".join(f"--limit {name}=N" for name in waits_for)
    quick = f"; some at once where limits are short: {short}" if short else ""
    return f"{len(left)} slow cases not played: --slow plays them{quick}"
