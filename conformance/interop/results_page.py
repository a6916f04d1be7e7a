"""What pairs came to as records, one run for each client and each server; and as lines and a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from wireproof.conformance.interop.blamed_clauses import Clauses
from wireproof.conformance.interop.results import Side, StepResult
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.report.outputs import RunFolder
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.verdict.records import Record, Run, record

__all__ = ["Column", "PairingResult", "show", "write"]

ROLES = {Side.CLIENT: "client", Side.SERVER: "server"}
TURNED = {
    Kind.SENT: Kind.RECEIVED,
    Kind.RECEIVED: Kind.SENT,
    Kind.ENDED: Kind.CLOSED,
    Kind.HALF_CLOSED: Kind.ENDED,
    Kind.CLOSED: Kind.ENDED,
    Kind.RESET: Kind.CLOSED,
}
"""What happened, seen from a client: records see from the side that is not under test."""


@dataclass(slots=True)
class PairingResult:
    """One client with one server."""

    client: str
    server: str
    played: list[StepResult] = field(default_factory=list)
    note: str = ""
    """Why it was not played."""

    def guilty(self, side: Side) -> list[StepResult]:
        """Return the operations at which a side broke the protocol first."""
        return [one for one in self.played if one.broke and one.broke.side is side]

    @property
    def agreed(self) -> int:
        """Operations at which both sides agreed."""
        return sum(one.agreed for one in self.played)


@dataclass(slots=True)
class Column:
    """One client or server with all that it took part in."""

    side: Side
    name: str
    run: Run
    clauses: Clauses
    records: list[Record] = field(default_factory=list)

    def add(self, one: StepResult, peer: Column) -> None:
        """Take one operation with a peer; what that side broke first says nothing about this one."""
        if (self.side is Side.SERVER and one.unsupported) or (self.side is Side.CLIENT and one.step.link):
            return
        case = self._case(one, peer.name)
        made = record(self.run, self.clauses.suite, case, self._outcome(one), duration_us=one.took_us)
        of_peer = {"peer": peer.run.implementation, "peer_version": peer.run.implementation_version}
        self.records.append({**made, **of_peer})

    def _case(self, one: StepResult, peer: str) -> Case:
        known, profile = self.clauses, self.run.profile
        clauses = [one.clause or known.of_answer(one.request)]
        if self.side is Side.CLIENT:
            clauses = [known.of_request(one.request), known.of_report(one.request)]
        return Case(
            id=f"interop/{one.name}@{peer}",
            title=f"{one.request} on connection {one.step.connection}, with {peer}",
            topic="interop",
            clauses=tuple(dict.fromkeys(clauses)),
            level=None,
            profiles=(profile,),
            variants=(self.run.variant,),
            exclusive=False,
            fresh_server=False,
            slow=False,
            steps=(),
            variables={},
        )

    def _outcome(self, one: StepResult) -> Outcome:
        trace = one.trace if self.side is Side.SERVER else Trace(map(_turned, one.trace))
        if one.unsupported:
            return Outcome(Verdict.UNSUPPORTED, trace, Guilty.NOBODY, expected="the operation", got="unsupported")
        if one.untested:
            return Outcome(Verdict.UNTESTABLE, trace, Guilty.NOBODY, expected="to be played", got=one.untested)
        broke = one.broke
        if broke is None:
            return Outcome(Verdict.PASS, trace)
        if broke.side is self.side:
            clause, expected = broke.clause, broke.expected
            return Outcome(broke.verdict, trace, Guilty.TARGET, clause, None, broke.byte, expected, broke.got)
        got = f"the {broke.side} broke the protocol first: {broke.got}"
        if broke.side is Side.NOBODY:
            got = f"nobody's fault: {broke.got}"
        return Outcome(Verdict.UNTESTABLE, trace, Guilty.NOBODY, expected=broke.expected, got=got)


def _turned(event: TraceEvent) -> TraceEvent:
    return TraceEvent(event.at_us, event.connection, TURNED.get(event.kind, event.kind), event.data)


def write(folder: Path, columns: Sequence[Column], exit_code: int) -> None:
    """Write the run of each column below `folder`; raises `OutputError`."""
    for number, one in enumerate(columns, 1):
        with RunFolder(folder / f"{number:02}-{ROLES[one.side]}") as run:
            for each in one.records:
                run.add(each)
            run.finish(one.run.summary(one.records, exit_code))


def show(console: Console, results: Sequence[PairingResult]) -> None:
    """Print each operation that went wrong, then a line for each pair."""
    for pair in results:
        for one in pair.played:
            if one.broke is not None:
                _show_broke(console, pair, one)
    table = Table(box=None, header_style="bold")
    for title in ("client", "server"):
        table.add_column(title, overflow="fold")
    for title in ("operations", "agree", "client broke", "server broke", "nobody", "unsupported", "not played"):
        table.add_column(title, justify="right")
    for pair in results:
        table.add_row(*_row(pair))
    console.print(table)


def _row(pair: PairingResult) -> list[str]:
    if pair.note:
        return [escape(pair.client), escape(pair.server), escape(pair.note)]
    counts = [len(pair.played), pair.agreed, *(len(pair.guilty(side)) for side in Side)]
    counts += [sum(one.unsupported for one in pair.played), sum(bool(one.untested) for one in pair.played)]
    return [escape(pair.client), escape(pair.server), *(str(one) if one else "·" for one in counts)]


def _show_broke(console: Console, pair: PairingResult, one: StepResult) -> None:
    broke = one.broke
    assert broke is not None
    who = {Side.CLIENT: f"client {pair.client}", Side.SERVER: f"server {pair.server}", Side.NOBODY: "nobody"}
    where = f" [{broke.clause}]" if broke.clause else ""
    byte = f" at byte {broke.byte}" if broke.byte is not None else ""
    style = "magenta" if broke.side is Side.NOBODY else "red"
    head = f"{broke.side}{escape(where)}{byte}"
    console.print(
        f"[{style}]{head}[/]  {escape(one.name)}: {escape(pair.client)} with {escape(pair.server)}", soft_wrap=True
    )
    console.print(f"         first: {escape(who[broke.side])}", soft_wrap=True)
    console.print(f"         expected {escape(broke.expected)}", soft_wrap=True)
    console.print(f"         got      {escape(broke.got)}", soft_wrap=True)
