"""What stands beside finding.json for people: the exchange in words and as packets, a script that replays it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.model.wording import describe
from wireproof.fuzz.findings.capture import is_available, write_capture
from wireproof.fuzz.findings.finding import Finding
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.live.exchanges import BY_TARGET, Line, lines
from wireproof.fuzz.live.execution import PROBE
from wireproof.fuzz.live.token_substitution import place, told_in
from wireproof.fuzz.script import to_json
from wireproof.protocols import Request, Role
from wireproof.protocols.dissect import Dissection

__all__ = ["exchange", "write_evidence"]

TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"
SERVES_NOBODY = frozenset({"the process stays", "others are served"})
LONGEST = 400
"""Characters of one line of the exchange."""


def write_evidence(place: Path, finding: Finding, ground: Ground, trace: Iterable[TraceEvent]) -> None:
    """Write exchange.txt, replay.py and (with scapy) capture.pcapng into a finding's directory; raises `OSError`."""
    events = list(trace)
    text = "\n".join(line[:LONGEST] for line in exchange(events, ground))
    (place / "exchange.txt").write_text(f"{finding.oracle}: {finding.told}\n\n{text}\n", encoding="utf-8")
    found = lines(events, ground)
    came = {
        line.name: [len(line.received), str(line.ended) if line.ended in BY_TARGET else "open"]
        for line in found
        if line.name != PROBE
    }
    served = [len(line.received) for line in found if line.name == PROBE and line.due == 0]
    environment = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True)
    text = environment.get_template("replay.py.j2").render(
        finding=finding,
        script=json.dumps(to_json(finding.script), indent=1),
        came=json.dumps(came),
        probe=b"".join(map(ground.encode, ground.probe)).hex(),
        enough=max(1, *served[-1:]) if served else len(ground.probe),
        told=json.dumps(dict(_told(found, ground))),
        serves_nobody=finding.oracle in SERVES_NOBODY,
    )
    (place / "replay.py").write_text(text, encoding="utf-8")
    if is_available() and events:
        spoken = ground.symbols.protocol
        datagrams = {name for name, link in spoken.links.items() if link.transport == "datagram"}
        write_capture(place / "capture.pcapng", events, spoken.default_port, datagrams)


def _told(found: Iterable[Line], ground: Ground) -> Iterator[tuple[str, tuple[str, int, int]]]:
    """Yield what stands for bytes that were told, in hexadecimal, and where they lie in what a connection was sent."""
    for line in found:
        for message, _ in line.messages:
            for value in told_in(message, ground.echoed):
                at = line.received.find(value)
                yield place(line.name, len(value)).hex(), (line.name, at, at + len(value))


def exchange(events: Iterable[TraceEvent], ground: Ground) -> Iterator[str]:
    """Yield the events of a trace in words: messages where bytes are messages, hexadecimal beside them."""
    events = list(events)
    open_ones: dict[str, Dissection] = {}
    for event in events:
        when = f"{event.at_us / 1e6:9.4f} s  {event.connection or '-':8}"
        if event.kind is Kind.OPENED:
            open_ones[event.connection] = ground.dissection(event.link)
        if event.kind is Kind.SENT:
            requests, whole = _asked(event, ground, open_ones)
            told = [*map(describe, requests), *([] if whole else ["(what follows is no whole request)"])]
            yield f"{when} > {'; '.join(told)}  [{event.data.hex()}]"
        elif event.kind is Kind.RECEIVED:
            if event.connection in open_ones:
                open_ones[event.connection].feed(Role.SERVER, event.data)
            yield f"{when} < {len(event.data)} bytes  [{event.data.hex()}]"
        else:
            yield f"{when} {event.kind}{f' ({event.link})' if event.link else ''}"
    for line in lines(events, ground):
        for request, reply in line.answered:
            yield f"{line.name}: {describe(request)} -> {describe(reply)}"


def _asked(event: TraceEvent, ground: Ground, open_ones: Mapping[str, Dissection]) -> tuple[list[Request], bool]:
    """Return the requests of a write, and whether it is nothing else; by itself where requests stand by themselves."""
    if not ground.by_state or event.connection not in open_ones:
        return ground.requests(event.data)
    dissection = open_ones[event.connection]
    known = len(dissection.of_client.frames)
    dissection.feed(Role.CLIENT, event.data)
    return dissection.requests[known:], dissection.of_client.is_whole
