"""Runs of engines whose outcome a test chooses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wireproof.fuzz.planted.engine_runs import EngineRun, EngineRuns, PlantedEngine, RunStatus
from wireproof.fuzz.planted.workbench import Workbench


def with_outcomes(monkeypatch: pytest.MonkeyPatch, statuses: Iterator[RunStatus]) -> None:
    def run(self: EngineRuns, engine: PlantedEngine) -> EngineRun:
        return EngineRun(engine, next(statuses), 5, 1.0, "an oracle: a|detail")

    monkeypatch.setattr(EngineRuns, "run", run)
    monkeypatch.setattr(Workbench, "makes_servers", lambda self, protocols: True)
