"""The way of a verdict, from what the player saw to the line in records.jsonl. Each step is a pure function.

1. Match, deadline, precondition (`player/verbs.py`, `player/player.py`). The player stops at the first expectation that
   is not met: `fail` for other bytes, `hang` for none in time, `untestable` where the step only prepares the case, and
   where the harness itself came too late to decide. What the target does not declare is not asked (`undeclared`).
2. Blame (`monitor/blame.py`). The monitor reads the trace for itself; what wireproof broke first is a `harness_error`,
   whatever step 1 decided. It follows at the end of each play, since whether a case is played again depends on it.
3. Process end. A case that had a server for itself and outlived it is the crash, with the server's last words.
4. Nobody served. A case that waits for an answer while no other client gets one either: its hang is a crash.
5. Shared loss. If several cases were under way when the target went away, none of them can be blamed.
6. Confirmation. A failure under another segmentation counts only if the same case still passes whole.
7. Far away, narrow. A case that does not pass because round trips took the time that it has, or because the target
   serves fewer connections at a time, is not supported there.
8. Use by others. A case that needs the server for itself and does not pass while others use it is not supported there.
9. Level. A missed SHOULD is `lenient`, a MAY is observed and never fails.
10. Cause or consequence. A failure that another one explains is `untestable`, with guilty `target`.

Steps 3 to 8 need what only the scheduler can find out, by playing again: it collects `Evidence` and calls `decide`, at
once or when the rest is known. A step without evidence changes nothing, so evidence may come in parts. Step 9 makes the
record, and step 10 holds a failure back until no case can explain it any more: each record is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.declared import Parameter
from wireproof.conformance.verdict.confirmation import confirmed
from wireproof.conformance.verdict.consequences import Consequences
from wireproof.conformance.verdict.crashes import ProcessEnd, ended_the_process, left_nobody_served, one_of_many
from wireproof.conformance.verdict.records import Record

__all__ = ["STEPS", "Evidence", "Verdicts", "decide", "one_at_a_time", "undeclared"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a play besides what the player saw."""

    end: ProcessEnd | None = None
    """The server's process ended, and no other case was under way."""
    serves_nobody: bool = False
    """A new client gets no answer."""
    others: int = 0
    """Cases that were under way, too, when the target went away; 0 where it is known that this one did it."""
    rests_on: str = ""
    """The case that reports that it went away."""
    whole: Outcome | None = None
    """What came of the same case played whole again."""
    use_by_others: str = ""
    """How others used the server right after a case that needs it for itself."""
    round_trip: float = 0.0
    """Seconds of a round trip to the target; 0 where it is short."""
    timed: bool = False
    """The case lets time pass."""
    narrow: str = ""
    """That the target serves fewer connections at a time than the case had open, in words."""


Step = Callable[[Outcome, Evidence], Outcome]
HALF_IN_US = 0.5e6
NEAR, CONNECTIONS = "a target that is not so far away", "a target that serves more connections at a time"
"""What a case may expect beside features."""
LONG = 2.5
"""Seconds of round trips that a case may wait for: less than its other bounds, such as a time-out of the target."""
NOT_PASSED = frozenset({Verdict.FAIL, Verdict.HANG, Verdict.UNTESTABLE})
"""What the use of others may cause; no crash."""


def process_end(outcome: Outcome, evidence: Evidence) -> Outcome:
    """Step 3."""
    return outcome if evidence.end is None else ended_the_process(outcome, evidence.end)


def nobody_served(outcome: Outcome, evidence: Evidence) -> Outcome:
    """Step 4."""
    return left_nobody_served(outcome) if evidence.serves_nobody else outcome


def shared_loss(outcome: Outcome, evidence: Evidence) -> Outcome:
    """Step 5."""
    return one_of_many(outcome, evidence.others, evidence.rests_on) if evidence.others else outcome


def confirmation(outcome: Outcome, evidence: Evidence) -> Outcome:
    """Step 6."""
    return outcome if evidence.whole is None else confirmed(outcome, evidence.whole)


def far_away(outcome: Outcome, evidence: Evidence) -> Outcome:
    """Step 7."""
    trip = evidence.round_trip
    if not trip or outcome.verdict not in NOT_PASSED:
        return outcome
    late = outcome.verdict is Verdict.UNTESTABLE and (outcome.guilty is Guilty.HARNESS or evidence.timed)
    spent = trip * _round_trips(outcome.trace, trip)
    if not late and spent < LONG:
        return outcome
    got = f"a round trip takes {trip * 1e3:.0f} ms, {spent:.1f} s in this case; {outcome.got}"
    return _not_supported(outcome, NEAR, got)


