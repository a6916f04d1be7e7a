"""A fuzzing campaign against one server: mutate, play, judge, keep scripts with new behaviour, attribute failures."""

# How scripts are drawn. Seeds are valid conversations of the vectors, shuffled by the campaign's seed. 20 % of the
# plays are a seed as it is: they keep the server in ordinary states and notice damage that earlier plays left. The
# others mutate a script of the pool 1 to 4 times (`mutators`). Half of them start from a script that showed something
# new, the rest from the whole pool, so that new behaviour is explored without starving the rest.
#
# Heavy scripts. Some scripts take the time of a hundred others: many requests, many connections, waits. They are drawn
# as long as they take no more than a share of the time that all scripts are foreseen to take (`weight.py`).
#
# What is kept. A foreign server mostly has no coverage, so its replies stand in for it: `novelty.shapes` describes
# each step as (previous reply, request, reply) and each connection's end. A script that shows an unseen shape joins
# the pool, both as a start for mutation and as material for splicing. Values are no part of a shape, or every play
# would be new.
#
# Where the target is instrumented (`fuzz/edges/`), a script that takes a new edge joins the pool, too, and 40 % of the
# plays mutate such a script, that whose edge was taken least first (`covering.py`). A branch behind several conditions
# is reached one condition at a time, though the replies stay the same.
#
# What counts as a failure. Oracles judge each play; a report is only a suspicion, because timing and earlier plays
# may cause it. Attribution replays the last 1, 8, then 64 scripts on a new process, reduces what reproduces it, and
# replays the result three times. Unreproduced suspicions are dropped, except a death: a process that ended is a fact.
# A suspicion with the same oracle and shape is looked into at most five times: one flaky symptom takes little time.
#
# Why restarts. Leaks and stale state accumulate, so a server that we started is restarted after each suspicion and
# every 256 plays, as long as that takes little of the time; that bounds how many scripts attribution has to consider.
# These, and those after a known death, do not count towards `CampaignLimits.restarts`: a server that keeps dying.

from __future__ import annotations

import ctypes
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from random import Random

from wireproof.conformance.model.wording import number_of
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.live.campaign_progress import CampaignLimits, CampaignProgress
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.covering import CoveringScripts
from wireproof.fuzz.live.deliberate import carry, deliberate, enlarge, go_inside_tls
from wireproof.fuzz.live.drawn_kinds import DrawnKinds
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.generation import ScriptGenerator
from wireproof.fuzz.live.known_deaths import STEERED_AROUND, KnownDeaths, stuck_shapes
from wireproof.fuzz.live.mutators import lie_in_a_field, mutated_by, pipelined, touched_up
from wireproof.fuzz.live.novelty import SeenShapes
from wireproof.fuzz.live.observation import Play, Suspicion
from wireproof.fuzz.live.one_at_a_time import has_several, in_turn
from wireproof.fuzz.live.oracles import SERVED, SERVED_ON, STAYS, judged
from wireproof.fuzz.live.own_names import use_own_names
from wireproof.fuzz.live.reduction import Attributed, Attribution
from wireproof.fuzz.live.weight import HEAVY, Allowance, Weights, weight
from wireproof.fuzz.script import Script

__all__ = ["Campaign", "CampaignFinding", "CampaignLimits", "CampaignProgress"]

PATIENCE = 1.0
"""Seconds to wait for a reply before there is a suspicion."""
WINDOW = 64
"""Scripts that are remembered for suspicions that need several of them."""
SAMPLE = 32
"""The idle process is measured after so many plays, as long as that takes no more than `SAMPLING` of the time."""
SAMPLING, RESTARTING = 0.02, 0.03
"""Shares of the time: for measurements of the idle process, and for restarts that empty the server."""
FIRST_SAMPLES, FIRST_ATTRIBUTIONS = 1.0, 10.0
"""Seconds of measurements of the idle process, and of attributions, that need not be earned: a short run has some."""
REST = 256
"""Plays after which a server that we started is restarted, as long as that takes no more than `RESTARTING`."""
LARGE = 1 << 20
"""Bytes from a server in one play after which it is restarted, too: it holds much, and its tables are decoded."""
SEEDS = 300
DRAWS, MEETING = 16, 0.03
"""How often a script is drawn again that would meet a known death, and the share of these that are played."""
MOST_SHRINKING = 0.1
"""Most of the time of a run that one reduction takes."""
ATTRIBUTING, BRIEF = 0.3, 1.0  # share of the time of all attributions, and seconds of a reduction beyond that
PIPELINED = 0.4
"""Share of plays that send their requests without waiting for replies, where no request depends on a reply."""
COVERING = 0.5
"""Share of mutations that start from a script that took new edges, where the target is instrumented."""
SMALL_CHANGES = 0.5
"""Share of these in which only a few bytes are changed, once, unless each field is tried in turn."""
INSIDE_TLS = 0.2
"""Share of plays of which a connection goes on inside TLS, where the target speaks it."""
GENERATED, IN_TURN = 0.2, 0.6
"""Shares of the others that are generated, and of scripts with several connections that act one after the other."""
ALTERED = 0.3
"""Share of these about names that every connection has, and with requests in carriers."""
SHORTEST_OF = 2
"""Scripts that are drawn to mutate the one with the fewest steps: many short ones find more than few long ones."""
UNCHANGED = 0.2
"""Share of plays of an unmutated seed."""
MOST_SUSPICIONS = 5
"""How often one suspicion is looked into if it is never reproduced."""


