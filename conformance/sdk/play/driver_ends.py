"""What is known of a driver that died or does not answer: how, what it printed, where in its own code, and its CPU."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.run.crashes.known_causes import Signature
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.sdk_case_traits import (
    answered_right,
    asked_in_turn,
    asks_at_once,
    ends_connections,
    has_pushes,
    is_answered_by_name,
    is_answering,
    may_fail,
    pushes,
)
from wireproof.conformance.verdict.causes import signature
from wireproof.conformance.verdict.crashes import Hang
from wireproof.conformance.verdict.last_words import in_frame, last_words
from wireproof.conformance.verdict.sdk_causes import MISREAD
from wireproof.conformance.verdict.sdk_streams import RIGHT_AFTER
from wireproof.protocols import protocol
from wireproof.protocols.json_values import JsonDict

LOST = "lost"
"""What a record keeps of a driver that did not answer after its connection had ended."""
ENOUGH = 4
"""Cases in which something was not done, and none in which it was, after which others that ask for it are held back."""
SPOILS = "spoils"
"""What a record keeps of a request after which the next answer went wrong."""
REQUESTS = "requests"
"""The topic of cases about what an SDK sends: how it reads the answers is not what they are about."""
BY_NAME = "by_name"
"""What a record keeps beside it where the answer to that request is a name alone, a status say."""
PUSHES = "pushes"
"""What a record keeps of a case that pushes a message."""
AT_ONCE = "at_once"
"""What a record keeps of a play that stopped where several requests were under way."""
ODD = "odd"
"""What a record keeps of a play that stopped where the answer was wrong on purpose, or there was none."""
ANSWERING = "answering"
"""What a record keeps of a push that was not reported where it came beside an answer."""
WORKS = "works"
"""What a record keeps where another case had the same answered, or a message reported, as it should be."""
BESIDE = "beside"
"""What a record keeps of a play that went wrong in something that its case is not about."""
HEX = "'hex': "
"""What is in a report of bytes."""
A_PUSH = "the event message"
"""What is expected where a push is to be reported."""
A_MESSAGE = b'"event": "message"'
"""What a trace has of a push that was reported."""
ENDS = ("close", "reset")
"""How a case ends a connection. An SDK may notice the one and not the other."""
FEW = 3
"""Requests of a case whose first one alone can be why the next went wrong."""
MEASURED = 0.5
"""Seconds for which a driver that does not answer is watched."""
REPORT = 400
"""Last lines in which a report of the death is looked for."""


def driver_end(driver: DriverProcess) -> JsonDict:
    """Return how a driver ended and what it printed, as records have it."""
    words = last_words("\n".join(driver.last_words(REPORT)))
    how = (driver.death or "is gone").removeprefix("the driver ")
    return {"death": how, "last_words": driver.last_words(), **words.extra}


async def with_driver_end(
    driver: DriverProcess, outcome: Outcome, *, closing: bool = False, hang: Hang | None = None
) -> Outcome:
    """Return the outcome of a play with what is known of the end of its driver, or of the CPU that it used meanwhile.

    `closing`: every step of the case was right before. `hang`: what it did while it was waited for, if known.
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
    if hang is None:
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


def with_what_it_shows(case: Case, outcome: Outcome) -> Outcome:
    """Return the outcome of a case with what it shows beside its verdict: `SPOILS`, `BESIDE` and other words above."""
    if request := _spoils(case, outcome):
        by_name = {BY_NAME: True} if is_answered_by_name(case) else {}
        got = f"{outcome.got}{RIGHT_AFTER}{request}"
        outcome = replace(outcome, got=got, extra={**outcome.extra, SPOILS: request, **by_name})
    if outcome.verdict in (Verdict.FAIL, Verdict.HANG):
        shown = {
            PUSHES: has_pushes(case.script),
            AT_ONCE: asks_at_once(case, outcome.step),
            ODD: may_fail(case, outcome.step),
            ANSWERING: str(outcome.expected).startswith(A_PUSH) and is_answering(case, outcome.step),
        }
        outcome = replace(outcome, extra={**outcome.extra, **{name: True for name, holds in shown.items() if holds}})
    if case.topic == REQUESTS and outcome.verdict in (Verdict.FAIL, Verdict.HANG) and outcome.byte is None:
        outcome = replace(outcome, extra={**outcome.extra, BESIDE: True})
    return outcome


