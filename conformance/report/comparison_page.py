"""The page of a comparison of two runs, and the same for the console. No network, no script, no build step."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from rich.console import Console

from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.report.clause_sentences import sentence_of
from wireproof.conformance.report.console import MAX_CAUSE, STYLES, cause_lines, named, one_line
from wireproof.conformance.report.run_comparison import Change, Changed, RunComparison
from wireproof.conformance.report.run_files import ReadRun
from wireproof.conformance.report.run_page import PAGE, TEMPLATES
from wireproof.conformance.verdict.records import Record

__all__ = ["comparison_page", "show_comparison"]

MOST_NAMED = 25
"""Plays of one kind named on the console; the page has all."""
MOST_TEXT = 300
EXPLAINED = {
    Changed.BROKEN: "passed, or was not asked, and fails a MUST or SHOULD now",
    Changed.FIXED: "did not pass, and passes now",
    Changed.OTHERWISE: "still does not pass, but otherwise; or answers otherwise what the document leaves open",
    Changed.NEW: "played in the second run only",
    Changed.GONE: "played in the first run only",
}
STYLE = {Changed.BROKEN: "bold red", Changed.FIXED: "green", Changed.OTHERWISE: "yellow"}


def counted(comparison: RunComparison) -> str:
    """Return in one line how many plays changed."""
    return ", ".join(f"{number} {kind}" for kind, number in comparison.counts.items()) + f", {comparison.same} the same"


def show_comparison(console: Console, comparison: RunComparison) -> None:
    """Print both runs, the causes of what broke, and each change by kind."""

    def line(text: str) -> None:
        console.print(text, soft_wrap=True, highlight=False)

    for word, run in (("first ", comparison.first), ("second", comparison.second)):
        line(f"{word} {one_line(run.who)} [dim]{run.summary.get('started_at')} {one_line(run.path)}[/]")
    for note in comparison.notes:
        line(f"[yellow]note[/]   {one_line(note)}")
    for cause in comparison.broken_causes:
        what = cause_lines(cause)[0]
        sentence = sentence_of(cause.first["protocol"], cause.clause)
        line(f"[bold]broken by[/] {one_line(what, MAX_CAUSE)}")
        line(f"    [dim]{one_line(cause.clause)}: {one_line(sentence)}[/]" if sentence else "")
    for kind in Changed:
        some = comparison.of(kind)
        if some:
            line(f"[{STYLE.get(kind, 'bold')}]{kind}[/] ({len(some)}): {EXPLAINED[kind]}")
        for change in some[:MOST_NAMED]:
            shown = change.shown
            style = STYLES[Verdict(shown["verdict"])]
            line(f"  [{style}]{one_line(named(shown))}[/] {shown['level']} {one_line(change.words)}")
        if len(some) > MOST_NAMED:
            line(f"  [dim]… and {len(some) - MOST_NAMED} more (--out FILE lists all)[/]")


def comparison_page(comparison: RunComparison, file: Path) -> str:
    """Return the page as HTML. `file`: where it will be, for links to the pages of both runs."""
    style = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "run.css"))
    template = (TEMPLATES / "compare.html").read_text(encoding="utf-8")
    parts = {
        "style": style,
        "title": escape(f"{comparison.first.who} → {comparison.second.who}"),
        "counts": escape(counted(comparison)),
        "runs": "".join(
            _run(word, run, file) for word, run in (("first", comparison.first), ("second", comparison.second))
        ),
        "notes": "".join(f"<li>{escape(note)}</li>" for note in comparison.notes),
        "causes": "".join(_causes(comparison, file)),
        "kinds": "".join(_kind(comparison, kind, file) for kind in Changed),
    }
    page = re.sub(r"<!-- (\w+) -->|/\* (style) \*/", lambda found: parts[found[1] or found[2]], template)
    return page.encode(errors="replace").decode()


def _run(word: str, run: ReadRun, file: Path) -> str:
    who = f"{run.who}, {run.summary.get('started_at')}"
    link = _page_of(run, file)
    shown = f'<a href="{escape(link)}">{escape(who)}</a>' if link else escape(who)
    return f"<li><span class='soft'>{word}</span> {shown} <span class='soft mono'>{escape(str(run.path))}</span></li>"


def _page_of(run: ReadRun, file: Path) -> str:
    """Return the address of a run's page as seen from the file; "" where there is none."""
    page = run.path / PAGE
    if not page.is_file():
        return ""
    return Path(os.path.relpath(page.resolve(), file.resolve().parent)).as_posix()


def _play(run: ReadRun, record: Record, file: Path) -> str:
    """Return the name of a play, linked to the page of its run where that has one."""
    link, name = _page_of(run, file), escape(named(record))
    if not link:
        return f'<span class="id">{name}</span>'
    return f'<a class="id" href="{escape(link)}#{escape(record["record_id"])}">{name}</a>'


def _causes(comparison: RunComparison, file: Path) -> Iterator[str]:
    for cause in comparison.broken_causes:
        first = cause.first
        yield (
            f'<section class="cause {cause.kind}"><h3>Broken by: {cause.kind}, {first["level"]} '
            f'<span class="mono">{escape(cause.clause)}</span></h3>'
            f'<p class="soft">{escape(sentence_of(first["protocol"], cause.clause))}</p>'
        )
        yield "".join(f"<p>{escape(line)}</p>" for line in cause_lines(cause))
        yield f"<p>smallest play: {_play(comparison.second, first, file)}</p></section>"


def _kind(comparison: RunComparison, kind: Changed, file: Path) -> str:
    some = comparison.of(kind)
    if not some:
        return ""
    shown = " open" if kind in (Changed.BROKEN, Changed.FIXED, Changed.OTHERWISE) else ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("from", "to", "level", "play", "clause"))
    rows = "".join(_row(change, comparison, file) for change in some)
    return (
        f'<details{shown} id="{kind.name.lower()}"><summary><b>{kind}</b> ({len(some)}): {EXPLAINED[kind]}</summary>'
        f'<table class="cases"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></details>'
    )


def _row(change: Change, comparison: RunComparison, file: Path) -> str:
    shown = change.shown
    run = comparison.first if change.after is None else comparison.second
    states = "".join(f"<td>{_verdict(one)}</td>" for one in (change.before, change.after))
    clause = shown["blamed"] or shown["clauses"][0]
    got = f'<div class="soft">got {escape(str(shown["got"])[:MOST_TEXT])}</div>' if change.is_red else ""
    return (
        f'<tr>{states}<td class="soft">{shown["level"]}</td>'
        f'<td>{_play(run, shown, file)}<div class="soft">{escape(shown["title"])}</div>{got}</td>'
        f'<td class="clauses"><span class="mono">{escape(clause)}</span>'
        f'<div class="soft">{escape(sentence_of(shown["protocol"], clause))}</div></td></tr>'
    )


def _verdict(record: Record | None) -> str:
    if record is None:
        return '<span class="soft">not played</span>'
    verdict = Verdict(record["verdict"])
    return f'<span class="verdict {verdict}">{verdict.replace("_", " ")}</span>'
