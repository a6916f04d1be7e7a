"""Whenever the server dies, and whatever is put off: each case of a run has its record."""

import asyncio

import pytest

from tests.conformance.run.supervised import STAYS_UP, FakeDriver, FakeServer, crashes, others, run, some
from wireproof.conformance.run.crashes import supervision
from wireproof.conformance.run.crashes.supervision import SupervisedScheduler
from wireproof.conformance.suite.cases import Case

pytestmark = pytest.mark.usefixtures("no_waits")


def test_a_death_that_nobody_has_noticed_as_the_last_cases_end_loses_none_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervision, "TICK", 10.0)
    server, died = FakeServer(), list[str]()

    def die() -> None:
        server.lives = False
        died.append("once")

    def ends(driver: FakeDriver, case: str) -> bool:
        if case == "made/7" and not died:
            asyncio.get_running_loop().call_later(0.1, die)
        return False

    records, _ = run(some(8), ends, server=server)

    assert len(records) == 9
    assert crashes(records) == {STAYS_UP.id}
    assert others(records) == {"pass"}


def test_what_is_put_off_and_forgotten_is_told_as_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = SupervisedScheduler.play_concurrently

    async def forgetful(self: SupervisedScheduler, cases: list[Case], attempt: int = 0) -> None:
        await usual(self, [case for case in cases if case.id != "made/3"], attempt)

    monkeypatch.setattr(SupervisedScheduler, "play_concurrently", forgetful)
    records, _ = run(some(8), lambda *_: False)

    assert len(records) == 9
    assert (records["made/3"]["verdict"], records["made/3"]["got"]) == ("untestable", "it was put off")
