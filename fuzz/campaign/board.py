"""Progress of a campaign: one row for each engine, drawn as a table or printed as a line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from rich.table import Table

from wireproof.conformance.model.wording import number_of

__all__ = ["Board", "EngineRow"]

COLUMNS = ("engine", "", "seconds", "executions", "exec/s", "coverage", "states", "corpus", "findings")


@dataclass
class EngineRow:
    """The progress of one engine."""

    engine: str
    share: int
    """Its seconds; 0 where executions are counted."""
    state: str = "waiting"
    seconds: float = 0.0
    executions: int = 0
    per_second: int = 0
    coverage: int = 0
    states: int = 0
    corpus: int = 0
    findings: int = 0

    def end(self) -> None:
        """Say that the engine is done, or that its time was over before it had begun."""
        self.state = "done" if self.executions else "done: too little time, nothing executed"

    def cells(self) -> tuple[str, ...]:
        """Return the cells of its table row."""
        numbers = (self.executions, self.per_second, self.coverage, self.states, self.corpus, self.findings)
        spent = f"{self.seconds:.0f}/{self.share}" if self.share else f"{self.seconds:.0f}"
        return self.engine, self.state, spent, *(str(one) if one else "-" for one in numbers)

    def line(self) -> str:
        """Return the row as a line of text."""
        if not self.executions and not self.state.startswith("done"):
            return f"{self.engine} {self.state}"
        text = f"{self.engine} {self.state}: {number_of(self.executions, 'execution')}, {self.per_second} a second"
        more = {"coverage": self.coverage, "states": self.states, "corpus": self.corpus, "findings": self.findings}
        return text + "".join(f", {name} {number}" for name, number in more.items() if number)


@dataclass
class Board:
    """The rows of all engines; `tick` is called with the changed row at most every `interval` seconds."""

    rows: list[EngineRow]
    tick: Callable[[Board, EngineRow], None]
    interval: float
    record: Callable[[EngineRow], None] = lambda row: None
    """Called with the row at every change."""
    _last: float = field(default_factory=time.monotonic)

    def entered(self, row: EngineRow, state: str) -> None:
        """Report at once what a row does now: some of it takes minutes without another word."""
        row.state, self._last = state, time.monotonic()
        self.tick(self, row)

    def changed(self, row: EngineRow) -> None:
        """Report that a row has changed."""
        self.record(row)
        now = time.monotonic()
        if now - self._last >= self.interval:
            self._last = now
            self.tick(self, row)

    def table(self) -> Table:
        """Return the table."""
        table = Table(*COLUMNS)
        for row in self.rows:
            table.add_row(*row.cells())
        return table

    @staticmethod
    def of(shares: Iterable[tuple[str, int]], tick: Callable[[Board, EngineRow], None], interval: float) -> Board:
        """Return a board for (engine, seconds) pairs."""
        return Board([EngineRow(engine, share) for engine, share in shares], tick, interval)