def with_beside(outcome: Outcome, clause: str, suite: Suite, spoken: str) -> Outcome:
    """Return the outcome, with `BESIDE` where it went wrong in something that the blamed `clause` is not about.

    That is a number that is wrong by more than a type's width, where the clause is about widths; what are no bytes,
    where it is about bytes; an answer that goes wrong only while others are under way, where it is about other things.
    """
    probe, order = suite.probe, protocol(spoken).sdk.order_clause
    wide = clause == probe.get("numbers", {}).get("reported") and MISREAD not in outcome.extra
    bytes_ = clause == probe.get("bytes") and not any(one in str(outcome.expected) for one in (A_PUSH, HEX))
    stream = order and {AT_ONCE, WORKS} <= outcome.extra.keys() and clause not in (order, probe.get("segments"))
    if outcome.verdict not in (Verdict.FAIL, Verdict.HANG) or outcome.byte is not None:
        return outcome
    return replace(outcome, extra={**outcome.extra, BESIDE: True}) if wide or bytes_ or stream else outcome


def _spoils(case: Case, outcome: Outcome) -> str:
    """Return the request after which a case that only asks, one thing after the other, stopped; "" where it did not.

    The request itself was answered well, so what it leaves of its answer is in the way of the next one.
    """
    names, place = asked_in_turn(case), outcome.place
    wrong = outcome.verdict in (Verdict.FAIL, Verdict.HANG) and outcome.byte is None
    wrong = wrong and not str(outcome.expected).startswith(A_PUSH)
    if not 2 <= len(names) <= FEW or place is None or not wrong:
        return ""
    return names[0] if place.reply_to in names[1:] and place.reply_to != names[0] and place.asked <= {*names} else ""


class Hopeless:
    """Something that a driver never does well: the cases that ask for it again are held back."""

    def __init__(self, asks: Callable[[Case], bool], why: str) -> None:
        self._asks, self._why = asks, why
        self._missed: list[Case] = []
        self.does = False
        """Whether it was done once."""

    def missed(self, case: Case) -> None:
        """Note a case in which it was not done."""
        self._missed.append(case)

    def done(self) -> None:
        """Note that it was done once: it is not hopeless."""
        self.does = True

    def held_back(self, case: Case) -> Outcome | None:
        """Return the outcome of a case that asks for it once it is hopeless; None: play it."""
        if self.does or len(self._missed) < ENOUGH or not self._asks(case):
            return None
        first = self._missed[0].id
        got = f"it was not played: {self._why.format(first)}"
        extra = {"held_back": first}
        return Outcome(
            Verdict.UNTESTABLE, Trace(), Guilty.TARGET, expected="a driver that answers", got=got, extra=extra
        )


class HopelessThings:
    """What a driver may never do well, each time at the price of a whole deadline."""

    def __init__(self) -> None:
        why = "it {}s the connection, and so did {{}}, which the driver never reported"
        self._ends = {how: Hopeless(partial(ends_connections, how=how), why.format(how)) for how in ENDS}
        self._pushes = Hopeless(pushes, "it pushes a message, and so did {}, which the driver never reported")
        self._answered: set[str] = set()
        """Requests whose answers were reported as they are."""

    def played(self, case: Case, outcome: Outcome) -> None:
        """Note what became of a case."""
        self._answered |= answered_right(case) if outcome.verdict is Verdict.PASS else frozenset()
        for how, one in self._ends.items():
            if LOST in outcome.extra and ends_connections(case, how):
                one.missed(case)
            elif outcome.verdict is Verdict.PASS and ends_connections(case, how):
                one.done()
        if any(one.kind is Kind.REPORTED and A_MESSAGE in one.data for one in outcome.trace):
            self._pushes.done()
        elif str(outcome.expected).startswith(A_PUSH):
            self._pushes.missed(case)

    def with_what_works(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a play, with `WORKS` where what it stopped at was done right in another case."""
        if outcome.verdict not in (Verdict.FAIL, Verdict.HANG) or outcome.place is None:
            return outcome
        is_push = str(outcome.expected).startswith(A_PUSH)
        works = self._pushes.does if is_push else outcome.place.reply_to in self._answered
        return replace(outcome, extra={**outcome.extra, WORKS: True}) if works else outcome

    def held_back(self, case: Case) -> Outcome | None:
        """Return the outcome of a case that asks for what is hopeless; None: play it."""
        found = (one.held_back(case) for one in (*self._ends.values(), self._pushes))
        return next((one for one in found if one is not None), None)


def detail_of(outcome: Outcome, death: str | None = None) -> str:
    """Return the end of a driver, as in "it ..."; `death`: of it where the outcome has none."""
    process = outcome.extra.get("process")
    if process is None:
        return death.removeprefix("the driver ") if death else f"did not answer: {outcome.got}"
    return f"{process['death']}{in_frame(process)}"