@dataclass(frozen=True)
class CampaignFinding:
    """One attributed failure, and after how many executions it was found."""

    what: Attributed
    executions: int


def give_back() -> None:
    """Give the memory that is free back to the system, where the C library can: it keeps what a large play took."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class Campaign:
    """One campaign; `run` yields findings as they are found. Raises `StartError` if the server does not start again."""

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
        self._generator = ScriptGenerator(self._context, self._random)
        self._seen = SeenShapes()
        self._novel: list[Script] = []
        self._covering = CoveringScripts() if live.counters is not None else None
        self._first: deque[Script] = deque()
        self._recent: deque[Script] = deque(maxlen=WINDOW)
        self._known: dict[tuple[str, str], int] = {}
        self.deaths = KnownDeaths(self._context)
        self._weights = Weights(live.heavy_share)
        self.drawn = DrawnKinds(self._context)
        self._applied: list[str] = []
        """The mutators that made the script that is played."""
        self._sampling, self._restarting = Allowance(SAMPLING, FIRST_SAMPLES), Allowance(RESTARTING)
        self._attributing = Allowance(ATTRIBUTING, FIRST_ATTRIBUTIONS)
        self._unmeasured = 0
        """Plays since the idle process was measured last."""
        self._apart: set[tuple[str, str]] = set()
        """Keys of the deaths and hangs that were reported, or that are known."""
        self.progress = CampaignProgress()
        self.stopped = ""
        """Why it ended early; "" if it did not."""
        self._is_full = False
        """Whether the server is to be restarted to empty it, once that may take its time."""
        self.lost = False
        """Whether the server serves nobody any more and cannot be restarted."""

    @property
    def cost(self) -> str:
        """The processor time of one execution, here and in a target that was started: also true on a busy machine."""
        done = max(self.progress.executions, 1)
        here = (time.process_time() - self.progress.began_cpu) * 1000 / done
        there = self._live.processor_time * 1000 / done
        beside = f", {there:.2f} ms in the target" if self._live.server else ""
        return f"processor time: {here:.2f} ms an execution here{beside}"

    @property
    def novel(self) -> list[Script]:
        """The scripts that showed something new, given ones included."""
        return list(self._novel)

    def begin_with(self, scripts: Iterable[Script]) -> None:
        """Play these scripts first, unchanged."""
        self._first.extend(scripts)

    def steer_around(self, findings: Iterable[FuzzFinding]) -> None:
        """Take findings as known: they are not reported again, and scripts that would meet their deaths are rare."""
        for one in findings:
            self._known[one.oracle, one.shape] = MOST_SUSPICIONS
            if one.oracle in STEERED_AROUND:
                self._apart.add((one.oracle, one.shape))
                self.deaths.add(one.oracle, one.script)

    def run(self) -> Iterator[CampaignFinding]:
        """Fuzz until a limit is reached; yield each finding. Raises `StartError`."""
        self._live.begin()
        while self._may_continue():
            play = self._next()
            met, restarts = self.deaths.met, self._live.restarts
            if (found := self._found_in(play)) is not None:
                yield found
            self._restart_if_needed(play)
            if self.deaths.met > met:
                self._live.restarts = restarts
            was_large = play.received > LARGE
            del play, found  # a play may hold megabytes of answers, which take several times as much once decoded
            if was_large:
                give_back()
            self._report_progress()
        yield from self._measured_last()

    def _measured_last(self) -> Iterator[CampaignFinding]:
        """Measure the idle process once more, for what was played since it was measured last."""
        if self._live.server is not None and self._unmeasured and self._recent and not self.stopped:
            self._recent.append(())
            if (found := self._found_in(self._live.play((), patience=PATIENCE, sample=True))) is not None:
                yield found
                self._report_progress()

    def _may_continue(self) -> bool:
        limits, done = self._limits, self.progress
        spent = time.monotonic() - done.began
        if self._live.restarts > limits.restarts:
            self.stopped = f"the server was restarted {number_of(self._live.restarts, 'time')}"
        if done.findings >= limits.findings:
            self.stopped = f"the limit of {number_of(done.findings, 'finding')} is reached"
        over = bool(limits.runs and done.executions >= limits.runs) or bool(limits.seconds and spent >= limits.seconds)
        return not (self.stopped or over)

    def _next(self) -> Play:
        """Play the next script and record its shapes."""
        if self._limits.rate:
            due = self.progress.began + self.progress.executions / self._limits.rate
            time.sleep(max(0.0, due - time.monotonic()))
        script, number = self._script(), self.progress.executions + 1
        self._recent.append(script)
        self._weights.add(script, has_large_body=self._has_large_body)
        self.drawn.add(script, self._applied)
        sample = number % SAMPLE == 0 and self._sampling.permits
        self._unmeasured = 0 if sample else self._unmeasured + 1
        with self._sampling.spending() if sample else nullcontext():
            play = self._live.play(with_fresh_canaries(script), patience=PATIENCE, sample=sample)
        covers = self._covering is not None and self._covering.takes_new_edges(play, script)
        if self._seen.is_new(play.lines) or covers:
            self._novel.append(script)
            self._context.others.append(script)
        self.progress.executions = number
        return play

    def _script(self) -> Script:
        """Return the next script, rarely one that would meet a known death."""
        if self._first:
            self._applied = []
            return self._first.popleft()
        may_be_heavy = self._weights.may_be_heavy
        for _ in range(DRAWS):
            script, self._applied = self._drawn(may_be_heavy)
            if not self._context.by_state and self._random.random() < PIPELINED:
                script = pipelined(script)
            if has_several(script) and self._random.random() < IN_TURN:
                script = in_turn(script)
            if self._context.speaks_tls and self._random.random() < INSIDE_TLS:
                script = go_inside_tls(self._random, script, self._context)
            if not may_be_heavy and weight(script, has_large_body=self._has_large_body) >= HEAVY:
                continue
            if not self.deaths.would_meet(script) or self._random.random() < MEETING:
                break
            self.deaths.avoided += 1
        return script

    @property
    def _has_large_body(self) -> bool:
        return enlarge.__name__ in self._applied

    def _drawn(self, may_be_heavy: bool) -> tuple[Script, list[str]]:
        """Return a script, and the mutators that changed it."""
        seed = self._seeds[self.progress.executions % len(self._seeds)]
        if self._random.random() < UNCHANGED:
            return seed, []
        if self._random.random() < GENERATED:
            return self._generated()
        if self._covering and self._random.random() < COVERING:
            script, is_changed = self._covering.drawn(self._random, self._context)
            if is_changed:
                return script, [lie_in_a_field.__name__]
            if self._random.random() < SMALL_CHANGES:
                return touched_up(self._random, script, self._context)
        else:
            pool = self._novel if self._novel and self._random.random() < 0.5 else self._context.others
            script = min(self._random.choices(pool, k=SHORTEST_OF), key=len)
        return mutated_by(self._random, script, self._context, may_be_heavy=may_be_heavy)

    def _generated(self) -> tuple[Script, list[str]]:
        """Return a generated script, now and then with what a server gives everybody or with requests in carriers."""
        script, applied, known = self._generator.script(), list[str](), deliberate(self._context)
        for name in (use_own_names.__name__, carry.__name__):
            if name in known and self._random.random() < ALTERED:
                script = known[name](self._random, script, self._context)
                applied.append(name)
        return script, applied

    def _found_in(self, play: Play) -> CampaignFinding | None:
        """Return what the first suspicion about a play leads to that is not known.

        That others had to wait is none on a slow machine.
        """
        for suspicion in judged(play):
            if suspicion.oracle not in STEERED_AROUND and self._known.get(suspicion.key, 0) >= MOST_SUSPICIONS:
                self._context.known.add(suspicion.key)
                continue
            if suspicion.oracle != SERVED or self._is_known(suspicion) or not self._was_slow():
                return self._look_into(suspicion)
        return None

    def _look_into(self, suspicion: Suspicion) -> CampaignFinding | None:
        """Return the finding of a suspicion; None if it is known or not reproduced."""
        times = self._known.get(suspicion.key, 0)
        if suspicion.oracle in STEERED_AROUND and self._is_known(suspicion):
            self.deaths.met += 1
            return None
        if times >= MOST_SUSPICIONS:
            return None
        restarts = self._live.restarts
        with self._attributing.spending():
            guesses = self.deaths.known(suspicion.oracle) if suspicion.is_wordless else ()
            attribution = Attribution(self._live, suspicion, seconds=self._shrink_s(), guesses=guesses)
            what = attribution.of(list(self._recent))
        self._live.restarts = restarts
        believed = what.seen > 0 or suspicion.oracle == STAYS
        has_words = not what.suspicion.is_wordless
        self._known[suspicion.key] = times + 1
        if believed and has_words:
            self._known[what.suspicion.key] = MOST_SUSPICIONS
        self._restart("after a suspicion")
        if not believed:
            return None
        found = self._kept_apart(what) if suspicion.oracle in STEERED_AROUND else what
        if found is None:
            return None
        if not has_words:
            self._known.pop(suspicion.key)  # the next one may be another
        self.progress.findings += 1
        return CampaignFinding(found, self.progress.executions)

    def _is_known(self, suspicion: Suspicion) -> bool:
        """Return whether a death or a hang is known: by its words, or without any by the traits of the script."""
        if suspicion.oracle == SERVED_ON:
            return any((SERVED_ON, shape) in self._apart for shape in stuck_shapes(suspicion))
        if not suspicion.is_wordless:
            return self._known.get(suspicion.key, 0) >= MOST_SUSPICIONS
        return self.deaths.would_meet(self._recent[-1], suspicion.oracle)

    def _kept_apart(self, what: Attributed) -> Attributed | None:
        """Return an attributed death or hang, apart by its script where it has no words; None if it is known."""
        oracle, is_wordless = what.suspicion.oracle, what.suspicion.is_wordless
        how = {"is_reduced": what.is_reduced, "is_shown": what.seen > 0}
        told = self.deaths.distinguished(what.suspicion, what.script, **how)
        what = replace(what, suspicion=told)
        is_known = is_wordless and oracle != SERVED_ON and self.deaths.explains(oracle, what.script)
        if what.seen:
            self.deaths.add(oracle, what.script, is_reduced=what.is_reduced)
        if is_known or what.suspicion.key in self._apart:
            return None
        self._apart.add(what.suspicion.key)
        return what

    def _shrink_s(self) -> float:
        """Return the seconds to reduce a script: less where the run is short, so that others are found, too."""
        share = MOST_SHRINKING * self._limits.seconds if self._attributing.permits else BRIEF
        return min(self._limits.shrink_s, max(share, BRIEF)) if self._limits.seconds else self._limits.shrink_s

    def _restart_if_needed(self, play: Play) -> None:
        if play.death is not None and self._recent:
            self._restart(f"it {play.death}")
        elif not play.serves:
            if not self._restart("it served nobody") and not self._is_served():
                self.lost = True
                self.stopped = "the server no longer serves anybody and cannot be restarted from here"
        elif self._is_to_be_emptied(play) and self._restarting.permits:
            self._is_full = False
            with self._restarting.spending():
                self._live.restarts -= self._restart("to empty it")

    def _is_to_be_emptied(self, play: Play) -> bool:
        """Return whether a restart is due, since this play or since one before it."""
        self._is_full |= self.progress.executions % REST == 0 or play.received > LARGE
        return self._is_full

    def _was_slow(self) -> bool:
        """Return whether the probe is served now, and beside the last script, when it gets more time."""
        return self._is_served() and self._is_served(self._recent[-1])

    def _is_served(self, script: Script = ()) -> bool:
        return self._live.play(with_fresh_canaries(script), patience=5 * PATIENCE).serves

    def _restart(self, why: str) -> bool:
        done = self._live.restart(why)
        if done:
            self._recent.clear()
        return done

    def _report_progress(self) -> None:
        self.progress.states, self.progress.pool = len(self._seen), len(self._context.others)
        self.progress.edges = None if self._covering is None else len(self._covering.edges)
        self._report(self.progress)
