"""What is played again is known again."""

from __future__ import annotations

from typing import cast

import pytest

from tests.fuzz.live.test_known_deaths import CONTEXT, script
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.live import live_reproduction
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.known_deaths import KnownDeaths
from wireproof.fuzz.live.observation import Suspicion
from wireproof.protocols.throttr.requests import Query


class Dying:
    """A target whose plays all end in the same death."""

    serves = True

    def play(self, script: object, **options: object) -> Dying:
        return self

    def begin(self) -> None:
        pass


@pytest.mark.parametrize("how", [{}, {"is_reduced": False}, {"is_shown": False}])
def test_a_death_without_words_is_known_again_though_it_was_not_reduced_to_its_end(
    how: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    death = Suspicion("the process stays", "the server died of SIGSEGV", "died of SIGSEGV", is_wordless=True)
    asked = script(Query(b"x"), Query(b"y"))
    told = KnownDeaths(CONTEXT).distinguished(death, asked, **how)
    where = CONTEXT.name, CONTEXT.profile, CONTEXT.variant
    found = FuzzFinding("server", told.oracle, told.detail, told.shape, *where, script=asked)
    monkeypatch.setattr(live_reproduction, "judged", lambda play: [death])

    assert live_reproduction.shown(cast(LiveTarget, Dying()), found) == "the server died of SIGSEGV"
