"""The bundle of a play that did not pass: record, exchange in words, a script that replays it, and a capture.

A bundle is a folder named by the id of its record: `record.json`, `exchange.txt`, `replay.py` (plain TCP, servers) and
`capture.pcapng` (where scapy is installed).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from wireproof.conformance.model.targets import TargetError, parse_address
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.report.capture import is_available, write_capture
from wireproof.conformance.report.record_search import shown_record
from wireproof.conformance.report.run_files import ReadRun
from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.records import Record
from wireproof.protocols import protocol

__all__ = ["BUNDLES", "MOST", "write_bundle", "write_bundles"]

BUNDLES = "evidence"
MOST = 50
"""Bundles that a run writes: those of its causes first. `wireproof show ID --bundle DIR` writes any other one."""
TEMPLATE = Path(__file__).resolve().parents[2] / "reports" / "templates" / "replay_record.py.txt"
KINDS = {"sent": Kind.SENT, "received": Kind.RECEIVED}


def write_bundles(folder: Path, summary: Mapping[str, Any], records: Sequence[Record]) -> list[str]:
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
    events = [event for event in map(_event, record["exchange"]) if event is not None]
    spoken = protocol(record["protocol"])
    datagrams = {name for name, link in spoken.links.items() if link.transport == "datagram"}
    texts = {
        "record.json": json.dumps(record, ensure_ascii=False, indent=1) + "\n",
        "exchange.txt": "\n".join(shown_record(run, record)) + "\n",
    }
    if _is_plain(record, events, datagrams):
        texts["replay.py"] = _script(run, record, events)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    found = [folder / name for name in texts]
    if is_available() and events:
        write_capture(folder / "capture.pcapng", events, spoken.default_port, datagrams)
        found.append(folder / "capture.pcapng")
    return found


def _event(event: Mapping[str, Any]) -> TraceEvent | None:
    """Return an event of a record as the trace had it; None for what stands for events that were left out."""
    link, at, name = event.get("link", ""), int(event.get("at_us") or 0), event["connection"]
    if event["direction"] in KINDS:
        return TraceEvent(at, name, KINDS[event["direction"]], bytes.fromhex(event["hex"]), link)
    with suppress(ValueError):
        return TraceEvent(at, name, Kind(event["text"].split(":")[0]), b"", link)
    return None


def _is_plain(record: Record, events: Sequence[TraceEvent], datagrams: set[str]) -> bool:
    """Say whether a script that knows nothing but TCP can replay it: it was all written down, and not inside TLS."""
    cut = any("shown" in one["text"] or "left out" in one["text"] for one in record["exchange"])
    other = any(one.kind is Kind.SECURED or one.link in datagrams for one in events)
    return bool(record["role"] == "server" and events and not cut and not other)


def _script(run: ReadRun, record: Record, events: Sequence[TraceEvent]) -> str:
    shown = {
        "address": _address(str(run.summary.get("target") or "")),
        "namespace": str(run.summary.get("namespace") or ""),
        "events": [[one.at_us / 1000, one.connection, one.kind.value, one.data.hex()] for one in events],
    }
    spoken = f"{record['protocol']} {record['profile']} {record['variant']}"
    title = f"Record {record['record_id']}: {record['verdict']} {record['case']}, {spoken}"
    parts = {
        "title": re.sub(r"[^ -\[\]-~]", "?", title).replace('"', "'"),
        "record": "\n".join(_lines(shown)),
    }
    return re.sub(r"/\* (title|record) \*/", lambda found: parts[found[1]], TEMPLATE.read_text(encoding="utf-8"))


def _lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield JSON with one event a line."""
    head = {name: value for name, value in shown.items() if name != "events"}
    yield json.dumps(head)[:-1] + ', "events": ['
    events = [json.dumps(one) for one in shown["events"]]
    yield from (f"{one}," for one in events[:-1])
    yield from events[-1:]
    yield "]}"


def _address(target: str) -> list[object] | None:
    with suppress(TargetError):
        found = parse_address(target)
        return [found.host, found.port] if found.port else None
    return None
