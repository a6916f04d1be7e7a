"""The bundle of a play that did not pass: record, exchange in words, a script that replays it, and a capture.

A bundle is a folder named by the id of its record: `record.json`, `exchange.txt`, `replay.py` (servers) and
`capture.pcapng` (where scapy is installed).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from wireproof.conformance.model.exchange import event_of
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.report.capture import is_available, write_capture
from wireproof.conformance.report.record_search import shown_record
from wireproof.conformance.report.replay_script import replay_script
from wireproof.conformance.report.run_files import ReadRun
from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.records import Record
from wireproof.protocols import protocol
from wireproof.protocols.json_values import JsonObject

__all__ = ["BUNDLES", "MOST", "write_bundle", "write_bundles"]

BUNDLES = "evidence"
MOST = 50
"""Bundles that a run writes: those of its causes first. `wireproof show ID --bundle DIR` writes any other one."""


def write_bundles(folder: Path, summary: JsonObject, records: Sequence[Record]) -> list[str]:
    """Write the bundles of a run into its folder; return the ids of their records. Raises `OSError`."""
    causes = causes_of(records)
    wanted = [*(one.first for one in causes), *(record for one in causes for record in one.records)]
    run = ReadRun(folder, summary, tuple(records))
    written = list[str]()
    for record in wanted:
        if len(written) < MOST and record["record_id"] not in written and record["exchange"]:
            write_bundle(folder / BUNDLES / record["record_id"], run, record)
            written.append(record["record_id"])
    return written


def write_bundle(folder: Path, run: ReadRun, record: Record) -> list[Path]:
    """Write the bundle of one record; return its files. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    events, missing = _events(record)
    spoken = protocol(record["protocol"])
    datagrams = {name for name, link in spoken.links.items() if link.transport == "datagram"}
    hindrance = _no_script(record, events, missing)
    hint = f"\nNo replay.py ({hindrance}): play it again with `wireproof replay {record['record_id']}`.\n"
    texts = {
        "record.json": json.dumps(record, ensure_ascii=False, indent=1) + "\n",
        "exchange.txt": "\n".join(shown_record(run, record)) + (hint if hindrance else "\n"),
    }
    if not hindrance:
        texts["replay.py"] = replay_script(run.summary, record, events)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    found = [folder / name for name in texts]
    if is_available() and any(one.kind is Kind.OPENED for one in events):
        write_capture(folder / "capture.pcapng", events, spoken.default_port, datagrams)
        found.append(folder / "capture.pcapng")
    return found


def _events(record: Record) -> tuple[list[TraceEvent], str]:
    """Return the events that a record has, and what of them is missing: "" where they are all there."""
    events, missing = list[TraceEvent](), ""
    for one in record["exchange"]:
        try:
            events.append(event_of(one))
        except ValueError as error:
            missing = str(error)
            if one["direction"] != "event":
                data = bytes.fromhex(one["hex"])
                events.append(TraceEvent(one["at_us"], one["connection"], Kind(one["direction"]), data))
    return events, missing


def _no_script(record: Record, events: Sequence[TraceEvent], missing: str) -> str:
    """Return why a script of its own cannot play a record again; "" where it can."""
    if record["role"] != "server":
        return "the SDK needs its driver"
    if not events:
        return "nothing crossed"
    return f"the record holds only a part of what crossed: {missing}" if missing else ""
