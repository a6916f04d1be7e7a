"""A target that goes away is asked again for some seconds, by one case for all, and everybody waits for it."""

from __future__ import annotations

import asyncio
import time

import pytest

from wireproof.conformance.run import availability
from wireproof.conformance.run.availability import Availability


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "PAUSE", 0.0)


class Target:
    """A target that serves from the given question on; None: never."""

    def __init__(self, serves_at: int | None) -> None:
        self.asked = 0
        self._serves_at = serves_at

    async def serves(self) -> bool:
        self.asked += 1
        await asyncio.sleep(0)
        return self._serves_at is not None and self.asked >= self._serves_at


def asked(target: Target, cases: int) -> tuple[list[bool], list[str], Availability]:
    reported: list[str] = []

    async def main() -> tuple[list[bool], Availability]:
        found = Availability(target.serves, reported.append)
        answers = await asyncio.gather(*(found.is_there(f"made/{number}") for number in range(cases)), found.wait())
        return [one for one in answers if one is not None], found

    answers, found = asyncio.run(main())
    return answers, reported, found


def test_nothing_is_reported_of_a_target_that_serves() -> None:
    target, began = Target(1), time.monotonic()
    answers, reported, found = asked(target, 3)

    assert (answers, reported, target.asked) == ([True, True, True], [], 1)
    assert not found.was_away_since(began)


def test_one_case_asks_for_all_until_it_is_back() -> None:
    target, began = Target(4), time.monotonic()
    answers, reported, found = asked(target, 5)

    assert answers == [True] * 5
    assert target.asked == 4
    assert [one.partition(":")[0].partition(" since")[0] for one in reported] == [
        "the target serves nobody",
        reported[1].partition(":")[0],
    ]
    assert reported[1].startswith("the target is back after ")
    assert found.was_away_since(began)
    assert not found.was_away_since(time.monotonic())


def test_a_target_that_does_not_come_back_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "ASKED_FOR", 0.01)
    answers, reported, _ = asked(Target(None), 2)

    assert answers == [False, False]
    assert len(reported) == 1


def test_one_that_is_known_to_have_ended_is_not_asked_again() -> None:
    target = Target(None)
    found = Availability(target.serves, lambda _: None, death=lambda: "it ended" if target.asked == 2 else None)

    assert not asyncio.run(found.is_there("made/1"))
    assert target.asked == 2
