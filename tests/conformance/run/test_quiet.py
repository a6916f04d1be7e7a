"""What a case is worth that did not pass while others used the target."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run import quiet
from wireproof.conformance.run.quiet import AGAIN, Quiet

FAIL, PASS = Outcome(Verdict.FAIL, Trace(), got="8"), Outcome(Verdict.PASS, Trace())


def settled(monkeypatch: pytest.MonkeyPatch, uses: Sequence[str], plays: Sequence[Outcome]) -> tuple[Verdict, int]:
    """Return the verdict, and how often the case was played again; `uses` and `plays` go on with their last."""
    asked, played = iter(uses), iter(plays)
    again: list[Outcome] = []

    async def use(*_: object) -> str:
        return next(asked, uses[-1])

    async def play(_: object) -> Outcome:
        again.append(next(played, plays[-1]))
        return again[-1]

    monkeypatch.setattr(quiet, "use_by_others", use)
    outcome = asyncio.run(Quiet(cast(Any, Anything()), cast(Any, Anything())).settled(cast(Any, None), FAIL, play))
    return outcome.verdict, len(again)


class Anything:
    """Has every attribute; each is like it."""

    def __getattr__(self, name: str) -> Anything:
        return Anything()


@pytest.mark.parametrize(
    ("uses", "plays", "verdict", "again"),
    [
        ([""], [PASS], Verdict.FAIL, 0),
        (["keys from 9 to 8"], [PASS], Verdict.PASS, 1),
        (["keys from 9 to 8", ""], [FAIL], Verdict.FAIL, 1),
        (["keys from 9 to 8", "keys from 8 to 7", ""], [FAIL, PASS], Verdict.PASS, 2),
        (["7 requests"], [FAIL], Verdict.UNSUPPORTED, AGAIN),
    ],
)
def test_a_case_that_needs_a_quiet_target_is_played_until_it_is_quiet(
    monkeypatch: pytest.MonkeyPatch, uses: list[str], plays: list[Outcome], verdict: Verdict, again: int
) -> None:
    assert settled(monkeypatch, uses, plays) == (verdict, again)


def test_a_target_that_is_used_all_the_time_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[int] = []

    async def use(*_: object) -> str:
        return "7 requests"

    async def play(_: object) -> Outcome:
        again.append(1)
        return FAIL

    async def main() -> None:
        one = Quiet(cast(Any, Anything()), cast(Any, Anything()))
        for _ in range(3):
            assert (await one.settled(cast(Any, None), FAIL, play)).verdict is Verdict.UNSUPPORTED

    monkeypatch.setattr(quiet, "use_by_others", use)
    asyncio.run(main())

    assert len(again) == AGAIN
