"""Weighs what the monitor saw into an outcome: what wireproof broke first is never the target's failure."""

from __future__ import annotations

from dataclasses import replace

from wireproof.conformance.model.intended import IntendedByConnection
from wireproof.conformance.model.outcome import Outcome, harness_error
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.model.violation import Violation
from wireproof.conformance.monitor.monitor import MonitorReport, monitored
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import protocol
from wireproof.protocols.json_values import JsonObject

CHEAP = 50
"""Frames sent in a play that passes, up to which the monitor reads it all the same; other plays it always reads."""
KEPT = "that wireproof sends what the case means and reads what came"
MONITOR = "monitor"
"""Where a record keeps what the monitor saw, among its extras."""


def with_first_violation(outcome: Outcome, symbols: Symbols, intended: IntendedByConnection) -> Outcome:
    """Return the outcome that is left once the monitor has read the play; its own failure is a harness_error."""
    verdict = outcome.verdict
    if verdict is Verdict.HARNESS_ERROR:
        return outcome
    if verdict is Verdict.PASS and sum(len(one.frames) for one in intended.values()) > CHEAP:
        return outcome
    try:
        known = protocol(symbols.protocol.name)
        report = monitored(outcome.trace, known, symbols.profile, symbols.variant, intended)
    except Exception as error:
        return harness_error(f"the monitor failed: {type(error).__name__}: {error}", outcome.trace, outcome.step)
    return _with(outcome, report, intended)


def _with(outcome: Outcome, report: MonitorReport, intended: IntendedByConnection) -> Outcome:
    first = report.first
    if first is None and outcome.verdict is Verdict.PASS:
        return outcome
    outcome = replace(outcome, extra={**outcome.extra, MONITOR: evidence(first)})
    if first is not None:
        return _our_fault(outcome, first) if first.side is Guilty.HARNESS else outcome
    undecided = any(one.undecided and intended[one.opened].refused for one in report.connections)
    prepared = outcome.verdict is Verdict.UNTESTABLE and outcome.guilty is Guilty.TARGET
    if undecided and (prepared or outcome.verdict is Verdict.FAIL):
        got = f"{outcome.got}; what came can be read in another way, too"
        return replace(outcome, verdict=Verdict.UNTESTABLE, guilty=Guilty.NOBODY, got=got)
    return outcome


def _our_fault(outcome: Outcome, first: Violation) -> Outcome:
    """Return the harness_error in place of whatever the case alone would have decided."""
    alone = f"the case alone says {outcome.verdict}"
    if outcome.verdict is not Verdict.PASS:
        alone += f": expected {outcome.expected}, got {outcome.got}"
    ours = harness_error(f"{described(first)}; {alone}", outcome.trace, outcome.step)
    return replace(ours, expected=KEPT, extra=outcome.extra)


def described(first: Violation) -> str:
    """Return a violation in one sentence: on which connection, at which byte of whose stream, and what."""
    sender = "the target" if first.stream is Guilty.TARGET else "wireproof"
    return f"on connection {first.connection}, byte {first.offset} of what {sender} sent: {first.detail}"


def evidence(first: Violation | None) -> JsonObject:
    """Return what a record keeps of the first violation."""
    if first is None:
        return {"first": Guilty.NOBODY.value, "connection": None, "offset": None, "error": None, "clause": None}
    return {
        "first": first.side.value,
        "connection": first.connection,
        "offset": first.offset,
        "error": str(first.error),
        "clause": first.clause,
        "event": first.event,
        "told": first.detail,
    }
