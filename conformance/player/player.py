"""Plays one case, sans-IO: a generator that yields actions, is sent answers, and returns an `Outcome`.

The same player runs against sockets, in simulation, and over a recorded trace, so a verdict is a pure function of the
case and of what crossed the wire. It stops at the first expectation that is not met and says which clause and byte.

What is hard here, and how it is solved:

- One player, several worlds. A case has to give the same verdict on sockets, on a virtual clock and over a trace from
  another machine. So `play` is a generator: it yields what it wants done (`model/actions.py`) and is sent what came of
  it. It reads no clock; time is what the answers say, in whole microseconds, as the trace keeps them.
- Who is at fault. An unmet expectation raises `Stopped` with a verdict as if the target were guilty; only `_stopped`
  weighs it. A failed precondition (`given`) leaves a case untestable. So does a failure seen later than `latest`, or
  after a silence for which the target may end a connection: a busy machine may have made it. Anything else that is
  raised is wireproof's own error, never the target's. At the end the monitor reads the finished trace by itself and
  may put the blame elsewhere (`monitor/blame.py`).
- Silence. Nothing can be proved to be absent by waiting for it. `silent` asks something that is answered at once, and
  expects that answer next; after the last step every connection is half-closed and read to its end (`nothing_left`).
- Segmentation. The same case is played with its bytes cut, joined or ended early. Steps know nothing of this: all
  writes go through `Conversation.write`, which asks for each piece. `last_request` finds, before the play, the request
  after which our side may end. Answers to no-op requests are taken out before a step sees them.
- Choices. Steps hold options by profile and variant; `Symbols.here` takes them before the first step, so that the
  verbs in `verbs.py` only meet types without choices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wireproof.conformance.model.outcome import AT_END, FailurePlace, Outcome, StepEvent, Stopped, harness_error
from wireproof.conformance.model.targets import DIRECTLY, Way
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.monitor.blame import with_first_violation
from wireproof.conformance.player.byte_allowance import MOST, MOST_HEAVY, MOST_OF_TABLES
from wireproof.conformance.player.connections import ActionGenerator, CaseConnections
from wireproof.conformance.player.modelled import allowed, judge_of, settle_all, settle_pushes, settle_step
from wireproof.conformance.player.silence import longest_silence
from wireproof.conformance.player.surplus import nothing_left
from wireproof.conformance.player.verbs import play_step
from wireproof.conformance.suite.case_traits import (
    has_choices,
    last_request,
    leaves_unread,
    parameters_in,
    reads_tables,
)
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.declared import ending_silent
from wireproof.conformance.suite.segmentation import Segmentation
from wireproof.conformance.suite.steps import Step
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.walks import is_walk
from wireproof.protocols import LocalProtocolError

NEARLY = 0.9
"""The share of a time-out from which a silence may have been too long."""


class Player:
    """One play of one case against whatever answers the actions."""

    def __init__(
        self,
        case: Case,
        symbols: Symbols,
        *,
        segmentation: Segmentation,
        timeout: float = 5.0,
        on_step: Callable[[StepEvent], None] | None = None,
        way: Way = DIRECTLY,
    ) -> None:
        """`way`: what lies between here and what answers."""
        self.case = case
        is_heavy = case.heavy or case.budget or leaves_unread(case)
        most = MOST_HEAVY if is_heavy else MOST_OF_TABLES if reads_tables(case) else MOST
        self.talk = CaseConnections(
            symbols, segmentation=segmentation, timeout=timeout, on_step=on_step, most=most, way=way
        )
        self.step = 0
        """The number of the step that is played."""
        self.in_real_time = False
        """A slow machine may let time pass that no step asks for."""

    def play(self) -> ActionGenerator[Outcome]:
        """Run every step; close what is left open; return the outcome. Raises nothing of its own."""
        try:
            outcome = yield from self._outcome()
        except (SymbolError, LocalProtocolError) as error:
            outcome = harness_error(str(error), self.talk.trace, self.step)
        except Exception as error:
            outcome = self.broken(error)
        yield from self.talk.close_all()
        outcome = with_first_violation(outcome, self.talk.symbols, self.talk.intended)
        return outcome if self.talk.carrier.segmentation.plain else self._under_delivery(outcome)

    def broken(self, error: Exception) -> Outcome:
        """Return the outcome of a play that ended in an exception of the harness."""
        return harness_error(f"{type(error).__name__}: {error}", self.talk.trace, self.step)

    def _under_delivery(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the number of cuts, blaming the clause that asks for the verdict of whole."""
        blamed = outcome.blamed and (self.case.asked_by or outcome.blamed)
        return replace(outcome, blamed=blamed, extra={**outcome.extra, "cuts": self.talk.carrier.changes})

    def _outcome(self) -> ActionGenerator[Outcome]:
        talk = self.talk
        try:
            steps = talk.symbols.here(self.case.steps) if has_choices(self.case.steps) else self.case.steps
            if self.case.modelled:
                talk.judge = judge_of(talk.symbols)
            last = last_request(steps)
            for number, spec in enumerate(steps):
                self.step, talk.asks_no_more = number, number == last
                talk.clause, talk.given = self.case.clauses[0], False
                yield from play_step(talk, spec)
                if talk.judge is not None and (talk.judge.expects_answers or is_walk(self.case.id)):
                    talk.given = isinstance(spec, Step) and spec.given
                    yield from settle_step(talk, talk.judge)
            talk.latest = None
            if talk.judge is not None:
                yield from settle_pushes(talk, talk.judge)
            if talk.judge is not None and talk.judge.expects_answers:
                yield from settle_all(talk, talk.judge)
            else:
                talk.field = AT_END
                yield from nothing_left(talk)
            if talk.judge is not None:
                allowed(talk, talk.judge.unexpected(talk.now_ns))
        except Stopped as stop:
            if stop.verdict is Verdict.FAIL and (yield from talk.gone()):
                stop.verdict = Verdict.CRASH
                stop.got += "; the target takes no connection any more"
            return self._stopped(stop)
        return Outcome(Verdict.PASS, talk.trace, observed=", ".join(talk.observed) or None, extra=dict(talk.extra))

    def _silent_too_long(self) -> float:
        """Return the seconds of a silence after which the target may end a connection; 0 if there was none.

        A case that reads such a time-out is about it.
        """
        symbols = self.talk.symbols
        names = ending_silent(symbols.protocol.name)
        limits = [float(symbols.number(name)) for name in names - parameters_in(self.case, names)]
        silent = longest_silence(self.talk.trace, self.talk.now_ns // 1000) if limits else 0.0
        return silent if any(silent >= NEARLY * one for one in limits) else 0.0

    def _stopped(self, stop: Stopped) -> Outcome:
        talk, verdict, guilty, got = self.talk, stop.verdict, Guilty.TARGET, stop.got
        if verdict is Verdict.FAIL and talk.latest is not None and talk.now > talk.latest:
            verdict, guilty = Verdict.UNTESTABLE, Guilty.HARNESS
            got += f" (asked {talk.now - talk.latest:.3f} s too late to decide)"
        elif self.in_real_time and verdict is Verdict.FAIL and (silent := self._silent_too_long()):
            verdict, guilty = Verdict.UNTESTABLE, Guilty.HARNESS
            got += f" (a connection sent nothing for {silent:.1f} s, too late to decide)"
        if talk.given and talk.carrier.segmentation.plain and verdict in (Verdict.FAIL, Verdict.HANG):
            verdict = Verdict.UNTESTABLE
        elif verdict is Verdict.UNTESTABLE and guilty is not Guilty.HARNESS:
            guilty = Guilty.NOBODY
        place = FailurePlace(talk.reply_to, talk.field, talk.groups())
        found = (verdict, talk.trace, guilty, talk.clause, self.step, stop.byte, stop.expected, got)
        return Outcome(*found, place=place, extra=dict(talk.extra))
