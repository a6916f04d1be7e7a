"""What a person sees of a run: progress, each failure with its evidence, a table by group and level, a closing line."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType, TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from wireproof.conformance.model.verdict import GREEN, UNSCORED, Guilty, Level, Verdict
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.monitor.blame import MONITOR
from wireproof.conformance.player.concurrency import drawn
from wireproof.conformance.report.baseline import beyond, failing
from wireproof.conformance.report.clause_sentences import sentence_of
from wireproof.conformance.run.segmentation_sample import Tally
from wireproof.conformance.suite.segmentation import SEGMENTATIONS, WHOLE
from wireproof.conformance.verdict.causes import Cause, CauseKind
from wireproof.conformance.verdict.crashes import Hang, is_unplayed
from wireproof.conformance.verdict.last_words import in_frame
from wireproof.conformance.verdict.records import Record, Run
from wireproof.protocols.json_values import JsonObject

STYLES = {
    Verdict.PASS: "green",
    Verdict.LENIENT: "yellow",
    Verdict.FAIL: "red",
    Verdict.UNSUPPORTED: "dim",
    Verdict.UNTESTABLE: "magenta",
    Verdict.CRASH: "bold red",
    Verdict.HANG: "red",
    Verdict.HARNESS_ERROR: "bold white on red",
}
CIRCUMSTANCE = ("a target ", "a server ")
"""How what a case needs begins that is no feature."""
MAX_SHOWN = 25
MAX_FOLLOWING = 6
"""Cases named that follow from a cause."""
MAX_CAUSE = 600
"""Characters of one line about a cause."""
MAX_TEXT = 300
"""Characters of an expectation or answer shown; records hold all of it."""
FIRST_LINE = 1.0
"""Seconds after which the first line of progress comes, where the output is not a terminal."""
LONG_PLAY = 5.0
"""Seconds after which a play that is still under way is named."""
WIDE = 200
"""Columns where the output is not a terminal: lines in a file or a CI log are not wrapped."""


def console_of(*, quiet: bool) -> Console:
    """Return the console of a command; lines are as wide as the terminal, or `WIDE` where there is none."""
    console = Console(quiet=quiet, highlight=False)
    return console if console.is_terminal else Console(quiet=quiet, highlight=False, width=WIDE)


def one_line(text: object, limit: int = MAX_TEXT) -> str:
    """Return a text for one line of a terminal, with a dot for each character that is not printable."""
    whole = "".join(one if one.isprintable() else "·" for one in str(text)[: limit + 1])
    return escape(whole if len(whole) <= limit else whole[:limit] + "…")


UnderWay = Mapping[str, float]
"""Case -> when it began (`time.monotonic`)."""


class LiveProgress:
    """A progress bar with counts by verdict; where the console is no terminal, lines on stderr every `every` s.

    Both name the play that has lasted longest, once that is some seconds.
    """

    def __init__(
        self, console: Console, total: int, *, every: float = 10.0, under_way: UnderWay = MappingProxyType({})
    ) -> None:
        """`under_way`: the plays that have begun, in that order, each with its time (`time.monotonic`)."""
        self._counts: Counter[str] = Counter()
        self._console, self._total, self._every, self._under_way = console, total, every, under_way
        self._over = threading.Event()
        self._lines = threading.Thread(
            target=self._show_plays if console.is_terminal else self._print_lines, daemon=True
        )
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> LiveProgress:
        self._progress.start()
        if not self._console.quiet:
            self._lines.start()
        return self

    def _long(self) -> str:
        """Return which play has lasted longest, where that is long; else an empty text."""
        for case, began in list(self._under_way.items())[:1]:
            if (took := time.monotonic() - began) >= LONG_PLAY:
                return f"; {case} for {took:.0f} s"
        return ""

    def _show_plays(self) -> None:
        while not self._over.wait(1.0):
            self._progress.update(self._task, description=f"{self._shown()}{escape(self._long())}")

    def _shown(self) -> str:
        counts = dict(self._counts)
        return " ".join(f"[{STYLES[Verdict(name)]}]{name} {count}[/]" for name, count in counts.items())

    def _print_lines(self) -> None:
        began, wait = time.monotonic(), min(FIRST_LINE, self._every)
        while not self._over.wait(wait):
            wait = self._every
            counts = dict(self._counts)
            shown = ", ".join(f"{number} {name}" for name, number in counts.items()) or "none ended yet"
            done = f"{sum(counts.values())} of {self._total} plays: {shown}"
            line = f"{time.monotonic() - began:.0f} s: {done}{self._long()}"
            with suppress(OSError):  # whoever read this went away, or the disk is full
                print(line, file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._lines.is_alive():
            self._lines.join()
        self._progress.stop()

    def __call__(self, record: Record) -> None:
        """Count one record."""
        self._counts[record["verdict"]] += 1
        self._progress.update(self._task, advance=1, description=self._shown())


def show_causes(console: Console, causes: Sequence[Cause], folder: object = None) -> None:
    """Print each cause of what did not pass: in one line what it is, the smallest play that shows it, what follows.

    `folder` has run.json, where there is one.
    """
    shown = causes[:MAX_SHOWN]
    for number, cause in enumerate(shown, 1):
        lines = cause_lines(cause, named_in="run.json" if folder else "the records")
        console.print(
            f"[bold]cause {number} of {len(causes)}[/]: {one_line(lines[0], MAX_CAUSE)}",
            soft_wrap=True,
            highlight=False,
        )
        for line in (*_evidence(cause.first), *(f"    {one_line(one, MAX_CAUSE)}" for one in lines[1:])):
            console.print(line, soft_wrap=True, highlight=False)
    if len(causes) > MAX_SHOWN:
        where = f"{folder}/run.json" if folder else "--out"
        console.print(f"… and {len(causes) - MAX_SHOWN} more causes: see {where}", style="dim")


def cause_lines(cause: Cause, *, named_in: str = "") -> list[str]:
    """Return what a cause is, in one line, then what all plays that show it send, and what follows from it."""
    first, process = cause.first, cause.process
    got = " ".join(str(first["got"]).split())
    match cause.kind:
        case CauseKind.DEATH | CauseKind.HANG if process:
            what = _ended(first, process)
        case CauseKind.DEATH | CauseKind.HANG:
            what = got
        case CauseKind.PRECONDITION:
            what = f"a step that prepares failed, and no other case says why: expected {first['expected']}; got {got}"
        case _:
            what = f"expected {first['expected']}; got {got}"
    lines = [f"{cause.kind} [{cause.clause}] {what[:MAX_TEXT]}"]
    if cause.common:
        lines.append(f"what shows it sends {' and '.join(cause.common)}")
    if why := cause.not_required:
        lines.append(f"not required: {why}")
    if following := cause.following:
        more = f", … (all are in {named_in})" if named_in and len(following) > MAX_FOLLOWING else ""
        verb = "follows" if len(following) == 1 else "follow"
        lines.append(f"{len(following)} more {verb} from it: {', '.join(following[:MAX_FOLLOWING])}{more}")
    return lines


def _ended(first: Record, process: JsonObject) -> str:
    """Return how a process ended, what it printed, and where in its own code."""
    if first.get("extra", {}).get("hang") or "death" not in process:
        return str(first["got"]).split(";")[0]
    if hang := process.get("hang"):
        return f"it {Hang(hang['cpu'], hang['seconds'], hang['busy']).detail}"
    words = f": {process['said']}" if process.get("said") else ", and printed nothing"
    return f"it {process['death']}{in_frame(process)}{words}"


def _evidence(record: Record) -> Iterator[str]:
    """Yield the lines, in rich's markup, that describe one record."""
    verdict = Verdict(record["verdict"])
    byte = "" if record["byte"] is None else f" byte {record['byte']}"
    yield (
        f"[{STYLES[verdict]}]{verdict}[/] [bold]{escape(named(record))}[/] {record['level']}"
        f" clause {escape(record['blamed'] or record['clauses'][0])}{byte}, fault: {record['guilty'] or 'target'}"
        f" [dim]{record['record_id']}[/]"
    )
    yield f"    [dim]{one_line(record['title'])}[/]"
    if sentence := sentence_of(record.get("protocol", ""), record["blamed"] or record["clauses"][0]):
        yield f"    the clause  {one_line(sentence)}"
    yield f"    expected {one_line(record['expected'])}"
    yield f"    got      {one_line(record['got'])}"
    seen = record.get("extra", {}).get(MONITOR)
    if seen is not None and seen["first"] == Guilty.TARGET:
        yield f"    [dim]{one_line(broken(seen))}[/]"
    history = drawn(record)
    yield from (f"    {one_line(line)}" for line in history)
    for event in record["exchange"][-4:] if not history else ():
        arrow = {"sent": ">", "received": "<"}.get(event["direction"], "|")
        yield f"    [dim]{escape(event['connection'])} {arrow} {one_line(event['hex'] or event['text'], 96)}[/]"


