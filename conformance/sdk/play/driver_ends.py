"""What is known of a driver that died or does not answer: how, what it said, where in its own code, and its CPU."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.run.known_causes import Signature
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.suite.case_traits import ends_connections, pair_asked
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.verdict.causes import signature
from wireproof.conformance.verdict.crashes import Hang
from wireproof.conformance.verdict.last_words import in_frame, last_words

LOST = "lost"
"""What a record keeps of a driver that did not answer after its connection had ended."""
ENOUGH = 4
"""Cases that hung when the connection ended, and none that did not, after which others that end it are held back."""
A_PUSH = "the event"
"""What is expected where a push is to be reported."""
MEASURED = 0.5
"""Seconds for which a driver that does not answer is watched."""
REPORT = 400
"""Last lines in which a report of the death is looked for."""


def driver_end(driver: DriverProcess) -> dict[str, Any]:
    """Return how a driver ended and what it said, as records have it."""
    words = last_words("\n".join(driver.last_words(REPORT)))
    how = (driver.death or "is gone").removeprefix("the driver ")
    return {"death": how, "last_words": driver.last_words(), **words.extra}


async def with_driver_end(driver: DriverProcess, outcome: Outcome, *, closing: bool = False) -> Outcome:
    """Return the outcome of a play with what is known of the end of its driver, or of the CPU that it used meanwhile.

    `closing`: every step of the case was right before.
    """
    if outcome.verdict is Verdict.CRASH:
        end = driver_end(driver)
        if end["names_a_cause"]:
            first = str(outcome.got).partition("\n")[0]
            outcome = replace(outcome, got=f"{first}: {end['said']}{in_frame(end)}")
        extra = {**outcome.extra, "process": end, **({"closing": True} if closing else {})}
        return replace(outcome, extra=extra)
    if outcome.verdict is not Verdict.HANG:
        return outcome
    if any(one.kind in (Kind.CLOSED, Kind.ENDED) for one in outcome.trace):
        outcome = replace(outcome, got=f"{outcome.got}; its connection had ended", extra={**outcome.extra, LOST: True})
    if (before := driver.cpu()) is None:
        return outcome
    began = time.monotonic()
    await asyncio.sleep(MEASURED)
    hang = Hang((driver.cpu() or before) - before, time.monotonic() - began)
    return replace(outcome, got=f"{outcome.got}; it {hang.used}", extra={**outcome.extra, "hang": hang.extra})


def signature_of(outcome: Outcome) -> Signature | None:
    """Return what is the same in all ends of one cause; None where the driver neither died nor hung."""
    if outcome.verdict is Verdict.CRASH and "process" in outcome.extra:
        return signature(outcome.extra["process"])
    if outcome.verdict is Verdict.HANG and outcome.place is not None:
        return "hangs", outcome.place.reply_to
    return None


class SpoiledAnswers:
    """Requests whose answer an SDK does not take off the stream: whatever is asked next gets it, or waits behind it."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        """Such a request -> the case that found it."""

    def judged(self, case: Case, outcome: Outcome) -> Outcome:
        """Return the outcome, as a consequence where the case asked for such a request and stopped behind it."""
        place = outcome.place
        if outcome.verdict not in (Verdict.FAIL, Verdict.HANG) or place is None or LOST in outcome.extra:
            return outcome
        pair = pair_asked(case)
        if pair is not None and place.reply_to == pair[1] != pair[0] and place.asked == {*pair}:
            self._first.setdefault(pair[0], case.id)
            return outcome
        of_a_push = str(outcome.expected).startswith(A_PUSH)
        for name, first in self._first.items():
            if name in place.asked and (name != place.reply_to or of_a_push):
                return replace(outcome, extra={**outcome.extra, "rests_on": first})
        return outcome


class LostConnections:
    """What is known of how a driver takes the end of its connection: one that hangs, hangs each time."""

    def __init__(self) -> None:
        self._hung: list[Case] = []
        self._survives = False

    def played(self, case: Case, outcome: Outcome) -> None:
        """Note what became of a case."""
        if LOST in outcome.extra:
            self._hung.append(case)
        elif outcome.verdict is Verdict.PASS and ends_connections(case):
            self._survives = True

    def held_back(self, case: Case) -> Outcome | None:
        """Return the outcome of a case that ends the connection where that is known to hang; None: play it."""
        if self._survives or len(self._hung) < ENOUGH or not ends_connections(case):
            return None
        first = self._hung[0].id
        got = f"it was not played: it ends the connection, and so did {first}, of which the driver never told"
        extra = {"held_back": first}
        return Outcome(
            Verdict.UNTESTABLE, Trace(), Guilty.TARGET, expected="a driver that answers", got=got, extra=extra
        )


def detail_of(outcome: Outcome) -> str:
    """Return the end of a driver, as in "it ..."."""
    process = outcome.extra.get("process")
    if process is None:
        return f"did not answer: {outcome.got}"
    return f"{process['death']}{in_frame(process)}"
