"""The files beside finding.json for people: the exchange as text and as packets, and a script that replays it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from wireproof.conformance.model.actions import Open
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.model.wording import describe
from wireproof.conformance.report.capture import is_available, write_capture
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.exchanges import BY_TARGET, PlayedConnection, lines
from wireproof.fuzz.live.execution import PROBE, PROBES
from wireproof.fuzz.live.token_substitution import placeholder, tokens_in
from wireproof.fuzz.script import Restart, to_json
from wireproof.protocols import Request, Role
from wireproof.protocols.dissect import Dissection

__all__ = ["exchange", "write_evidence"]

TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"
SERVES_NOBODY = frozenset({"the process stays", "others are served"})
"""Oracles whose failure means that the server no longer serves."""
LONGEST, MOST_WORDS = 400, 60
"""Most characters of one line of the exchange, and most lines of what the process printed."""


def write_evidence(
    folder: Path, finding: FuzzFinding, context: FuzzContext, trace: Iterable[TraceEvent], words: Sequence[str] = ()
) -> None:
    """Write exchange.txt, replay.py and (with scapy) capture.pcapng into the folder of a finding. Raises `OSError`.

    `words` are the last lines that the target's process printed.
    """
    events = list(trace)
    _write_exchange(folder / "exchange.txt", finding, [*exchange(events, context)], words)
    found = lines(events, context)
    came = {
        line.name: [len(line.received), str(line.ended) if line.ended in BY_TARGET else "open"]
        for line in found
        if line.name not in PROBES
    }
    served = [len(line.received) for line in found if line.name == PROBE and line.due == 0]
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True)
    text = environment.get_template("replay.py.j2").render(
        finding=finding,
        listeners=sorted({step.listener for step in finding.script if isinstance(step, Open)} - {""}),
        restarts=any(isinstance(step, Restart) for step in finding.script),
        script=json.dumps(to_json(finding.script), indent=1),
        came=json.dumps(came),
        probe=b"".join(map(context.encode, context.probe)).hex(),
        enough=max(1, *served[-1:]) if served else len(context.probe),
        tokens=json.dumps(dict(_token_spans(found, context))),
        serves_nobody=finding.oracle in SERVES_NOBODY,
    )
    (folder / "replay.py").write_text(text, encoding="utf-8")
    if is_available() and events:
        spoken = context.symbols.protocol
        datagrams = {name for name, link in spoken.links.items() if link.transport == "datagram"}
        write_capture(folder / "capture.pcapng", events, spoken.default_port, datagrams)


def _write_exchange(file: Path, finding: FuzzFinding, found: Sequence[str], words: Sequence[str]) -> None:
    """Write what was found, the exchange, and the last words of the process."""
    printed = ["", "The process printed last:", *words[-MOST_WORDS:]] if words else []
    head = [f"{finding.oracle}: {finding.detail}", f"{finding.clause or 'no clause'}, {finding.label}", ""]
    lines_of_it = (line[:LONGEST] for line in (*head, *found, *printed))
    file.write_text("\n".join(lines_of_it) + "\n", encoding="utf-8")


def _token_spans(found: Iterable[PlayedConnection], context: FuzzContext) -> Iterator[tuple[str, tuple[str, int, int]]]:
    """Yield (placeholder in hexadecimal, (connection, start, end in the received bytes)) for each token."""
    for line in found:
        for message, _ in line.messages:
            for value in tokens_in(message, context.token_fields):
                at = line.received.find(value)
                yield placeholder(line.name, len(value)).hex(), (line.name, at, at + len(value))


def exchange(events: Iterable[TraceEvent], context: FuzzContext) -> Iterator[str]:
    """Yield the events of a trace as lines of text: decoded messages with their bytes in hexadecimal."""
    events = list(events)
    open_ones: dict[str, Dissection] = {}
    for event in events:
        when = f"{event.at_us / 1e6:9.4f} s  {event.connection or '-':8}"
        if event.kind is Kind.OPENED:
            open_ones[event.connection] = context.dissection(event.link)
        if event.kind is Kind.SENT:
            requests, whole = _asked(event, context, open_ones)
            parts = [*map(describe, requests), *([] if whole else ["(the rest is no whole request)"])]
            yield f"{when} > {'; '.join(parts)}  [{event.data.hex()}]"
        elif event.kind is Kind.RECEIVED:
            if event.connection in open_ones:
                open_ones[event.connection].feed(Role.SERVER, event.data)
            yield f"{when} < {len(event.data)} bytes  [{event.data.hex()}]"
        else:
            yield f"{when} {event.kind}{f' ({event.link})' if event.link else ''}"
    for line in lines(events, context):
        for request, reply in line.answered:
            yield f"{line.name}: {describe(request)} -> {describe(reply)}"


def _asked(event: TraceEvent, context: FuzzContext, open_ones: Mapping[str, Dissection]) -> tuple[list[Request], bool]:
    """Return the requests of a write, and whether it is nothing else; by itself where requests stand by themselves."""
    if not context.by_state or event.connection not in open_ones:
        return context.requests(event.data)
    dissection = open_ones[event.connection]
    known = len(dissection.of_client.frames)
    dissection.feed(Role.CLIENT, event.data)
    return dissection.requests[known:], dissection.of_client.is_whole
