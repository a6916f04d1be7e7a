"""An exchange of a capture as a case: what the client sent, and what a right server answers to it."""

from __future__ import annotations

from hashlib import sha256

from wireproof.conformance.interop.captured_verdicts import CapturedVerdict
from wireproof.conformance.model.actions import Action, Open, Read, Write
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.names import near
from wireproof.fuzz.live.context import PAUSE, FuzzContext
from wireproof.fuzz.promotion.entry import PromotionError
from wireproof.fuzz.promotion.promoted_steps import steps_of
from wireproof.protocols import protocol
from wireproof.protocols.json_values import JsonObject

__all__ = ["captured_case"]


def captured_case(verdict: CapturedVerdict, suite: Suite, spoken: Spoken, clause: str | None) -> JsonObject:
    """Return the entry of a case: what was sent up to the violation, or all of it where nobody is to blame.

    Raises `PromotionError` where no clause is known, `StepsError` where no case can express what was sent.
    """
    violation = verdict.violation
    named = clause or (violation.clause if violation is not None else "")
    if not named:
        raise PromotionError("nobody broke a clause there: say what the case is about with --clause")
    if named not in suite.clauses:
        raise PromotionError(f"there is no clause {named!r}{near(named, suite.clauses)}")
    events = verdict.connection.events[: violation.event + 1] if violation is not None else verdict.connection.events
    sent = [one.data for one in events if one.kind is Kind.SENT]
    usual, link = next(iter(protocol(suite.protocol).links)), protocol(suite.protocol).link_of_stream(b"".join(sent))
    steps: list[Action] = [Open("a", link if link and link != usual else "")]
    for data in sent:
        steps += [Write("a", data), Read("a", PAUSE)]
    context = FuzzContext(suite.protocol, spoken.profile, spoken.variant)
    where = f", packet {verdict.packet}" if verdict.packet is not None else ""
    return {
        "id": f"captured/{named.lower()}-{sha256(b''.join(sent)).hexdigest()[:6]}",
        "title": f"Captured from {verdict.connection.name}{where}",
        "clauses": [named],
        "profiles": [spoken.profile],
        "variants": [spoken.variant],
        "steps": steps_of(tuple(steps), context),
    }
