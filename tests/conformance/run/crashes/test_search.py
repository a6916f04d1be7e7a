"""Who ended the server is found by groups and halves, with few plays and restarts."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import chain
from random import Random

import pytest

from tests.conformance.run.supervised import most_starts
from tests.conformance.scripted import make_case
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.crashes.search import LATE, CrashSearch, Played, groups_of
from wireproof.conformance.suite.cases import Case

PASS = Outcome(Verdict.PASS, Trace())
CRASH = Outcome(Verdict.CRASH, Trace())
CASES = [make_case(id=f"made/{number}") for number in range(40)]


class FakeReplays:
    """A server that ends when `ends` says so of what was played on its process, and how long it was waited."""

    def __init__(self, ends: Callable[[set[str], float], bool], restarts: int = 100) -> None:
        self.gone = ""
        self.ends = ends
        self.restarts = 0
        self.plays = 0
        self._most = restarts
        self._process: set[str] = set()

    async def alone(self, case: Case, patience: float) -> tuple[Outcome, str | None]:
        died = self._play([case], patience)
        return (CRASH if died else PASS), died

    async def together(self, cases: Sequence[Case], patience: float) -> tuple[list[Played], str | None]:
        died = self._play(cases, patience)
        return [] if died else [(case, PASS, 0.0) for case in cases], died

    async def start_again(self, death: str) -> bool:
        self.restarts += 1
        self._process = set()
        self.gone = "died too often" if self.restarts > self._most else ""
        return not self.gone

    def _play(self, cases: Sequence[Case], patience: float) -> str | None:
        self.plays += len(cases)
        self._process |= {case.id for case in cases}
        return "died" if self.ends(self._process, patience) else None


def found(ends: Callable[[set[str], float], bool], restarts: int = 100) -> tuple[str | None, list[str], FakeReplays]:
    replays = FakeReplays(ends, restarts)
    search = CrashSearch(replays)
    guilty = asyncio.run(search.find(CASES))
    assert guilty is None or guilty[1].verdict is Verdict.CRASH
    return guilty and guilty[0].id, [case.id for case, _, _ in search.tried], replays


@pytest.mark.parametrize("guilty", [0, 1, 4, 5, 20, 21, 39])
def test_one_that_does_it_alone_is_found(guilty: int) -> None:
    case, tried, replays = found(lambda played, _: f"made/{guilty}" in played)

    assert case == f"made/{guilty}"
    assert case not in tried
    assert len(tried) == len(set(tried))
    assert replays.restarts <= 10
    assert replays.plays <= 2 * len(CASES)


@pytest.mark.parametrize("often", [0.1, 0.3, 0.5, 0.7])
def test_a_search_is_bounded_whenever_the_server_dies(often: float) -> None:
    chance = Random(7)
    taken = [found(lambda *_: chance.random() < often)[2].restarts for _ in range(200)]

    assert max(taken) > 5
    assert max(taken) < most_starts(len(CASES)), "the one after the case that was found is not the search's"


def test_the_likeliest_takes_one_play_and_no_restart() -> None:
    _, tried, replays = found(lambda played, _: "made/0" in played)

    assert (tried, replays.plays, replays.restarts) == ([], 1, 0)


def test_what_only_several_do_names_nobody_and_all_are_tried_once() -> None:
    case, tried, _ = found(lambda played, _: {"made/6", "made/20"} <= played)

    assert case is None
    assert sorted(tried) == sorted(f"made/{number}" for number in range(21))


def test_one_that_does_it_late_is_found_among_those_before() -> None:
    case, tried, _ = found(lambda played, patience: "made/3" in played and (patience >= LATE or "made/7" in played))

    assert case == "made/3"
    assert "made/7" in tried


def test_one_that_does_it_a_little_later_is_found_in_its_group() -> None:
    case, tried, _ = found(lambda played, patience: "made/3" in played and (patience >= LATE or len(played) > 3))

    assert case == "made/3"
    assert case not in tried[:1]


def test_the_only_suspect_is_found_that_ends_it_a_little_later() -> None:
    replays = FakeReplays(lambda _, patience: patience >= LATE)
    guilty = asyncio.run(CrashSearch(replays).find(CASES[:1]))

    assert guilty is not None
    assert (guilty[0].id, replays.plays, replays.restarts) == ("made/0", 1, 0)


def test_a_server_that_does_not_start_again_ends_the_search() -> None:
    case, _, replays = found(lambda played, _: len(played) > 1, restarts=0)

    assert case is None
    assert replays.restarts == 1


def test_groups_hold_every_case_once_in_order() -> None:
    groups = list(groups_of(CASES))

    assert [len(group) for group in groups] == [1, 4, 16, 19]
    assert list(chain(*groups)) == CASES
