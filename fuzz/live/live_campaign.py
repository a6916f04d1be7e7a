"""A campaign against one server: mutate, play, judge, keep what shows something new, attribute what is wrong."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

from wireproof.fuzz.live.attribution import Attributed, Attribution
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.mutators import mutated
from wireproof.fuzz.live.novelty import SeenShapes
from wireproof.fuzz.live.observation import Play, Suspicion
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.script import Script

__all__ = ["Campaign", "CampaignFinding", "CampaignLimits", "CampaignProgress"]

PATIENCE = 1.0
"""Seconds to wait for an answer before there is a suspicion."""
WINDOW = 64
"""Scripts that are remembered for what only several of them show."""
SAMPLE = 32
"""Plays between two at which the process is measured."""
REST = 256
"""Plays after which a server of our own starts again, with nothing in it."""
SEEDS = 300
UNCHANGED = 0.2
"""Share of plays of a seed as it is."""
MOST_SUSPICIONS = 5
"""Times that one suspicion is looked into when it never shows again."""


@dataclass(frozen=True)
class CampaignLimits:
    """When a campaign ends, and how fast it may be."""

    seconds: float = 0
    runs: int = 0
    rate: float = 0
    """Plays a second; 0 for as many as there can be."""
    findings: int = 20
    restarts: int = 200
    """Starts after a death; those that a suspicion is looked into with do not count."""
    shrink_s: float = 20.0


@dataclass
class CampaignProgress:
    """What a campaign did so far."""

    executions: int = 0
    states: int = 0
    pool: int = 0
    findings: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def per_second(self) -> float:
        """Plays a second, restarts and shrinking included."""
        return self.executions / max(time.monotonic() - self.began, 1e-9)

    def __str__(self) -> str:
        counts = f"{self.executions} executions, {self.per_second:.0f} a second, {self.states} states"
        return f"{counts}, {self.pool} scripts, {self.findings} findings"


@dataclass(frozen=True)
class CampaignFinding:
    """One thing that was found, and after how many executions."""

    what: Attributed
    executions: int


class Campaign:
    """One campaign; `run` yields what it finds, as it finds it. Raises `StartError` when the server starts no more."""

    def __init__(
        self,
        live: LiveTarget,
        *,
        seed: int,
        limits: CampaignLimits,
        report: Callable[[CampaignProgress], None] = lambda _: None,
    ) -> None:
        self._live = live
        self._context: FuzzContext = live.context
        self._limits = limits
        self._report = report
        self._random = Random(f"wireproof fuzz {seed}")
        self._seeds = list(self._context.seeds())
        self._random.shuffle(self._seeds)
        self._context.others[:] = self._seeds[:SEEDS]
        self._seen = SeenShapes()
        self._novel: list[Script] = []
        self._first: deque[Script] = deque()
        self._recent: deque[Script] = deque(maxlen=WINDOW)
        self._known: dict[tuple[str, str, str], int] = {}
        self.progress = CampaignProgress()
        self.stopped = ""
        """Why it ended before its time."""

    @property
    def novel(self) -> list[Script]:
        """The scripts that showed something new, those it began with included."""
        return list(self._novel)

    def begin_with(self, scripts: Iterable[Script]) -> None:
        """Play these first, as they are; they belong to the pool if they show anything."""
        self._first.extend(scripts)

    def run(self) -> Iterator[CampaignFinding]:
        """Fuzz until a bound is reached."""
        self._live.begin()
        while self._may_continue():
            play = self._next()
            for suspicion in judged(play):
                if (found := self._look_into(suspicion)) is not None:
                    yield found
            self._restart_if_needed(play)
            self._report_progress()

    def _may_continue(self) -> bool:
        limits, done = self._limits, self.progress
        spent = time.monotonic() - done.began
        if self._live.restarts > limits.restarts:
            self.stopped = f"the server was started {self._live.restarts} times again"
        if done.findings >= limits.findings:
            self.stopped = f"{done.findings} findings are enough"
        over = bool(limits.runs and done.executions >= limits.runs) or bool(limits.seconds and spent >= limits.seconds)
        return not (self.stopped or over)

    def _next(self) -> Play:
        """Play the next script and note what it showed."""
        if self._limits.rate:
            due = self.progress.began + self.progress.executions / self._limits.rate
            time.sleep(max(0.0, due - time.monotonic()))
        script, number = self._script(), self.progress.executions + 1
        self._recent.append(script)
        play = self._live.play(with_fresh_canaries(script), patience=PATIENCE, sample=number % SAMPLE == 0)
        if self._seen.is_new(play.lines):
            self._novel.append(script)
            self._context.others.append(script)
        self.progress.executions = number
        return play

    def _script(self) -> Script:
        if self._first:
            return self._first.popleft()
        seed = self._seeds[self.progress.executions % len(self._seeds)]
        if self._random.random() < UNCHANGED:
            return seed
        pool = self._novel if self._novel and self._random.random() < 0.5 else self._context.others
        return mutated(self._random, self._random.choice(pool), self._context)

    def _look_into(self, suspicion: Suspicion) -> CampaignFinding | None:
        """Return what a suspicion turned out to be; None for one that is known, or that never shows again."""
        times = self._known.get(suspicion.key, 0)
        if times >= MOST_SUSPICIONS or (suspicion.oracle == "others are served" and self._was_slow()):
            return None
        restarts = self._live.restarts
        what = Attribution(self._live, suspicion, seconds=self._limits.shrink_s).of(list(self._recent))
        self._live.restarts = restarts
        believed = what.seen > 0 or suspicion.oracle == "the process stays"
        self._known[suspicion.key] = MOST_SUSPICIONS if believed else times + 1
        self._restart("after a suspicion")
        if not believed:
            return None
        self.progress.findings += 1
        return CampaignFinding(what, self.progress.executions)

    def _restart_if_needed(self, play: Play) -> None:
        if play.death is not None and self._recent:
            self._restart(f"it {play.death}")
        elif not play.serves:
            if not self._restart("it served nobody") and not self._is_served():
                self.stopped = "the server serves nobody any more, and it is not ours to start again"
        elif self.progress.executions % REST == 0:
            self._restart("with nothing in it")
            self._live.restarts -= self._live.server is not None

    def _was_slow(self) -> bool:
        """Say whether others are served after all beside the script that was played last, given more time."""
        return self._live.play(with_fresh_canaries(self._recent[-1]), patience=5 * PATIENCE).serves

    def _is_served(self) -> bool:
        return self._live.play((), patience=5 * PATIENCE).serves

    def _restart(self, why: str) -> bool:
        done = self._live.restart(why)
        if done:
            self._recent.clear()
        return done

    def _report_progress(self) -> None:
        self.progress.states, self.progress.pool = len(self._seen), len(self._context.others)
        self._report(self.progress)
