"""What a case is worth that did not pass while others used the target."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run import quiet
from wireproof.conformance.run.bounds import Bounds
from wireproof.conformance.run.case_scheduler import CaseScheduler
from wireproof.conformance.run.crashes.supervision import SupervisedScheduler
from wireproof.conformance.run.quiet import AGAIN, ATTEMPT, OWN_RECORDS_END, QUIET_ENOUGH, SEEN, Quiet

FAIL, PASS = Outcome(Verdict.FAIL, Trace(), got="8"), Outcome(Verdict.PASS, Trace())


def settled(
    monkeypatch: pytest.MonkeyPatch,
    uses: Sequence[str],
    plays: Sequence[Outcome],
    *,
    empty: bool = False,
    since: float = 0,
) -> tuple[Verdict, int]:
    """Return the verdict, and how often the case was played again, `since` seconds after the run began.

    `uses` and `plays` go on with their last.
    """
    asked, played = iter(uses), iter(plays)
    again: list[int] = []

    async def use(*_: object) -> str:
        return next(asked, uses[-1])

    async def play(_: object, attempt: int) -> Outcome:
        again.append(attempt)
        return next(played, plays[-1])

    monkeypatch.setattr(quiet, "use_by_others", use)
    plan = Anything()
    plan.holds_records, plan.bounds = not empty, Bounds(began=time.monotonic() - since)
    one = Quiet(cast(Any, plan), cast(Any, Anything()))
    outcome = asyncio.run(one.settled(cast(Any, None), FAIL, 0.1, play))
    assert again == list(range(ATTEMPT, ATTEMPT + len(again))), "no two plays are one attempt"
    return outcome.verdict, len(again)


class Anything:
    """Has every attribute; each is like it."""

    holds_records: bool
    bounds: Bounds
    suite = SimpleNamespace(probe={"quiet": {}})

    def __getattr__(self, name: str) -> Anything:
        return Anything()


@pytest.mark.parametrize(
    ("uses", "plays", "verdict", "again"),
    [
        ([""], [PASS], Verdict.PASS, 1),
        ([""], [FAIL], Verdict.FAIL, SEEN - 1),
        (["keys from 9 to 8"], [PASS], Verdict.PASS, 1),
        (["keys from 9 to 8", ""], [FAIL], Verdict.FAIL, SEEN),
        (["keys from 9 to 8", "keys from 8 to 7", ""], [FAIL, PASS], Verdict.PASS, 2),
        (["7 requests"], [FAIL], Verdict.UNSUPPORTED, AGAIN),
    ],
)
def test_a_case_that_needs_a_quiet_target_is_played_until_it_is_quiet(
    monkeypatch: pytest.MonkeyPatch, uses: list[str], plays: list[Outcome], verdict: Verdict, again: int
) -> None:
    assert settled(monkeypatch, uses, plays) == (verdict, again)


def test_a_failure_on_a_target_that_held_nothing_is_believed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settled(monkeypatch, [""], [PASS], empty=True) == (Verdict.FAIL, 0)


@pytest.mark.parametrize(("plays", "verdict", "again"), [([PASS], Verdict.PASS, 1), ([FAIL], Verdict.FAIL, SEEN - 1)])
def test_where_no_request_shows_others_a_failure_must_be_seen_again(
    monkeypatch: pytest.MonkeyPatch, plays: list[Outcome], verdict: Verdict, again: int
) -> None:
    monkeypatch.setattr(Anything, "suite", SimpleNamespace(probe={}))

    assert settled(monkeypatch, [""], plays, empty=True) == (verdict, again)


def test_a_failure_late_in_a_run_is_not_believed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run over a slow line takes minutes, so that what its first cases stored ended within INFO's cases."""
    late = OWN_RECORDS_END + 1
    assert settled(monkeypatch, [""], [PASS], empty=True, since=late) == (Verdict.PASS, 1)
    assert settled(monkeypatch, [""], [FAIL], empty=True, since=late) == (Verdict.FAIL, SEEN - 1)


@pytest.mark.parametrize(
    ("use", "verdict", "first", "later"),
    [("7 requests", Verdict.UNSUPPORTED, AGAIN, 0), ("", Verdict.FAIL, QUIET_ENOUGH * (SEEN - 1), 0)],
)
def test_what_was_seen_often_is_not_waited_for_again(
    monkeypatch: pytest.MonkeyPatch, use: str, verdict: Verdict, first: int, later: int
) -> None:
    again: list[int] = []

    async def used(*_: object) -> str:
        return use

    async def play(_: object, attempt: int) -> Outcome:
        again.append(attempt)
        return FAIL

    async def main(times: int) -> None:
        for _ in range(times):
            assert (await one.settled(cast(Any, None), FAIL, 0.1, play)).verdict is verdict

    monkeypatch.setattr(quiet, "use_by_others", used)
    plan = Anything()
    plan.holds_records, plan.bounds = True, Bounds()
    one = Quiet(cast(Any, plan), cast(Any, Anything()))
    asyncio.run(main(1 if use else QUIET_ENOUGH))
    assert len(again) == first
    asyncio.run(main(2))
    assert len(again) == first + later


@pytest.mark.parametrize(("since", "verdict"), [(OWN_RECORDS_END + 1, Verdict.PASS), (0, Verdict.FAIL)])
def test_a_late_failure_on_a_server_that_wireproof_started_is_seen_again_too(
    monkeypatch: pytest.MonkeyPatch, since: float, verdict: Verdict
) -> None:
    """What earlier cases of the run stored ends within it, although nobody else uses the server."""
    reported: list[Verdict] = []

    async def use(*_: object) -> str:
        return ""

    async def retry(self: object, case: object, outcome: Outcome, began: float, *, alone: bool = False) -> None:
        reported.append(outcome.verdict)

    async def play(*_: object) -> Outcome:
        return PASS

    monkeypatch.setattr(quiet, "use_by_others", use)
    monkeypatch.setattr(CaseScheduler, "_retry", retry)
    monkeypatch.setattr(SupervisedScheduler, "play_again", play)
    plan, case = Anything(), Anything()
    plan.holds_records, plan.bounds = False, Bounds(began=time.monotonic() - since)
    one = SupervisedScheduler.__new__(SupervisedScheduler)
    one.quiet, one.gone = Quiet(cast(Any, plan), cast(Any, Anything())), ""
    asyncio.run(one._retry(cast(Any, case), FAIL, 0.0))

    assert reported == [verdict]
