"""The files of a run: `records.jsonl`, `run.json`, JUnit XML, and the step summary of a CI job, all from records.

While a run is under way there is a journal as well, `pending.jsonl`: plays whose verdicts are not final, as they were
judged first. It is removed when the run is complete, so a folder with a journal holds an incomplete run.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TextIO
from xml.etree import ElementTree

import msgspec

from wireproof.conformance.model.verdict import GREEN, Level, Verdict
from wireproof.conformance.player.concurrency import drawn
from wireproof.conformance.report.bundle import write_bundles
from wireproof.conformance.report.clause_sentences import sentence_of
from wireproof.conformance.report.console import cause_lines, differing, named, score
from wireproof.conformance.report.run_page import write_page
from wireproof.conformance.run.processes import signals_ignored
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.causes import Cause, CauseKind, causes_of
from wireproof.conformance.verdict.records import Record, Run, compact
from wireproof.protocols.json_values import JsonDict

NOT_XML = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NOT_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#|~!&])")


JOURNAL = "pending.jsonl"
UNFINISHED = "it is under way, or was killed"
INTERRUPTED = "it was interrupted"


class KeptEvidence(StrEnum):
    """Of which plays the exchange is kept."""

    FAILURES = "failures"
    """Of those that did not pass."""
    ALL = "all"


class OutputError(RuntimeError):
    """Raised when a folder or file cannot be written; it names the path and the reason."""


class RunFolder:
    """DIR/records.jsonl, DIR/pending.jsonl until the run is complete, and DIR/run.json, which says so until then.

    Lines are flushed one by one, so that a run that is killed keeps what it had.
    """

    def __init__(self, folder: Path, *, evidence: KeptEvidence = KeptEvidence.ALL) -> None:
        """`evidence`: of which plays the exchange is written down."""
        self.folder = folder
        self._evidence = evidence
        with reporting_file_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._journal = _lines_to(folder / JOURNAL)
            self._records = _lines_to(folder / "records.jsonl")
            (folder / "run.json").unlink(missing_ok=True)

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in (self._records, self._journal):
            with suppress(OSError):
                file.close()

    def add(self, record: Record) -> None:
        """Write one record, for good. Raises `OutputError`."""
        kept = self._kept(record)
        _write(self._records, kept if self._evidence is KeptEvidence.ALL else compact(kept))

    def note(self, record: Record) -> None:
        """Write a record of a play whose verdict may still change into the journal. Raises `OutputError`."""
        _write(self._journal, record)

    def begin(self, summary: JsonDict) -> None:
        """Write run.json of a run that is under way: whoever kills it leaves that behind. Raises `OutputError`."""
        self.finish({**summary, "finished_at": None, "partial": [*summary["partial"], UNFINISHED]})

    def _kept(self, record: Record) -> Record:
        is_kept = self._evidence is KeptEvidence.ALL or record["verdict"] not in GREEN
        return record if is_kept else {**record, "exchange": [], "extra": {}}

    def finish(self, summary: JsonDict, records: Sequence[Record] = ()) -> None:
        """Write run.json, bundles and page of these records; remove the journal of a run that was not cut short.

        No signal ends it. Raises `OutputError`.
        """
        path = self.folder / "run.json"
        text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
        with signals_ignored(), reporting_file_errors(path):
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
            if records:
                bundles = write_bundles(self.folder, summary, records)
                kept = [self._kept(one) for one in records]
                write_page(self.folder, load_suite(summary["protocol"]), summary, kept, bundles)
            if summary.get("finished_at") is not None:
                (self.folder / JOURNAL).unlink(missing_ok=True)


def is_incomplete(folder: Path) -> bool:
    """Say whether the run in a folder was killed or interrupted, or is still under way: its journal is there."""
    return (folder / JOURNAL).exists()


def _lines_to(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", errors="backslashreplace")


def _write(file: TextIO, record: Record) -> None:
    with reporting_file_errors(file.name):
        file.write(f"{_line(record)}\n")
        file.flush()


def _line(record: Record) -> str:
    try:
        return msgspec.json.encode(record).decode()
    except UnicodeEncodeError:  # a part of a surrogate pair, which is written escaped
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


@contextmanager
def reporting_file_errors(path: object) -> Iterator[None]:
    """Raise `OutputError` in place of the `OSError` of a block that writes to a path."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write to {path}: {error.strerror or error}") from None


