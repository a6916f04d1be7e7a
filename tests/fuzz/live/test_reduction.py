"""Attribution: the shortest prefix that reproduces a failure, then as few steps and bytes as possible; flaky ones are
marked.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from wireproof.conformance.model.actions import Open, Read, Shut, Write
from wireproof.conformance.model.trace import Trace
from wireproof.fuzz.live import reduction
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.observation import Play, Suspicion
from wireproof.fuzz.live.oracles import death
from wireproof.fuzz.live.reduction import Attribution, joined, without_last_closes
from wireproof.fuzz.script import Script, size

CONTEXT = FuzzContext("throttr", "7.1.0", "uint16")
HANG = Suspicion("others are served", "no new connection is taken", "no connection", is_wordless=True)
DEATH = Suspicion("the process stays", "the server died", "died")


class Fragile:
    """Dies once it was sent `armed` and later, or in the same script, `fatal`; every time but each `spared`-th."""

    context = CONTEXT

    def __init__(self, armed: bytes, fatal: bytes, spared: int = 0) -> None:
        self.armed, self.fatal, self.spared = armed, fatal, spared
        self.sent = b""
        self.deaths = self.starts = 0

    def restart(self, why: str) -> bool:
        self.sent = b""
        self.starts += 1
        return True

    def ended_late(self, play: Play) -> Play:
        return play

    def play(self, script: Script, **how: Any) -> Play:
        self.sent += b"".join(step.data for step in script if isinstance(step, Write))
        at = self.sent.find(self.armed)
        dead = at >= 0 and self.fatal in self.sent[at:]
        self.deaths += dead
        if dead and self.spared and self.deaths % self.spared == 0:
            dead = False
        return Play(script, Trace(), CONTEXT, 1.0, "died" if dead else None)


def writing(*data: bytes) -> Script:
    return (Open("a"), *(step for one in data for step in (Write("a", one), Read("a", 0.1))))


def test_what_one_script_shows_is_made_small() -> None:
    live: Any = Fragile(b"A", b"Z")
    recent = [writing(b"x"), writing(b"ab", b"12A45", b"cc", b"9Z")]

    found = Attribution(live, DEATH, seconds=60).of(recent)

    assert found.script == (Write("a", b"A"), Write("a", b"Z"))
    assert (found.seen, found.of) == (3, 3)
    assert found.suspicion == death(live.play(found.script))


def test_what_needs_an_earlier_script_is_one_script_of_both() -> None:
    live: Any = Fragile(b"A", b"Z")
    recent = [writing(b"1"), writing(b"xAx"), writing(b"2"), writing(b"3"), writing(b"Z")]

    found = Attribution(live, DEATH, seconds=60).of(recent)

    assert found.seen == 3
    assert [step for step in found.script if isinstance(step, Write)] == [Write("0.a", b"A"), Write("1.a", b"Z")]


def test_what_never_shows_again_and_what_sometimes_does_are_reported() -> None:
    never: Any = Fragile(b"A", b"Z")
    sometimes: Any = Fragile(b"A", b"Z", spared=2)

    gone = Attribution(never, DEATH, seconds=60).of([writing(b"nothing")])
    flaky = Attribution(sometimes, DEATH, seconds=60).of([writing(b"AZ")])

    assert (gone.seen, gone.of, gone.play) == (0, 3, None)
    assert 0 < flaky.seen < flaky.of


class ServedPlay(Play):
    """A play after which others are served."""

    @property
    def serves(self) -> bool:
        return True


class Stuck(Fragile):
    """Hangs where another dies, or has less than `needs` seconds; other plays take `answers`, by a clock of its own.

    Notes its waits.
    """

    def __init__(self, answers: float, needs: float = 0.0) -> None:
        super().__init__(b"A", b"Z")
        self.answers, self.needs = answers, needs
        self.now = 0.0
        self.waits: list[float] = []

    def play(self, script: Script, *, patience: float = 1.0, **how: Any) -> Play:
        self.sent = b""
        hangs = super().play(script).death is not None or patience < self.needs
        if not hangs:
            self.now += self.answers
        self.waits.append(patience)
        return (Play if hangs else ServedPlay)(script, Trace(), CONTEXT, patience)


def long_script() -> Script:
    filling = [b"%d" % number for number in range(40)]
    return writing(*filling, b"A", *filling, b"Z", *filling)


def timed_by(live: Stuck, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return `live`, by whose clock an attribution takes its times: a busy machine changes none of them."""
    monkeypatch.setattr(reduction, "time", SimpleNamespace(monotonic=lambda: live.now))
    return live


def test_a_hang_of_a_fast_target_is_reduced_without_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    live = timed_by(Stuck(0.001), monkeypatch)

    found = Attribution(live, HANG, seconds=60).of([long_script()])

    assert (found.script, found.seen) == ((Write("a", b"A"), Write("a", b"Z")), 3)
    assert live.waits.count(0.1) > len(live.waits) / 2


def test_a_hang_that_brief_tries_only_seem_to_show_is_reduced_with_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    live = timed_by(Stuck(0.001, needs=0.3), monkeypatch)

    found = Attribution(live, HANG, seconds=60).of([long_script()])

    assert (found.script, found.seen) == ((Write("a", b"A"), Write("a", b"Z")), 3)


def test_no_time_left_means_no_shrinking() -> None:
    live: Any = Fragile(b"A", b"Z")
    script = writing(b"1234AZ5678")

    found = Attribution(live, DEATH, seconds=0).of([script])

    assert found.script == script
    assert (found.seen, live.starts <= 6) == (3, True)


def test_joined_scripts_end_their_own_connections() -> None:
    both = joined([writing(b"1"), writing(b"2")])

    assert [getattr(step, "connection", "") for step in both] == ["0.a"] * 4 + ["1.a"] * 4
    assert size(both) == 2


def test_last_closes_are_left_out_where_the_failure_stays() -> None:
    live: Any = Fragile(b"A", b"Z")

    found = Attribution(live, DEATH, seconds=0).of([(*writing(b"AZ"), Shut("a", "close"))])

    assert found.script == writing(b"AZ")


def test_a_failure_that_the_last_close_hides_is_reproduced_without_it() -> None:
    class Resetting(Fragile):
        def play(self, script: Script, **how: Any) -> Play:
            return super().play(() if isinstance(script[-1], Shut) else script, **how)

    live: Any = Resetting(b"A", b"Z")

    found = Attribution(live, DEATH, seconds=0).of([(*writing(b"AZ"), Shut("a", "close"))])

    assert (found.script, found.seen) == (writing(b"AZ"), 3)


def test_a_close_before_another_open_is_kept_like_a_half_close() -> None:
    script = (*writing(b"1"), Shut("a", "reset"), *writing(b"2"), Shut("a", "half"), Shut("a", "close"))

    assert without_last_closes(script) == script[:-1]