def _round_trips(trace: Trace, round_trip: float) -> int:
    """Return how many answers were waited for about as long as a round trip takes, or longer."""
    least = round_trip * HALF_IN_US
    return sum(now.kind is Kind.RECEIVED and now.at_us - before.at_us > least for before, now in pairwise(trace))


def narrow(outcome: Outcome, evidence: Evidence) -> Outcome:
    """Step 7."""
    if not evidence.narrow or outcome.verdict not in NOT_PASSED | {Verdict.CRASH}:
        return outcome
    return _not_supported(outcome, CONNECTIONS, f"{evidence.narrow}; {outcome.got}")


def _not_supported(outcome: Outcome, expected: str, got: str) -> Outcome:
    return replace(outcome, verdict=Verdict.UNSUPPORTED, guilty=Guilty.NOBODY, blamed=None, expected=expected, got=got)


def use_by_others(outcome: Outcome, evidence: Evidence) -> Outcome:
    """Step 8."""
    if not evidence.use_by_others or outcome.verdict not in NOT_PASSED:
        return outcome
    expected = "a server that nobody else uses meanwhile"
    return _not_supported(outcome, expected, f"{evidence.use_by_others}; {outcome.got}")


STEPS: tuple[Step, ...] = (process_end, nobody_served, shared_loss, confirmation, far_away, narrow, use_by_others)
"""What becomes of the outcome of a play, in this order."""


def decide(outcome: Outcome, evidence: Evidence) -> Outcome:
    """Return what is left of the outcome of a play, given the evidence."""
    for step in STEPS:
        outcome = step(outcome, evidence)
    return outcome


def undeclared(lacking: Sequence[str], features: Mapping[str, str]) -> Outcome:
    """Return the outcome of a case that is not asked: the target lacks these features; `features` describes them."""
    described = " ".join(features.get(name, "") for name in lacking)
    got = f"the target does not declare that it has it: {described}"
    return Outcome(Verdict.UNSUPPORTED, Trace(), Guilty.NOBODY, expected=", ".join(lacking), got=got)


def unbounded(unknown: Sequence[str], parameters: Mapping[str, Parameter]) -> Outcome:
    """Return the outcome of a case that is not asked: nothing says how long it must wait."""
    described = " ".join(f"{parameters[name].text} (--limit {name}=N)" for name in unknown)
    got = f"the target does not declare, and the document does not bound: {described}"
    return Outcome(Verdict.UNSUPPORTED, Trace(), Guilty.NOBODY, expected=", ".join(unknown), got=got)


def too_narrow(needed: int, served: int) -> Outcome:
    """Return the outcome of a case that is not asked: it opens more connections than the target serves at a time."""
    got = serves_fewer(needed, served)
    return Outcome(Verdict.UNSUPPORTED, Trace(), Guilty.NOBODY, expected=CONNECTIONS, got=got)


def one_at_a_time() -> Outcome:
    """Return the outcome of the case that stands for the run when the target serves a single client at a time.

    Fewer than a run needs are a limit; one is none that a server may have: who connects and stays shuts out all others.
    """
    got = "one client at a time: a second one is answered once the first has gone, or not at all"
    return Outcome(Verdict.FAIL, Trace(), Guilty.TARGET, expected="clients that are served side by side", got=got)


def serves_fewer(needed: int, served: int) -> str:
    """Return in words that a target serves fewer connections than a case opens."""
    return f"the case opens {needed} connections, and the target serves {served} at a time"


def too_far(round_trips: int, seconds: float) -> Outcome:
    """Return the outcome of a case that is not asked: it takes so many round trips of so many seconds."""
    got = f"the case takes about {round_trips} round trips, of {seconds * 1e3:.0f} ms each"
    return Outcome(Verdict.UNSUPPORTED, Trace(), Guilty.NOBODY, expected=NEAR, got=got)


class Verdicts:
    """Step 10, for the records of one run: passes each to `write` once, when it is final."""

    def __init__(self, suite: Suite, cases: Iterable[Case], write: Callable[[Record], None]) -> None:
        self._consequences = Consequences(suite, cases)
        self._write = write
        self._arrived: dict[str, int] = {}
        self._records: list[Record] = []

    def add(self, record: Record) -> None:
        """Take a record; write what is final now. Raises what `write` raises."""
        self._arrived[record["record_id"]] = len(self._arrived)
        self._keep(self._consequences.add(record))

    def finish(self) -> list[Record]:
        """Write what is left; return all records in the order in which they were added. Raises what `write` raises."""
        self._keep(self._consequences.rest())
        return sorted(self._records, key=lambda one: self._arrived[one["record_id"]])

    def _keep(self, records: Iterable[Record]) -> None:
        for one in records:
            self._records.append(one)
            self._write(one)