def write_junit(path: Path, run: Run, records: Sequence[Record]) -> None:
    """Write JUnit XML: one suite, one test case a play (`case [delivery]` when not whole); a MAY is no failure.

    The causes are properties of the suite, and the smallest play of each comes first.
    """
    name = f"{run.protocol}.{run.profile}.{run.variant}"
    suite = ElementTree.Element("testsuite", name=name, timestamp=run.started_at, tests=str(len(records)))
    counts = {"failures": 0, "errors": 0, "skipped": 0}
    causes = causes_of(records)
    properties = ElementTree.SubElement(suite, "properties") if causes else suite
    for number, cause in enumerate(causes, 1):
        detail = xml_text(_cause_text(cause))
        ElementTree.SubElement(properties, "property", name=f"cause {number} of {len(causes)}", value=detail)
    followed = {_play(record): cause for cause in causes for record in cause.records[1:]}
    for record in _causes_first(records, causes):
        took = f"{record['duration_us'] / 1e6:.6f}"
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"{name}.{record['group']}", name=named(record), time=took
        )
        tag = _junit_tag(record, causes)
        if tag:
            counts[{"failure": "failures", "error": "errors", "skipped": "skipped"}[tag]] += 1
            why = f"not required ({record['not_required']}): " if record.get("not_required") else ""
            message = (
                f"{why}{record['verdict']} [{record['blamed'] or record['clauses'][0]}] expected {record['expected']}"
            )
            if (follows := followed.get(_play(record))) is not None:
                message += f"; follows from {named(follows.first)}"
            node = ElementTree.SubElement(case, tag, message=xml_text(message), type=record["verdict"])
            node.text = xml_text("\n".join(_junit_text(record, run.protocol)))
    suite.attrib.update({key: str(value) for key, value in counts.items()})
    root = ElementTree.Element("testsuites")
    root.append(suite)
    with reporting_file_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _junit_text(record: Record, protocol: str) -> Iterator[str]:
    yield from (record["title"], f"expected: {record['expected']}", f"got: {record['got']}")
    clause = record["blamed"] or record["clauses"][0]
    if sentence := sentence_of(protocol, clause):
        yield f"{clause}: {sentence}"
    yield from (*drawn(record), f"record: {record['record_id']}", _hex(record))


def _causes_first(records: Sequence[Record], causes: Sequence[Cause]) -> list[Record]:
    """Return the records, the first of each cause before all others; causes may have copies of them."""
    where = {play: at for at, play in enumerate(dict.fromkeys(_play(cause.first) for cause in causes))}
    return sorted(records, key=lambda one: where.get(_play(one), len(where)))


def _play(record: Record) -> tuple[str, str]:
    return record["case"], record["delivery"]


def _junit_tag(record: Record, causes: Sequence[Cause]) -> str:
    """Return the tag of a play that did not pass; a failed precondition that nothing explains is a failure.

    What a requirement set does not ask for is skipped.
    """
    if record.get("not_required"):
        return "" if record["verdict"] == Verdict.PASS else "skipped"
    if record["level"] != Level.MAY and any(
        cause.kind is CauseKind.PRECONDITION and _play(cause.first) == _play(record) for cause in causes
    ):
        return "failure"
    match Verdict(record["verdict"]):
        case Verdict.PASS:
            return ""
        case Verdict.UNSUPPORTED | Verdict.UNTESTABLE:
            return "skipped"
        case Verdict.HARNESS_ERROR:
            return "error"
    return "" if record["level"] == Level.MAY else "failure"


def xml_text(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return NOT_XML.sub("?", text)


def _hex(record: Record) -> str:
    arrows = {"sent": ">", "received": "<", "event": "|"}
    return "\n".join(
        f"{event['connection']} {arrows[event['direction']]} {event['hex'] or event['text']}"
        for event in record["exchange"]
    )


def step_summary(run: Run, records: Sequence[Record]) -> str:
    """Return Markdown for a CI job's summary page."""
    name = f"{run.implementation} {run.implementation_version}"
    lines = [
        f"### wireproof: {_markdown(name)}, {run.protocol} {run.profile} {run.variant}",
        "",
        "| group | MUST | SHOULD | MAY observed | other segmentations |",
        "|---|---:|---:|---:|---:|",
    ]
    for group in sorted({one["group"] for one in records}):
        lines.append(f"| {group} | {' | '.join(_cells([one for one in records if one['group'] == group]))} |")
    bad = [one for one in records if one["verdict"] not in (Verdict.PASS, Verdict.UNSUPPORTED)]
    causes = causes_of(records)
    if causes:
        lines[2:2] = [*(f"{at}. {_markdown(_cause_text(one), 600)}" for at, one in enumerate(causes[:20], 1)), ""]
    if bad:
        lines += ["", "| verdict | case | clause | expected | got |", "|---|---|---|---|---|", *map(_bad_row, bad[:50])]
    return "\n".join(lines) + "\n"


def _cause_text(cause: Cause) -> str:
    return f"{named(cause.first)}: {'; '.join(cause_lines(cause, named_in='run.json'))}"


def _cells(mine: Sequence[Record]) -> list[str]:
    """Return the cells of one group: cases as they were played whole, and plays under other deliveries."""
    whole = [one for one in mine if one["delivery"] == WHOLE.name]
    others = [one for one in mine if one["delivery"] != WHOLE.name]
    cells = [[one for one in whole if one["level"] == level] for level in (Level.MUST, Level.SHOULD)]
    bad = "".join(f" ≠ {name}" for name in differing(others))
    observed = sum(_is_observed(one) for one in whole)
    return [
        *(score(each) if each else "" for each in cells),
        str(observed or ""),
        score(others) + bad if others else "",
    ]


def _is_observed(one: Record) -> bool:
    return bool(one["level"] == Level.MAY and one["verdict"] != Verdict.UNSUPPORTED)


def _bad_row(one: Record) -> str:
    row = (one["verdict"], named(one), one["blamed"] or one["clauses"][0], one["expected"], one["got"])
    cells = map(_markdown, row)
    return "| " + " | ".join(cells) + " |"


def _markdown(text: object, limit: int = 160) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    return NOT_MARKDOWN.sub(r"\\\1", " ".join(xml_text(str(text)).split())[:limit])


def write_step_summary(run: Run, records: Iterable[Record]) -> None:
    """Append the summary to the file a CI job names in GITHUB_STEP_SUMMARY, when it does."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with reporting_file_errors(path), Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(step_summary(run, list(records)))
