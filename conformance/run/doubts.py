"""What an outcome shows that may not be the case's own: the load, a target that was away, or one that serves few."""

from __future__ import annotations

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty, Verdict

OURS = frozenset({Kind.OPENED, Kind.HALF_CLOSED, Kind.CLOSED})
"""What happens at the end of a play by our side alone."""
LOST = frozenset({Kind.ENDED, Kind.RESET})
DISTURBED = frozenset({Verdict.FAIL, Verdict.HANG, Verdict.UNTESTABLE})
"""What a target that fails under another segmentation may do to concurrent cases."""


def is_unanswered(outcome: Outcome) -> bool:
    """The case waited in vain, be it only in a step that prepares."""
    if outcome.verdict is Verdict.UNTESTABLE:
        happened = [one.kind for one in outcome.trace if one.kind is not Kind.CLOSED]
        return happened[-1:] == [Kind.SILENT]
    return outcome.verdict is Verdict.HANG


def is_late(outcome: Outcome) -> bool:
    """The harness came too late to decide, or a step that prepares failed."""
    return outcome.verdict is Verdict.UNTESTABLE and not outcome.unreachable


def is_doubtful(outcome: Outcome) -> bool:
    """The harness came too late to decide or broke, or the target took no connection while others had theirs."""
    return outcome.guilty is Guilty.HARNESS or outcome.verdict is Verdict.CRASH or outcome.unreachable


def lost_a_connection(outcome: Outcome) -> bool:
    """A case did not pass, and a connection was ended or never taken by the target."""
    wrong = outcome.verdict in DISTURBED or outcome.verdict is Verdict.CRASH
    return wrong and any(one.kind in LOST for one in outcome.trace)


def was_cut(outcome: Outcome) -> bool:
    """A case did not pass, and the last that happened was that a connection was ended by the target."""
    happened = [one.kind for one in outcome.trace if one.kind not in OURS]
    return lost_a_connection(outcome) and happened[-1] in LOST