def broken(seen: JsonObject) -> str:
    """Return in one line where the monitor found that the target broke the protocol."""
    cited = f" [{seen['clause']}]" if seen["clause"] else ""
    where = f"connection {seen['connection']}, byte {seen['offset']} of what it sent"
    return f"the target broke the protocol first: {where}: {seen['told']}{cited}"


def named(record: Record) -> str:
    """Return the case id of a record, followed by its segmentation when that is not whole."""
    whole = record["delivery"] == WHOLE.name
    return str(record["case"]) if whole else f"{record['case']} [{record['delivery']}]"


def differing(records: Iterable[Record]) -> list[str]:
    """Return the segmentations under which a case fails that passes when its bytes are sent whole."""
    bad = {one["delivery"] for one in records if one["verdict"] not in GREEN} - {WHOLE.name}
    return [name for name in SEGMENTATIONS if name in bad]


def unsupported_summary(records: Iterable[Record]) -> str:
    """Return how many cases are unsupported, and which undeclared features they need; "" for none."""
    left = [one for one in records if one["verdict"] == Verdict.UNSUPPORTED]
    needs = [str(one["expected"]) for one in left]
    wanted = Counter(one for one in needs if one.startswith(CIRCUMSTANCE))
    features = dict.fromkeys(name for needed in needs if needed not in wanted for name in needed.split(", "))
    listed = f"wireproof features {left[0]['protocol']}" if left else ""
    why = [f"the target does not declare {', '.join(features)} ({listed} says what that is)"] if features else []
    why += [f"{count} want {one}" for one, count in wanted.items()]
    return f"{number_of(len(needs), 'case')} unsupported: {'; '.join(why)}" if needs else ""


