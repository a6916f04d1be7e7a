"""A server that works and is given little CPU is slow, and not one that answers nobody any more."""

import asyncio
from types import SimpleNamespace

import pytest

from tests.conformance.run.supervised import SUITE, FakeDriver, FakeServer
from wireproof.conformance.run.case_scheduler import CaseScheduler
from wireproof.conformance.run.crashes import watching
from wireproof.conformance.run.crashes.evidence import CrashEvidence
from wireproof.conformance.run.crashes.supervision import SupervisedScheduler
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.processes import Usage
from wireproof.conformance.verdict.records import Run


@pytest.mark.parametrize(("share", "asked"), [(0.0, 1), (0.3, 3), (1.0, 1)])
def test_one_that_works_and_has_little_cpu_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, share: float, asked: int
) -> None:
    server, questions, clock = FakeServer(), list[float | None](), [0.0]

    async def serves(self: CaseScheduler, timeout: float | None = None) -> bool:
        clock[0] += 5.0
        questions.append(timeout)
        return False

    async def take_hang(self: CrashEvidence, used: float, seconds: float) -> None:
        pass

    monkeypatch.setattr(CaseScheduler, "serves", serves)
    monkeypatch.setattr(CrashEvidence, "take_hang", take_hang)
    monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(server, "usage", lambda: Usage(0, 0, share * clock[0]))
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, [], Settings(timeout=5.0))
    driver = FakeDriver(server, 4, lambda _, case: False)
    scheduler = SupervisedScheduler(plan, driver, lambda record: None, server, 9)  # type: ignore[arg-type]

    assert asyncio.run(scheduler.serves()) is False
    assert len(questions) == asked
