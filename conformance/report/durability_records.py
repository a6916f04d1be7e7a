"""What a run of deaths and damages came to as records: one case for each scenario and each promise that it asks for.

Their run has a name of its own, so that a matrix shows it beside the cases of the same implementation, in a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.run.durability.conversation import Conversation
from wireproof.conformance.run.durability.scenarios import ASKED, SCENARIOS, ScenarioResult
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.verdict.records import Record, Run, record

__all__ = ["durability_records", "durability_run"]

MOST = 5
"""Breaches of one promise that a record lists."""
LONGEST = 2000


def durability_run(
    talk: Conversation, target: str, name: str, version: str, *, only: Sequence[str], kills: int, seed: int
) -> Run:
    """Return the run of these scenarios: partial where some were left out on request."""
    options = {"command": "durability", "kills": str(kills), "seed": str(seed)}
    found = Run(talk.spoken.name, talk.profile, talk.variant, target, f"{name}, durability", version, "server", options)
    found.cases = sum(map(len, ASKED.values()))
    if only:
        found.partial.append(f"--only {' '.join(only)}")
    return found


def durability_records(
    run: Run, suite: Suite, talk: Conversation, results: Iterable[tuple[ScenarioResult, int]], chosen: Iterable[str]
) -> Iterator[Record]:
    """Yield the records of the chosen scenarios; `results`: in their order, with the microseconds that each took."""
    found: dict[str, list[tuple[ScenarioResult, int]]] = {name: [] for name in SCENARIOS}
    for one in results:
        found[one[0].scenario.partition("-")[0]].append(one)
    for name in chosen:
        took = sum(duration for _, duration in found[name])
        members = [one for one, _ in found[name]]
        broken = [breach.promise for one in members for breach in one.breaches]
        for promise in dict.fromkeys((*ASKED[name], *broken)):
            case = _case(run, talk, name, promise)
            outcome = _outcome(case, members, promise)
            yield record(run, suite, case, outcome, duration_us=took // max(len(ASKED[name]), 1))


def _case(run: Run, talk: Conversation, scenario: str, promise: str) -> Case:
    return Case(
        id=f"durability/{scenario}-{promise}",
        title=f"{scenario}: {promise}",
        topic="durability",
        clauses=(talk.promises[promise],),
        level=None,
        profiles=(run.profile,),
        variants=(run.variant,),
        exclusive=True,
        fresh_server=True,
        slow=True,
        steps=(),
        variables={},
    )


def _outcome(case: Case, results: Sequence[ScenarioResult], promise: str) -> Outcome:
    broken = [(one, breach) for one in results for breach in one.breaches if breach.promise == promise]
    if broken:
        details = [f"{one.scenario}: {breach.detail}" for one, breach in broken]
        trace = next((breach.evidence for _, breach in broken if breach.evidence), Trace())
        more = f"; {len(details) - MOST} more" if len(details) > MOST else ""
        got = ("; ".join(details[:MOST]))[:LONGEST] + more
        return Outcome(Verdict.FAIL, trace, Guilty.TARGET, case.clauses[0], expected="the promise kept", got=got)
    if any(one.is_done for one in results):
        return Outcome(Verdict.PASS, Trace())
    why = next((one.note for one in results), "") or "it was left out: a promise was broken before"
    return Outcome(Verdict.UNTESTABLE, Trace(), Guilty.NOBODY, expected="to be tried", got=why)
