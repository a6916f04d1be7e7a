"""Verdicts on a target that goes away: who ended it, and what is left of those that were under way with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.verdict.last_words import in_frame
from wireproof.protocols.json_values import JsonObject

RUN_ENDED = "the run ended: "
SERVES = "a target that serves"
"""What was expected of a case that was not begun because the target ended, or would end again."""
BUSY, IDLE = 0.2, 0.05
"""Seconds of CPU in a second from which a process is busy, where others want the processor, too, and below which it
waits."""
ANSWERS_NOBODY = "answers nobody"
"""How the reason begins why a target is gone that takes connections and answers none."""
SHOWN = 20
"""Cases named where many were under way; the record's `extra` has them all."""


@dataclass(frozen=True, slots=True)
class Hang:
    """A process that runs and answers nobody: what it did meanwhile."""

    cpu: float
    """Seconds of CPU that it used while nobody was answered."""
    seconds: float
    """How long that was."""
    runs: bool = False
    """It wanted the processor each time that it was looked at, whether it got it or not."""

    @property
    def busy(self) -> bool:
        """Whether it did something all the time."""
        return self.runs or self.cpu >= BUSY * self.seconds

    @property
    def used(self) -> str:
        """What it did, as in "it ..."."""
        share = self.cpu / self.seconds if self.seconds else 0.0
        how = "busy, as in an endless loop" if self.busy else "waiting, as in a deadlock" if share < IDLE else "slow"
        return f"used {self.cpu:.1f} s of CPU in {self.seconds:.1f} s ({how})"

    @property
    def detail(self) -> str:
        """What is wrong, as in "it ..."."""
        return f"hangs: it answers nobody, and {self.used}"

    @property
    def extra(self) -> JsonObject:
        """What a record has of it."""
        return {"cpu": round(self.cpu, 3), "seconds": round(self.seconds, 3), "busy": self.busy}


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of a server that wireproof started, seen when a case had it for itself."""

    how: str
    """As in "it ..."."""
    last_words: Sequence[str]
    """The last lines that it wrote, as many as are quoted."""
    clause: str
    """Blamed where the case blames none: the first of the case."""
    extra: JsonObject
    hang: Hang | None = None
    """It ran on and answered nobody, until wireproof ended it."""


@dataclass(frozen=True, slots=True)
class Death:
    """An end of the target: how, and which cases were under way."""

    how: str
    """As in "it ..."."""
    cases: Sequence[str]
    extra: JsonObject = field(default_factory=dict)

    @classmethod
    def of_target(cls, gone: str, cases: Sequence[str]) -> Death:
        """Return the end of a target that wireproof did not start; `gone`: why, as in "it ..."."""
        silent = gone.startswith(ANSWERS_NOBODY)
        how = gone if silent or not cases else "was gone and did not come back"
        return cls(how, cases, {"silent": True} if silent else {})


def not_played(why: str) -> Outcome:
    """Return the outcome of a case that was not begun; `why` as in "it ..."."""
    return Outcome(Verdict.UNTESTABLE, Trace(), Guilty.NOBODY, expected=SERVES, got=f"it {why}")


def is_unplayed(record: JsonObject) -> bool:
    """Say whether a record is of a case that was not begun: the run ended before it, or the target did."""
    return record["expected"] == SERVES or str(record["got"]).startswith(RUN_ENDED)


def ended_early(why: str, first: Outcome | None = None) -> Outcome:
    """Return the outcome of a case that a run ended before; `first` is what came of it, and should be seen again."""
    got = f"{RUN_ENDED}{why}"
    if first is not None:
        got = f"it was not played again, {got}; the first time: {first.verdict}, {first.got}"
    return Outcome(
        Verdict.UNTESTABLE, first.trace if first else Trace(), Guilty.NOBODY, expected="a run to the end", got=got
    )


def held_back(cause: str, detail: str, sends: str) -> Outcome:
    """Return the outcome of a case that was not begun: it sends what ended the target in the case `cause`."""
    got = f"it was not played: it sends {sends}, and so did what ended the target before; in {cause} it {detail}"
    extra = {"held_back": cause, "sends": sends}
    return Outcome(Verdict.UNTESTABLE, Trace(), Guilty.TARGET, expected=SERVES, got=got, extra=extra)


def ended_the_process(outcome: Outcome, end: ProcessEnd) -> Outcome:
    """Return the crash of a case that ended the server it had for itself."""
    words = " | ".join(end.last_words)
    how = end.how if end.hang is None else f"{end.hang.detail}; it {end.how}"
    got = [
        f"it {how}{in_frame(end.extra)}",
        *([outcome.got] if outcome.got else []),
        *([f"its last words: {words}"] if words else []),
    ]
    hang = {} if end.hang is None else {"hang": end.hang.extra}
    return replace(
        outcome,
        verdict=Verdict.CRASH,
        guilty=Guilty.TARGET,
        blamed=outcome.blamed or end.clause,
        expected=outcome.expected or "a target that stays up",
        got="; ".join(got),
        extra={**outcome.extra, "process": end.extra, **hang},
    )


def left_nobody_served(outcome: Outcome) -> Outcome:
    """Return what a case is worth that waits for an answer while no other client gets one: a hang is a crash."""
    verdict = Verdict.CRASH if outcome.verdict is Verdict.HANG else outcome.verdict
    return replace(outcome, verdict=verdict, got=f"{outcome.got}; the target answers nobody any more")


def one_of_many(outcome: Outcome, others: int, rests_on: str) -> Outcome:
    """Return what a crash is worth while so many other cases were under way: nobody knows which of them did it.

    It follows from the case `rests_on`, which reports that the target went away.
    """
    got = f"{outcome.got}; {others} other cases were under way, and which of them caused it is unknown"
    extra = {**outcome.extra, "rests_on": rests_on}
    return replace(outcome, verdict=Verdict.UNTESTABLE, guilty=Guilty.NOBODY, got=got, extra=extra)


def unexplained(deaths: Sequence[Death]) -> Outcome:
    """Return the outcome of the case that stands for the run when the target ended and no case is known to do it.

    It is a hang where the target was there each time and answered nobody.
    """
    expected = "a target that stays up through the run"
    ends = [{"how": one.how, "under_way": list(one.cases), **one.extra} for one in deaths]
    verdict = Verdict.HANG if all("silent" in one.extra for one in deaths) else Verdict.CRASH
    return Outcome(verdict, Trace(), Guilty.TARGET, expected=expected, got=ends_in_words(ends), extra={"ends": ends})


def ends_in_words(ends: Sequence[JsonObject]) -> str:
    """Return what the case that stands for the run got: each way in which the target ended, and how often.

    `ends` are those of its record. What was under way each time is named where there is something.
    """
    ways: dict[str, list[list[str]]] = {}
    for one in ends:
        ways.setdefault(str(one.get("how")), []).append(list(one["under_way"]))
    return "; ".join(f"it {how}{_under(times)}" for how, times in ways.items())


def _under(times: Sequence[list[str]]) -> str:
    """Return who was under way at the ends of one way; none of them is known to do it."""
    if len(times) == 1:
        return f", with {_listed(times[0])} under way, none of which is known to do it"
    each = [case for case in times[0] if all(case in one for one in times)]
    if each:
        return f" {len(times)} times, each time with {_listed(each)} under way, none of which is known to do it alone"
    cases = list(dict.fromkeys(case for one in times for case in one))
    return f" {len(times)} times, with {_listed(cases)} under way, none of which is known to do it"


def _listed(cases: Sequence[str]) -> str:
    shown = ", ".join(cases[:SHOWN])
    return f"{number_of(len(cases), 'case')} ({shown}{', …' if len(cases) > SHOWN else ''})" if cases else "no case"
