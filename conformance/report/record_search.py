"""Finds the record with an id below folders of runs, and shows it on a console."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from wireproof.conformance.model.verdict import GREEN
from wireproof.conformance.report.clause_sentences import sentence_of
from wireproof.conformance.report.console import named
from wireproof.conformance.report.decoded_exchange import decoded_exchange, in_words
from wireproof.conformance.report.run_files import ReadRun, RunFileError, read_run
from wireproof.conformance.verdict.records import Record

__all__ = ["RECORD_ID", "again", "records_with", "shown_record"]

RECORD_ID = re.compile(r"[0-9a-f]{12}")
MOST_HEX = 192
DECLARED = {"--feature": "features", "--limit": "limits", "--tls-ca": "tls_ca"}
"""Options that say what a target has: a record is played again with those of its run."""


def records_with(identifier: str, folders: Iterable[Path]) -> list[tuple[ReadRun, Record]]:
    """Return the records of this id (or of this case), and their runs, below folders.

    Those that did not pass come first, and of these the latest.
    """
    found = []
    for path in dict.fromkeys(one.resolve() for folder in folders for one in folder.rglob("records.jsonl*")):
        if not _mentions(path, identifier):
            continue
        try:
            run = read_run(path.parent if path.suffix == ".jsonl" else path)
        except RunFileError:  # another one may have it
            continue
        found += [(run, one) for one in run.records if identifier in (one["record_id"], one["case"])]
    latest = sorted(found, key=lambda one: str(one[0].summary.get("started_at")), reverse=True)
    return sorted(latest, key=lambda one: one[1]["verdict"] in GREEN)


def _mentions(path: Path, text: str) -> bool:
    if path.suffix == ".gz":
        return True
    with path.open(encoding="utf-8", errors="replace") as lines:
        return any(text in line for line in lines)


def again(run: ReadRun, record: Record, target: Sequence[str] = (), listeners: Sequence[str] = ()) -> list[str]:
    """Return the words that play a record again: after `wireproof`.

    `target`: the words for another target than that of its run, which must have been reached with the same features
    and limits; `listeners`: those of another target.
    """
    options = run.summary.get("options") or {}
    started = [] if _is_sdk(record) else _words("--target-command", options.get("target_command"))
    place = list(target) or started or [str(run.summary.get("target") or "TARGET")]
    if _is_sdk(record):
        command = ["test-sdk", record["protocol"], "--driver", *place]
    else:
        heard = listeners or (() if target else options.get("listeners"))
        named = [_words(flag, options.get(name)) for flag, name in DECLARED.items()]
        command = ["test", record["protocol"], *place, *chain(*named), *_words("--listener", heard)]
    spoken = ["--profile", record["profile"], "--variant", record["variant"]]
    cut = [] if record["delivery"] == "whole" else ["--segmentation", record["delivery"]]
    return [*command, *spoken, "-k", record["case"], *cut]


def _words(flag: str, values: object) -> list[str]:
    """Return an option for each of the recorded values; none for what an older wireproof wrote."""
    each = [values] if isinstance(values, str) else values if isinstance(values, list | tuple) else []
    return [word for one in each if not str(one).startswith("(") for word in (flag, str(one))]


def _is_sdk(record: Record) -> bool:
    return bool(record["role"] == "client")


def shown_record(run: ReadRun, record: Record) -> Iterator[str]:
    """Yield the lines that describe a record: what, of which run, expectation, answer, exchange."""
    clause = record["blamed"] or record["clauses"][0]
    yield f"record {record['record_id']}: {record['verdict']} {named(record)} {record['level']}"
    yield f"  of {run.who}, {run.summary.get('started_at')}, {run.path}"
    yield f"  {record['title']}"
    yield f"  {clause}: {sentence_of(record['protocol'], clause)}"
    if words := in_words(record):
        yield f"  {words}"
    for name in ("expected", "got", "observed"):
        if record[name] is not None:
            yield f"  {name}: {record[name]}"
    for event in decoded_exchange(record):
        arrow = {"sent": ">", "received": "<"}.get(event["way"], "|")
        data = event.get("hex", "")
        shown = f"{data[:MOST_HEX]}{'…' if len(data) > MOST_HEX else ''}{event.get('text', '')}"
        yield f"  {event['at']:10.2f} ms {event['on']} {arrow} {shown}"
        if "mark" in event:
            yield f"      byte {event['mark']} differs{': it must be ' + event['wanted'] if 'wanted' in event else ''}"
        yield from (f"      {line}" for line in event.get("reads", ()))
    if not record["exchange"]:
        yield "  no exchange is kept of it: passing plays keep theirs with --evidence all"