def score(records: Sequence[Record]) -> str:
    """Return "k/n" and, in brackets, what n leaves out."""
    scored = [one for one in records if one["verdict"] not in UNSCORED]
    passed = sum(one["verdict"] == Verdict.PASS for one in scored)
    left = len(records) - len(scored)
    return f"{passed}/{len(scored)}" + (f" ({left} left out)" if left else "")


def show_table(console: Console, run: Run, records: Sequence[Record]) -> None:
    """Print what was tested, then groups by level, for cases sent whole; other segmentations have their own column.

    A MAY shows how many answers were observed, not a score.
    """
    title = f"{run.implementation} {run.implementation_version}: {run.protocol} {run.profile} {run.variant}"
    console.print(escape(title), soft_wrap=True, highlight=False)
    table = Table()
    table.add_column("group")
    for level in (Level.MUST, Level.SHOULD):
        table.add_column(level, justify="right")
    table.add_column("MAY observed", justify="right")
    segmentations = any(one["delivery"] != WHOLE.name for one in records)
    if segmentations:
        table.add_column("other segmentations", justify="right")
    groups: dict[str, list[Record]] = {}
    for one in records:
        groups.setdefault(one["group"], []).append(one)
    for group, members in sorted(groups.items()):
        table.add_row(group, *_cells(members, segmentations=segmentations))
    table.add_section()
    table.add_row("all", *_cells(records, segmentations=segmentations), style="bold")
    console.print(table)


def _cells(records: Sequence[Record], *, segmentations: bool) -> list[str]:
    whole = [one for one in records if one["delivery"] == WHOLE.name]
    cells = []
    for level in (Level.MUST, Level.SHOULD):
        mine = [one for one in whole if one["level"] == level]
        cells.append(f"[{_colour(mine)}]{score(mine)}[/]" if mine else "")
    observed = sum(one["level"] == Level.MAY and one["verdict"] != Verdict.UNSUPPORTED for one in whole)
    cells.append(str(observed) if observed else "")
    return [*cells, _others(records)] if segmentations else cells


def _colour(records: Sequence[Record]) -> str:
    """Return red where a play failed, magenta where some only could not be judged."""
    bad = {one["verdict"] for one in records if one["verdict"] not in GREEN}
    return "red" if bad - {Verdict.UNTESTABLE, Verdict.HARNESS_ERROR} else "magenta" if bad else "green"


def _others(records: Sequence[Record]) -> str:
    """Return "k/n" of the plays under other segmentations, and those under which a case fails."""
    plays = [one for one in records if one["delivery"] != WHOLE.name]
    bad = differing(plays)
    shown = f"{score(plays)} ≠ {', '.join(bad)}" if bad else score(plays)
    return f"[{'red' if bad else 'green'}]{shown}[/]" if plays else ""


def segmentation_summary(records: Iterable[Record], tally: Tally) -> str:
    """Return in one line what the plays under other segmentations showed; "" when there were none."""
    plays = Counter(one["delivery"] for one in records if one["delivery"] != WHOLE.name)
    counts = ", ".join(f"{plays[name]} {name}" for name in SEGMENTATIONS if name in plays)
    parts = {
        f"{number_of(plays.total(), 'play')} under other segmentations: {counts}": plays.total(),
        f"{tally.same} left no cut, join or early end on the wire": tally.same,
        f"{tally.not_judged} could not be judged": tally.not_judged,
    }
    return "; ".join(part for part, number in parts.items() if number)


def closing_line(result: str, records: Sequence[Record], run: Run, folder: object) -> str:
    """Return the last line of a run: result, cases, plays, MUST and SHOULD failures, namespace, where records are.

    A harness error beside failures of the target is counted, too; so is why a run is partial. Cases that were not
    played are counted apart.
    """
    cases = len({one["case"] for one in records})
    unplayed = sum(is_unplayed(one) for one in records)
    bad = [one for one in failing(records) if not is_unplayed(one)]
    failed = {one["case"] for one in bad if one["verdict"] != Verdict.UNTESTABLE}
    untestable = len({one["case"] for one in bad} - failed)
    unsupported = sum(one["verdict"] == Verdict.UNSUPPORTED for one in records)
    counted = number_of(cases, "case") + (f" ({unsupported} unsupported)" if unsupported else "")
    if others := len(records) - cases:
        counted += f", {others} more {'play' if others == 1 else 'plays'} under other segmentations"
    where = f"; records in {folder}" if folder else ""
    ours = sum(one["verdict"] == Verdict.HARNESS_ERROR for one in records)
    left = f", {untestable} untestable" if untestable else ""
    left += f"; {unplayed} not played" if unplayed else ""
    faulty = f"; {ours} harness error{'s' if ours > 1 else ''}" if ours else ""
    more = sum(map(len, beyond(records).values()))
    left += f"; {more} failed that are not required" if more else ""
    partial = f"; partial: {'; '.join(run.partial)}" if run.partial else ""
    counted += f"; {len(failed)} MUST or SHOULD failed{left}{faulty}"
    return f"{result}: {counted}; namespace {run.namespace}{partial}{where}"
